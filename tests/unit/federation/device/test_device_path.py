"""The device path is integers and standard library: read from its syntax tree and from a fresh interpreter."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
CONTRACTS = ConfigParser()
CONTRACTS.read(ROOT / ".importlinter")
DEVICE_SIDE = CONTRACTS["importlinter:contract:device"]["source_modules"].split()
SOURCE = ROOT / "src"
MODULES = [
    SOURCE / path / "__init__.py" if (SOURCE / path).is_dir() else (SOURCE / path).with_suffix(".py")
    for path in (Path(*name.split(".")) for name in DEVICE_SIDE)
]
FORBIDDEN_MODULES = {"random", "numpy", "math", "cmath", "decimal", "secrets", "time", "pickle", "logging", "os"}
FORBIDDEN_NAMES = {"float", "complex", "round", "divmod", "pow", "eval", "exec", "print", "breakpoint"}


def faults(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=float() | complex()):
                yield f"line {node.lineno}: a float literal"
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                yield f"line {node.lineno}: a true division"
            case ast.BinOp(op=ast.Mod()) | ast.AugAssign(op=ast.Mod()):
                yield f"line {node.lineno}: a remainder"
            case ast.Name(id=name) if name in FORBIDDEN_NAMES:
                yield f"line {node.lineno}: {name}"
            case ast.Import(names=names) if any(alias.name.split(".")[0] in FORBIDDEN_MODULES for alias in names):
                yield f"line {node.lineno}: an import"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in FORBIDDEN_MODULES:
                yield f"line {node.lineno}: an import from {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_device_path_has_no_floats_remainders_or_other_randomness(path: Path) -> None:
    assert list(faults(path.read_text())) == []


@pytest.mark.parametrize(
    "mutant",
    ["x = 0.5", "x = 1 / 2", "x /= 2", "x = y % 3", "x %= 3", "x = float(y)", "import random", "import numpy as np",
     "from numpy import random", "from random import random", "from math import exp", "x = pow(2, 3, 5)",
     "from os import urandom", "x = 1j"],
)  # fmt: skip
def test_the_reader_of_syntax_trees_sees_what_it_should(mutant: str) -> None:
    assert list(faults(mutant))


def parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def test_a_device_pulls_in_the_standard_library_only() -> None:
    program = f"import sys, json, {', '.join(DEVICE_SIDE)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    bare = subprocess.run(
        [sys.executable, "-c", "import sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    ours = {name for name in json.loads(done.stdout) if name.startswith("treetop")}
    packages = {parent for name in ours for parent in parents(name)}
    assert ours - (packages - set(DEVICE_SIDE)) == {
        *DEVICE_SIDE,
        "treetop.entry_points",
        "treetop.errors",
        "treetop.public_text",
        "treetop.trie.user_groups",
        "treetop.wording",
    }
    added = loaded - {name.split(".")[0] for name in json.loads(bare.stdout)}
    assert added - sys.stdlib_module_names <= {"treetop"}
    assert not added & {"numpy", "random", "secrets", "socket", "pyarrow"}


ANSWER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.host import SystemEntropy
from treetop.federation.device.device import Device
from treetop.federation.task import DeviceTask

task = DeviceTask.from_canonical_bytes(sys.stdin.buffer.read())
state = DeviceState(Path(sys.argv[2]))
report = Device(lambda: 5, SystemEntropy(), state.ledger).answer_once(task)
state.close()
print(json.dumps([report.hex(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_a_device_with_its_files_answers_where_nothing_is_installed(tmp_path: Path) -> None:
    known = json.loads((ROOT / "tests" / "vectors" / "tasks.json").read_text())["good"]
    task = next(each["canonical"] for each in known if '"oracle":"olh"' in each["canonical"])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ANSWER, str(SOURCE), str(tmp_path / "me")],
        input=task.encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    report, loaded = json.loads(done.stdout)
    assert len(bytes.fromhex(report)) > 77
    assert set(loaded) - sys.stdlib_module_names <= {"treetop", "__main__", "sitecustomize"}
