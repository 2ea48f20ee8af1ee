"""Every benchmark can be imported where `make bench` runs it: the environment of requirements/bench.txt."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.supply_chain.locks import locked

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
OURS = ("benchmarks", "tests", "treetop")


def imported(path: Path) -> Iterator[str]:
    """Yield what a file imports before any of its functions runs."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif not isinstance(node, ast.FunctionDef) and not _is_for_types_alone(node):
            waiting += ast.iter_child_nodes(node)


def _is_for_types_alone(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def packages_of(name: str) -> set[str]:
    """Return the packages of others that a benchmark imports, itself or through `tests.support`."""
    found = set[str]()
    waiting = {ROOT / "benchmarks" / f"{name}.py"}
    read = set[Path]()
    while waiting:
        path = waiting.pop()
        read.add(path)
        for module in imported(path):
            package = module.partition(".")[0]
            if package not in OURS:
                found.add(package)
            elif package != "treetop" and (file := ROOT / f"{module.replace('.', '/')}.py").exists():
                waiting |= {file} - read
    return found - sys.stdlib_module_names


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_has_what_a_benchmark_imports(name: str) -> None:
    assert {package.replace("_", "-") for package in packages_of(name)} <= {each.name for each in locked("bench")}


def test_imports_are_found_through_shared_helpers() -> None:
    assert {"psycopg", "starlette", "cryptography"} <= {package for name in NAMES for package in packages_of(name)}


@pytest.mark.skipif(not PYTHON.exists(), reason="`make bench` has not been run here")
def test_all_benchmarks_are_imported_in_their_environment() -> None:
    program = "import " + ", ".join(f"benchmarks.{name}" for name in NAMES)
    done = subprocess.run([str(PYTHON), "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
