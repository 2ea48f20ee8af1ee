"""examples/plugin in an environment of its own: every command takes its mechanism and its oracle by name."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"
PACKAGE = PLUGIN / "treetop_example_plugin"
SMALL = ("--k", "3", "--epsilon", "4", "--seed", "1", "--set", "bits=24", "--set", "levels=3")
FAVOURITES = ["milk", "tea", "beer"]
TIMEOUT = 300

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with Treetop, the plug-in, and what both depend on."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "--python", str(home), "install", *offline, "-e", str(ROOT), str(PLUGIN)]
    done = subprocess.run(command, env=alone(), capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "bin" / "python"


def alone(*more: Path) -> dict[str, str]:
    """Return an environment in which nothing but what is installed, and these folders, can be imported."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, more))}


@pytest.fixture
def run(python: Path, tmp_path: Path) -> Run:
    """Run a command of Treetop in that environment, with further packages where a folder has some."""

    def done(*words: str, beside: tuple[Path, ...] = ()) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [python, "-m", "treetop", *words],
            env=alone(*beside), cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip

    return done


@pytest.fixture
def said(run: Run) -> Callable[..., Any]:
    """Return the JSON of a command that must succeed."""

    def answer(*words: str) -> Any:
        done = run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answer


@pytest.fixture
def drinks(tmp_path: Path) -> str:
    """Two parties whose favourites nobody can miss."""
    shares = {"milk": 0.4, "tea": 0.3, "beer": 0.2, "rum": 0.1}
    rows = [
        f"{party},{item},{round(share * users)}"
        for party, users in {"north": 2400, "south": 1600}.items()
        for item, share in shares.items()
    ]
    path = tmp_path / "drinks.csv"
    path.write_text("\n".join(["party,item,users", *rows]) + "\n")
    return str(path)


def test_find_and_evaluate_take_both_by_name(said: Callable[..., Any], drinks: str) -> None:
    both = ("--mechanism", "lockstep", "--oracle", "subset", "--set", "keep_factor=3")
    found = said("find", drinks, *both, *SMALL)
    assert (found["mechanism"], found["oracle"]) == ("lockstep", "subset")
    assert [row["item"] for row in found["items"]] == FAVOURITES
    grid = ("--mechanisms", "lockstep,fedpem", "--oracles", "subset,oue", "--epsilons", "4", "--ks", "3")
    few = ("--set", "bits=24", "--set", "levels=3", "--seed", "1", "--repeats", "2")
    rows = said("evaluate", drinks, *grid, *few, "--workers", "2")
    assert [(row["mechanism"], row["oracle"]) for row in rows] == [
        ("lockstep", "subset"), ("lockstep", "oue"), ("fedpem", "subset"), ("fedpem", "oue"),
    ]  # fmt: skip
    assert all(row["f1"] > 0.6 for row in rows)


@pytest.mark.parametrize("options", [(), ("--mode", "rounds", "--oracle", "subset")], ids=["one-shot", "rounds"])
def test_a_federation_runs_them(
    said: Callable[..., Any], drinks: str, tmp_path: Path, options: tuple[str, ...]
) -> None:
    folder = ("--directory", str(tmp_path / "federation"))
    answer = said("up", "--mechanism", "lockstep", "--data", drinks, *options, *folder, *SMALL)
    assert (answer["mechanism"], answer["oracle"]) == ("lockstep", "subset" if options else "olh")
    assert [row["item"] for row in answer["items"]] == FAVOURITES
    assert answer["missing"] == []
    assert [party["implausible"] for party in answer["parties"]] == [0, 0]


def test_python_takes_names_and_objects(python: Path, drinks: str) -> None:
    program = f"""
import numpy as np, treetop
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop_example_plugin.lockstep import Lockstep
from treetop_example_plugin.subset import SubsetSelection, subset_size
asked = dict(k=3, epsilon=4, seed=1, bits=24, levels=3)
by_name = treetop.find({drinks!r}, mechanism="lockstep", oracle="subset", **asked)
by_object = treetop.find({drinks!r}, mechanism=Lockstep(), oracle=SubsetSelection(), **asked)
assert by_name.to_json() == by_object.to_json()
assert [row.item for row in by_object.items] == {FAVOURITES}
bits = treetop.perturb("subset", 2, 40, "1", 20_000)
w = subset_size(Budget("1").odds_below, 40)
assert w == 11 and set(bits.sum(axis=1).tolist()) == {{w}}
p, q = SubsetSelection().over(Epsilon(1), 40).probabilities()
means = bits.mean(axis=0)
assert abs(means[2] - p) < 0.03 and np.all(abs(np.delete(means, 2) - q) < 0.03), (means, p, q)
"""
    subprocess.run([python, "-c", program], env=alone(), timeout=TIMEOUT, check=True)


