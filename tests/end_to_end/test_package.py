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

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION = PROJECT["version"]
# Python runs a module of this name before anything else.
WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
"""


def ours() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("what belongs to the project is known from git, and this is no checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def built(source: Path, into: Path) -> dict[str, bytes]:
    run = [sys.executable, "-m", "hatchling", "build", "--directory", str(into)]
    subprocess.run(run, cwd=source, check=True, capture_output=True, timeout=120)
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


def run(home: Path, *words: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"COLUMNS": "200"} | ({"PYTHONPATH": str(path)} if path else {})
    return subprocess.run(
        [str(home / "bin" / "treetop"), *words], env=environment, capture_output=True, text=True, timeout=240,
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
    found = subprocess.run(home, capture_output=True, text=True, check=True, env=environment, timeout=60).stdout
    assert found.startswith(str(installed))


@pytest.mark.parametrize(
    ("missing", "extra", "words"),
    [
        ("fastapi", "federation", ["server", "--settings", "server.toml"]),
        ("fastapi", "federation", ["party", "--settings", "party.toml"]),
        ("cryptography", "federation", ["server", "key", "key"]),
        ("matplotlib", "plot", ["plan", "--users", "1000", "--plot", "plan.png"]),
        ("jinja2", "plot", ["reproduce", "--data", ".", "--quick", "--output", "report"]),
        ("wordfreq", "words", ["find", "syn", "--word-list", "wordfreq:en"]),
    ],
)
def test_a_missing_extra_is_named(installed: Path, tmp_path: Path, missing: str, extra: str, words: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT.format(missing=[missing]))
    done = run(installed, *words, path=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f'pip install "treetop-ldp[{extra}]"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_one_version_everywhere() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert json.loads((ROOT / "sdk/typescript/package.json").read_text("utf-8"))["version"] == VERSION
    for page in ("CHANGELOG.md", "docs/promises.md"):
        newest = re.search(r"^## (\S+)", (ROOT / page).read_text("utf-8"), re.MULTILINE)
        assert newest is not None
        assert newest[1] == VERSION
