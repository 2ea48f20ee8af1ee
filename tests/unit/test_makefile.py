"""Which environment `make` works in: the usual one, unless whoever runs it names a Python that is not its own."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.support.tools import told_by

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def python(path: Path, release: str) -> str:
    """Write a program that answers as a Python of that release would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {release}\n")
    path.chmod(0o755)
    return str(path)


def made(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--silent", "--file", str(ROOT / "Makefile"), "--eval", "venv: ; @echo $(VENV)", "venv"]
    return subprocess.run(
        [*command, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=180,
        env={"PATH": os.environ["PATH"]},  # what was said to a make that runs these tests is not for this one
    )  # fmt: skip


@pytest.mark.parametrize(
    ("there", "named", "expected"),
    [
        (None, None, ".venv"),
        (None, "3.13", ".venv"),
        ("3.11", None, ".venv"),
        ("3.11", "3.11", ".venv"),
        ("3.11", "3.13", ".venv-3.13"),
        ("3.14", "3.14t", ".venv-3.14t"),
    ],
)
def test_another_python_has_another_environment(
    tmp_path: Path, there: str | None, named: str | None, expected: str
) -> None:
    if there:
        python(tmp_path / ".venv/bin/python", there)
    words = [f"PYTHON={python(tmp_path / 'named', named)}"] if named else []
    assert made(tmp_path, *words).stdout == f"{expected}\n"


def test_an_environment_of_another_python_is_refused(tmp_path: Path) -> None:
    python(tmp_path / ".venv/bin/python", "3.11")
    done = made(tmp_path, f"PYTHON={python(tmp_path / 'named', '3.13')}", "VENV=.venv")
    assert done.returncode == 2
    assert ".venv is of Python 3.11, and" in done.stderr
    assert "is 3.13: name another VENV, or remove this one" in done.stderr


def test_every_task_is_run_by_a_workflow() -> None:
    """A target that nobody runs in a fresh clone breaks unnoticed."""
    declared = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert declared is not None
    run = set[str]()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            run |= {word for step in job["steps"] for word in str(step.get("run", "")).split()}
            targets = job.get("strategy", {}).get("matrix", {}).get("target", [])
            run |= {word for target in targets for word in target.split()}
    assert set(declared[1].split()) - run == set()


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_are_of_their_schema(workflow: Path) -> None:
    assert told_by("check-jsonschema", "--builtin-schema", "vendor.github-workflows", workflow)[0] == 0