@pytest.mark.parametrize(
    "chosen", [("--mechanism", "lockstep", "--oracle", "subset"), pytest.param((), marks=pytest.mark.slow)], ids=str
)
def test_an_audit_covers_both(said: Callable[..., Any], chosen: tuple[str, ...]) -> None:
    report = said("audit", "--quick", *chosen)
    names = {check["name"] for check in report["checks"]}
    assert report["verdict"] == "pass"
    assert {"exact_subset", "tight_subset", "empirical_subset"} <= names
    assert {"end_to_end_lockstep", "end_to_end_lockstep_malicious"} <= names
    assert ("exact_krr" in names) == (not chosen)


def package(folder: Path, group: str, **points: str) -> Path:
    """Declare what a package offers, as an installer would write it down, and give it a module `offered`."""
    about = folder / "offered-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
    (folder / "offered.py").write_text(OFFERED)
    return folder


OFFERED = """
from treetop import Mechanism
from treetop_example_plugin.subset import SubsetSelection

class SameTag(SubsetSelection):
    name = "other"

class OurTag(SubsetSelection):
    name, tag = "other", 3

class Unfinished(Mechanism):
    name = "unfinished"
"""
BAD = {
    "no mechanism": ("mechanisms", {"no": "offered:SubsetSelection"}, "find F --mechanism no", "must name a Mechanism"),
    "no oracle": ("oracles", {"no": "offered:Mechanism"}, "find F --k 3 --oracle no", "must name an Oracle"),
    "unfinished": ("mechanisms", {"unfinished": "offered:Unfinished"}, "find F --mechanism unfinished", "abstract"),
    "not there": ("oracles", {"no": "nowhere:No"}, "find F --k 3 --oracle no", "No module named 'nowhere'"),
    "other name": ("oracles", {"no": "offered:SameTag"}, "find F --k 3 --oracle no", "must be named like its oracle"),
    "our name": ("mechanisms", {"canopy": "offered:Unfinished"}, "find F", "found treetop and offered:Unfinished"),
    "their name": ("oracles", {"subset": "offered:SameTag"}, "find F", "must have one owner, found"),
    "our tag": ("oracles", {"other": "offered:OurTag"}, "find F --k 3 --oracle other", "tag from 64 to 255"),
    "their tag": ("oracles", {"other": "offered:SameTag"}, "up --mode rounds --oracle subset --data F", "the tag 64"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_plugin_is_refused_in_one_line(run: Run, drinks: str, tmp_path: Path, kind: str) -> None:
    group, points, words, reason = BAD[kind]
    folder = package(tmp_path / "site", f"treetop.{group}", **points)
    refused = run(*words.replace(" F", f" {drinks}").split(), beside=(folder,))
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert reason in refused.stderr
    assert refused.stderr.startswith("error: ")
    assert refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_contract_suites_run_over_a_plugin(python: Path) -> None:
    """As the pages say: in a checkout, with the plug-in installed, the suites take in whatever is registered."""
    suites = ["tests/contracts", "tests/statistical/test_oracle_laws.py", "tests/statistical/test_mechanism_laws.py"]
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *suites, "-k", "lockstep or subset"]
    done = subprocess.run(command, env=alone(), cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    found = re.search(r"(\d+) passed", done.stdout)
    assert found is not None
    assert int(found[1]) > 200


def lines_of(text: str) -> str:
    """Return lines of code however far they are indented; blank ones say nothing."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("page", ["add_a_mechanism.md", "add_an_oracle.md"])
def test_the_pages_show_what_the_files_say(page: str) -> None:
    text = (ROOT / "docs" / "how_to" / page).read_text()
    shown = re.findall(r"```python title=([\w.]+)\n(.*?)```", text, flags=re.DOTALL)
    assert len(shown) > 3
    for name, excerpt in shown:
        assert lines_of(excerpt) in lines_of((PACKAGE / name).read_text()), f"{page}: {excerpt}"
    (declared,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    assert declared in (PLUGIN / "pyproject.toml").read_text()
