"""The wheel and the sdist: reproducible, whole, and enough; what an extra would add is named where it is missing."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tools.supply_chain.project_urls import VARIABLE, urls

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION = PROJECT["version"]
# Python runs a module of this name before anything else.
WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if (name + ".").startswith({missing!r} + "."):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
"""


def ours() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("what belongs to the project is known from git, and this is no checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def built(source: Path, into: Path, repository: str = "") -> dict[str, bytes]:
    run = [sys.executable, "-m", "hatchling", "build", "--directory", str(into)]
    subprocess.run(
        run, cwd=source, check=True, capture_output=True, timeout=120, env={**os.environ, VARIABLE: repository}
    )
    return {path.name: path.read_bytes() for path in into.iterdir()}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("dist")
    built(ROOT, into)
    return into


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel alone; other packages are found where this one keeps them."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, timeout=120)
    python = home / "bin" / "python"
    (wheel,) = packages.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python), "install",
         "--no-deps", "--no-index", str(wheel)],
        check=True, timeout=240,
    )  # fmt: skip
    (folder,) = (home / "lib").glob("python*/site-packages")
    (folder / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return home


def run(
    home: Path, *words: str, path: Path | None = None, program: str = "treetop"
) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"COLUMNS": "200"} | ({"PYTHONPATH": str(path)} if path else {})
    return subprocess.run(
        [str(home / "bin" / program), *words], env=environment, capture_output=True, text=True, timeout=240,
        check=False, cwd=home,
    )  # fmt: skip


def test_two_builds_give_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    for name in ours():  # other folder, other times, other order of creation, other permissions
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
        target.chmod(0o600)
    again = built(copy, tmp_path / "again")
    assert again == {path.name: path.read_bytes() for path in packages.iterdir()}
    assert set(again) == {f"treetop_ldp-{VERSION}-py3-none-any.whl", f"treetop_ldp-{VERSION}.tar.gz"}


def test_the_wheel_has_every_file_of_the_source_and_no_other(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("treetop/")}
    assert inside == {name.removeprefix("src/") for name in ours() if name.startswith("src/treetop/")}


def test_the_sdist_builds_the_same_wheel(packages: Path, tmp_path: Path) -> None:
    (sdist,), (wheel,) = packages.glob("*.tar.gz"), packages.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    again = built(tmp_path / f"treetop_ldp-{VERSION}", tmp_path / "again")
    assert again[wheel.name] == wheel.read_bytes()


def test_the_installed_package_runs_from_the_wheel(installed: Path) -> None:
    assert run(installed, "--version").stdout.split()[-1] == VERSION
    done = run(installed, "find", "syn", "--k", "3", "--epsilon", "4", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["items"]) == 3
    home = [str(installed / "bin" / "python"), "-c", "import treetop; print(treetop.__file__)"]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(home, capture_output=True, text=True, check=True, env=environment, timeout=180).stdout
    assert found.startswith(str(installed))


REPORTS = str(next((ROOT / "tests/vectors/report_files").glob("*olh*")))
NEEDS = [
    ("fastapi", "federation", ["server", "--settings", "server.toml"]),
    ("fastapi", "federation", ["party", "--settings", "party.toml"]),
    ("cryptography", "federation", ["server", "key", "key"]),
    ("matplotlib", "plot", ["plan", "--users", "1000", "--plot", "plan.png"]),
    ("jinja2", "plot", ["reproduce", "--data", ".", "--quick", "--output", "report"]),
    ("wordfreq", "words", ["find", "syn", "--word-list", "wordfreq:en"]),
    ("openpyxl", "excel", ["find", "book.xlsx"]),
    ("sqlalchemy", "sql", ["find", "sqlite:///shop.db", "--query", "SELECT 1"]),
    ("distributed", "dask", ["evaluate", "syn", "--repeats", "1", "--dask", "tcp://127.0.0.1:9"]),
    ("cupy", "gpu", ["count", REPORTS, "--engine", "gpu"]),
]
CALLS = [
    ("pandas", "pandas", "import treetop; treetop.find('syn', k=1, epsilon=4, seed=1).to_pandas()"),
    ("psycopg", "postgres", "import treetop.adapters.store_choice as a; a.open_stores('postgresql://user@host/name')"),
    ("opentelemetry.exporter", "tracing",
     "import treetop.adapters.system.telemetry as a; a.begin_tracing('party', {a.ENDPOINTS[0]: 'http://127.0.0.1:9'})"),
]  # fmt: skip


