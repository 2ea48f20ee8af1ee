"""Rules of our own, read from the syntax trees of all that is shipped, and a second opinion by bandit."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
BRIDGES = ROOT / "bridges"
FILES = sorted([*SOURCE.rglob("*.py"), *BRIDGES.rglob("*.py")])
FORBIDDEN_MODULES = {
    "pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "xml", "telnetlib", "ftplib", "imp",
    "requests", "httpx", "aiohttp", "urllib3",
}  # fmt: skip
FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "tempfile.mktemp", "os.tempnam", "hashlib.md5",
    "hashlib.sha1", "ssl._create_unverified_context",
}  # fmt: skip
CLIENTS = {"urlopen", "HTTPConnection", "HTTPSConnection", "create_connection"}
DEVICE_ROOMS = ("federation/device", "services/device", "services/fleet", "adapters/system", "cli/federation")
"""Beyond the device path itself, which `test_device_path.py` reads more strictly."""


def faults(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        for module in imported(node):
            if module.split(".")[0] in FORBIDDEN_MODULES:
                yield f"line {node.lineno}: imports {module}"  # type: ignore[attr-defined]
        match node:
            case ast.Call(func=func, keywords=keywords):
                name, given = ast.unparse(func), {each.arg: each.value for each in keywords}
                if name in FORBIDDEN_CALLS or name.removeprefix("builtins.") in FORBIDDEN_CALLS:
                    yield f"line {node.lineno}: calls {name}"
                if name.rpartition(".")[2] in CLIENTS and "timeout" not in given:
                    yield f"line {node.lineno}: {name} without a timeout"
                if "shell" in given and ast.unparse(given["shell"]) != "False":
                    yield f"line {node.lineno}: a shell"
                if "verify" in given and ast.unparse(given["verify"]) == "False":
                    yield f"line {node.lineno}: an unverified certificate"
            case ast.Assert(test=ast.Call(func=ast.Name(id="isinstance"))):
                pass  # for the type checker; nothing that comes from outside is checked so
            case ast.Assert():
                yield f"line {node.lineno}: an assertion, which -O leaves out"
            case ast.Assign(targets=[ast.Attribute(attr="check_hostname" | "verify_mode")]):
                yield f"line {node.lineno}: weakens the check of certificates"


def imported(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module)):
            return [module]
    return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_dangerous_is_called(path: Path) -> None:
    assert list(faults(path.read_text())) == []


@pytest.mark.parametrize("mutant", [
    "import pickle", "from yaml import load", "eval('1')", "exec(x)", "compile(x, '', 'exec')", "__import__(x)",
    "subprocess.run(x, shell=True)", "tempfile.mktemp()", "os.system(x)", "urlopen(x)", "HTTPConnection('h', 1)",
    "socket.create_connection(x)", "import requests", "from xml.etree import ElementTree", "hashlib.md5(x)",
    "assert x > 0", "def f():\n    import dill", "context.check_hostname = False", "context.verify_mode = 0",
    "get(x, verify=False)",
])  # fmt: skip
def test_the_rules_see_what_they_should(mutant: str) -> None:
    assert list(faults(mutant))


WRITING = {
    "write_text", "write_bytes", "rename", "chmod", "fchmod", "lchmod", "touch", "to_parquet", "copyfile", "copy2",
    "NamedTemporaryFile", "mkstemp",
}  # fmt: skip
"""Methods and functions that make, replace or open up a file by its name."""
WRITERS = {
    "src/treetop/secret_files.py": "opens every file that is made",
    "src/treetop/whole_files.py": "replaces every file that is replaced",
    "src/treetop/datasets/corpora.py": "renames a download, whose partial file has one name: it is resumed",
    "src/treetop/adapters/sqlite/ownership.py": "reads the beginning of what may be a pipe, and does not wait for it",
    "src/treetop/adapters/relational/commit_numbers.py": "opens the file that it has just replaced",
    "bridges/flower/treetop_flower/launch.py": "the bridge's own writer",
    "bridges/flower/treetop_flower/pinned.py": "appends to a log, and follows no link",
}


def written_by_name(source: str) -> Iterator[str]:
    """Yield calls that write a file and do not go through the one writer."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        given = {each.arg: each.value for each in node.keywords}
        place = 0 if "." in name else 1
        mode = given.get("mode") or (node.args[place] if last == "open" and len(node.args) > place else None)
        letters = set(mode.value) if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else set()
        if (last in WRITING and last != name) or name in ("os.replace", "os.open", "os.truncate"):
            yield f"line {node.lineno}: {name}"
        elif last == "open" and letters & set("wax+") and "opener" not in given:
            yield f"line {node.lineno}: {name} for writing"


