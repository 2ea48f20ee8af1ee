"""The tutorial, pasted block by block into a shell."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from treetop.services.local.processes import free_ports

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial" / "first_federation.md").read_text()
HOW_TO = (ROOT / "docs" / "how_to" / "run_a_campaign.md").read_text()
SMALLER = {"30001": "3001", "30000": "3000", "20000": "2000", "--collect 15m": "--collect 15m --least-reports 100"}


@pytest.mark.skipif(not (which("curl") and which("openssl")), reason="the tutorial calls curl and openssl")
def test_every_block_of_the_tutorial_runs(tmp_path: Path) -> None:
    script = "\n".join(["set -e", "trap 'kill $(jobs -p)' EXIT", *re.findall(r"```sh\n(.*?)```", TUTORIAL, re.DOTALL)])
    for port, free in zip(("8451", "8452", "8460"), free_ports(3), strict=True):
        script = script.replace(port, str(free))
    for told, small in SMALLER.items():
        assert told in script
        script = script.replace(told, small)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "EXAMPLES": str(ROOT / "examples")}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        umask=0,
    )  # fmt: skip
    assert "k = 5, ε = 2" in done.stdout, done.stderr
    assert "Delivered: the party had it already." in done.stdout
    assert "5,001 users in 2 parties" in done.stdout
    assert list((tmp_path / "station" / "reports").glob("*"))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {f"{stat.S_IMODE(path.stat().st_mode):o}" for path in written} == {"600"}
    assert {tmp_path / "my_ticket", tmp_path / "station" / "tickets.key", tmp_path / "me" / "ledger"} <= set(written)


@pytest.mark.skipif(not (which("curl") and which("openssl")), reason="the tutorial calls curl and openssl")
def test_every_block_about_campaigns_runs_in_the_shell_of_the_tutorial(tmp_path: Path) -> None:
    """Keys, settings and start are the tutorial's; then a campaign is started, looked at and stopped."""
    begun, asked = (re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for page in (TUTORIAL, HOW_TO))
    assert len(asked) == 4
    script = "\n".join(["set -e", "trap 'kill $(jobs -p)' EXIT", *begun[:3], *asked])
    for port, free in zip(("8451", "8452", "8460"), free_ports(3), strict=True):
        script = script.replace(port, str(free))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout.count("drink of the week: running, week 1 of 24") == 2, done.stderr
    assert "drink of the week: stopped" in done.stdout, done.stderr
    assert "About 4,167 reports are expected each week." in done.stdout
    assert len((tmp_path / "station" / "week_1.txt").read_text().split()) == 100