@pytest.mark.parametrize(("missing", "extra", "words"), NEEDS)
def test_a_missing_extra_is_named(installed: Path, tmp_path: Path, missing: str, extra: str, words: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT.format(missing=missing))
    (installed / "book.xlsx").write_bytes(b"PK\x03\x04")
    done = run(installed, *words, path=tmp_path)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert last.endswith(f', which is not installed: pip install "treetop-ldp[{extra}]"')
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("missing", "extra", "call"), CALLS)
def test_a_missing_extra_is_named_in_python(
    installed: Path, tmp_path: Path, missing: str, extra: str, call: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT.format(missing=missing))
    done = run(installed, "-c", call, path=tmp_path, program="python")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("treetop.extras.MissingExtra: ")
    assert last.endswith(f'needs {missing}, which is not installed: pip install "treetop-ldp[{extra}]"')


def test_every_extra_is_tried() -> None:
    assert {extra for _, extra, _ in (*NEEDS, *CALLS)} == set(PROJECT["optional-dependencies"])


def test_one_version_everywhere() -> None:
    """pyproject.toml says it; the installed package, the site, the bill of materials and the release read it there."""
    named = {
        "CITATION.cff": r"^version: (\S+)$",
        "CHANGELOG.md": r"\A.*?^## (\S+)",
        "docs/how_to/install.md": r"treetop_ldp-([\d.]+)-py3",
        "docs/how_to/install_a_party.md": r"treetop_ldp-([\d.]+)-py3",
        "docs/how_to/run_in_containers.md": r"treetop:([\d.]+)",
        "deploy/compose/compose.yaml": r"image: treetop:(\S+)",
        "deploy/kubernetes/party.yaml": r"image: treetop:(\S+)",
    }
    for page, pattern in named.items():
        found = re.findall(pattern, (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
        assert set(found) == {VERSION}, page
    for page in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / "sdk/typescript" / page).read_text("utf-8"))["version"] == VERSION


def test_every_python_of_the_release_is_stated() -> None:
    """What the release workflow tests is what the package says it runs on."""
    workflow = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    tested = re.search(r"^ +python: \[(.+)\]$", workflow, re.MULTILINE)
    assert tested is not None
    classified = [found[1] for each in PROJECT["classifiers"] if (found := re.fullmatch(r"Prog.* :: (3\.\d+)", each))]
    assert json.loads(f"[{tested[1]}]") == classified
    assert PROJECT["requires-python"] == f">={classified[0]}"


def test_a_release_names_where_it_comes_from(tmp_path: Path) -> None:
    """The release workflow says where it runs; a wheel that is made of its sdist elsewhere is the same wheel."""
    address = "https://forge.example/somebody/treetop"
    released = built(ROOT, tmp_path / "dist", address)
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (name,) = (name for name in released if name.endswith(".whl"))
    assert built(tmp_path / f"treetop_ldp-{VERSION}", tmp_path / "again")[name] == released[name]
    wheel = zipfile.ZipFile(tmp_path / "dist" / name)
    stated = wheel.read(f"treetop_ldp-{VERSION}.dist-info/METADATA").decode().splitlines()
    assert [line for line in stated if line.startswith("Project-URL: ")] == [
        f"Project-URL: {what}, {where}" for what, where in urls(address, VERSION).items()
    ]


def test_an_address_must_be_one() -> None:
    for wrong in ("somebody/treetop", "http://forge.example/somebody/treetop", "https://forge.example", "https://a/b/"):
        with pytest.raises(ValueError, match="TREETOP_REPOSITORY: expected https://HOST/OWNER/NAME, found"):
            urls(wrong, VERSION)