@pytest.mark.parametrize(
    "path", [*FILES, *sorted((ROOT / "tools").rglob("*.py"))], ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_file_goes_through_the_one_writer(path: Path) -> None:
    found = list(written_by_name(path.read_text()))
    assert bool(found) == (str(path.relative_to(ROOT)) in WRITERS), found


@pytest.mark.parametrize("mutant", [
    "path.write_text(x)", "p.write_bytes(x)", "open(p, 'w')", "p.open('ab')", "open(p, mode='r+b')", "os.replace(a, b)",
    "os.open(p, 1)", "p.chmod(0)", "os.chmod(p, 0)", "tempfile.NamedTemporaryFile()", "p.touch()",
])  # fmt: skip
def test_the_reader_of_writers_sees_what_it_should(mutant: str) -> None:
    assert list(written_by_name(mutant))
    assert not list(
        written_by_name("open(p); p.open('rb'); text.replace('a', 'b'); replace(value, k=1); write_whole(p, x)")
    )


def test_devices_take_no_other_randomness_than_the_systems() -> None:
    for room in DEVICE_ROOMS:
        for path in (SOURCE / "treetop" / room).glob("*.py"):
            tree = ast.parse(path.read_text())
            assert not {name for node in ast.walk(tree) for name in imported(node)} & {"random", "numpy.random"}, path
            drawn = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not drawn & {"default_rng", "RandomState", "SeedSequence"}, path
            assert "random" not in drawn, path


SECRET_NAME = re.compile(r"(^|_)(secret|key|ticket|token|password|item|code)s?$")
SAFE_KIND = re.compile(r"^(Secret|AccessKeys|Ticket|FilePath|Path|int)( \| None)?$")
"""Kinds whose text shows nothing; a path and a number are no secret."""
PUBLIC = {
    "Candidates.keys", "Counting.keys", "Encoding.hash_key", "PartySettings.server_signing_keys",
    "ServerContext.public_key", "StoredObject.key", "BoundParty.public_key",
}  # fmt: skip
"""What is asked about, the key of a public encoding, public halves of keys, and names of objects in a bucket."""


def shown_secrets(source: str) -> Iterator[str]:
    """Yield fields of data classes whose names sound like secrets and whose `repr` would show them."""
    for kind in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
        decorators = [ast.unparse(each) for each in kind.decorator_list]
        is_data = any("dataclass" in each for each in decorators) or "NamedTuple" in map(ast.unparse, kind.bases)
        if not is_data or any("repr=False" in each for each in decorators):
            continue
        if any(isinstance(part, ast.FunctionDef) and part.name == "__repr__" for part in kind.body):
            continue
        for part in kind.body:
            if isinstance(part, ast.AnnAssign) and SECRET_NAME.search(ast.unparse(part.target)):
                hidden = part.value is not None and "repr=False" in ast.unparse(part.value)
                if not hidden and not SAFE_KIND.match(ast.unparse(part.annotation)):
                    yield f"{kind.name}.{ast.unparse(part.target)}"


def test_no_repr_shows_a_secret() -> None:
    rooms = ("federation", "services", "adapters", "cli")
    paths = [*BRIDGES.rglob("*.py"), *(path for room in rooms for path in (SOURCE / "treetop" / room).rglob("*.py"))]
    assert {name for path in paths for name in shown_secrets(path.read_text())} == PUBLIC


def test_the_reader_of_fields_sees_what_it_should() -> None:
    fields = "@dataclass\nclass A:\n    ticket: bytes\n    tickets: int = 0\n    key: str = field(repr=False)\n"
    assert list(shown_secrets(fields)) == ["A.ticket"]
    assert list(shown_secrets("class B(NamedTuple):\n    access_key: str\n")) == ["B.access_key"]
    assert list(shown_secrets("@dataclass(repr=False)\nclass C:\n    item: str\n")) == []


def test_what_bandit_finds_has_a_reason() -> None:
    """Ruff's S rules are bandit's, rewritten; where the original finds the same line, the reason stands there already.

    The import of subprocess (B404) is no finding: every call of it is one (B603).
    """
    done = subprocess.run(
        [sys.executable, "-m", "bandit", "-q", "--recursive", "--skip", "B404", "--format", "json", "src", "bridges"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["errors"] == []
    assert report["metrics"]["_totals"]["loc"] > 10_000
    for found in report["results"]:
        if found["test_id"] == "B105" and Path(found["filename"]).parent.name == "wording":
            continue  # sentences about secrets, under codes that name them
        lines = (ROOT / found["filename"]).read_text().splitlines()
        there = " ".join(lines[number - 1] for number in found["line_range"])
        rule = f"S{found['test_id'][1:]}"
        assert re.search(rf"# noqa: {rule}  \w", there), (found["filename"], found["line_number"], found["issue_text"])


def test_every_kept_file_has_a_plain_name() -> None:
    """A test that writes beside itself, under a name it was given to try, must not end up in the tree."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a checkout: nothing says which files are kept")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = listed.decode("utf-8").rstrip("\0").split("\0")
    assert not [name for name in names if not re.fullmatch(r"[A-Za-z0-9_.][A-Za-z0-9_./@-]*", name)]
    assert not [name for name in names if name.endswith(".lock")]
