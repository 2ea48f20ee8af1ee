"""Another package adds a mechanism in one file and an entry point; every command takes it by name."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import added_mechanism


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Install a package, as far as Python can tell: a module and what an installer writes about it."""
    source = Path(str(added_mechanism.__file__)).read_text("utf-8")
    (tmp_path / "halves.py").write_text(source, "utf-8")
    about = tmp_path / "halves-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text("[treetop.mechanisms]\nhalves = halves:Halves\n", "utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def said(environment: dict[str, str], *words: str) -> Any:
    command = [sys.executable, "-m", "treetop", *words, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_command_takes_it(environment: dict[str, str], tmp_path: Path) -> None:
    few = ["--set", "bits=16", "--set", "halves_kept=6"]
    found = said(environment, "find", "syn", "--mechanism", "halves", "--seed", "1", "--epsilon", "4", *few)
    assert found["mechanism"] == "halves"
    assert found["items"]
    names = "halves,fedpem"
    rows = said(environment, "evaluate", "syn", "--mechanisms", names, "--repeats", "2", "--workers", "2", *few)
    assert [row["mechanism"] for row in rows] == ["halves", "fedpem"]
    directory = ["--directory", str(tmp_path / "federation"), "--users", "6000", "--parties", "2"]
    answer = said(environment, "up", "--mechanism", "halves", *directory, *few)
    assert (answer["mechanism"], answer["missing"], answer["mode"]) == ("halves", [], "one-shot")
    assert answer["items"]
