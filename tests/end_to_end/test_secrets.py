"""Nothing that a federation on this machine writes is open to other users, and no secret stands in a process list."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.fake_party import KEY, FakeParty, serving
from tests.support.fleets import fleet_task

TIMEOUT = 240
SHARES = "party,item,users\nnorth,milk,600\nnorth,tea,300\nsouth,milk,300\nsouth,beer,100\n"


def too_open(folder: Path) -> dict[str, str]:
    """Files and folders that somebody besides their owner may use, with their modes."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != (0o700 if path.is_dir() else 0o600):
            found[str(path.relative_to(folder))] = f"{mode:o}"
    return found


def told_to_others(pid: int) -> bytes:
    """What everybody on the machine may read of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("umask", [0o000, pytest.param(0o022, marks=pytest.mark.slow)])
def test_all_that_up_writes_is_for_its_owner_alone(tmp_path: Path, umask: int) -> None:
    data, home, lines = tmp_path / "drinks.csv", tmp_path / "new" / "up", set[bytes]()
    data.write_text(SHARES)
    process = subprocess.Popen(
        [sys.executable, "-m", "treetop", "up", "--directory", str(home), "--data", str(data), "--epsilon", "8",
         "--k", "2", "--seed", "1", "--set", "bits=24", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, umask=umask,
    )  # fmt: skip
    end = time.monotonic() + TIMEOUT
    while process.poll() is None and time.monotonic() < end:
        lines |= {told_to_others(int(each.name)) for each in Path("/proc").glob("[0-9]*")}
        time.sleep(0.05)
    _, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    assert too_open(home) == {}
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700  # made on the way
    ours = [line for line in lines if str(home).encode() in line]
    assert len(ours) >= 1 + 1 + 2  # up, a server, two parties; a fleet may be gone before we look
    secrets = [path.read_bytes().split()[0] for path in home.rglob("*.key")]
    secrets += [ticket for path in home.rglob("tickets.txt") for ticket in path.read_bytes().split()]
    assert len(secrets) == 2 + 3 * 2 + 1300
    assert not any(secret in line for line in ours for secret in secrets)


def test_a_ticket_stands_in_no_process_list(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    ticket = party.write_tickets(1)[0].hex()
    with serving(party) as url:
        process = subprocess.Popen(
            [sys.executable, "-m", "treetop", "device", "--party", url, "--party-name", "north", "--server-key",
             KEY.public, "--task", party.task.digest.hex(), "--item-env", "ITEM", "--state", str(tmp_path / "me"),
             "--ticket-file", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, umask=0,
            env={**os.environ, "ITEM": "77"},
        )  # fmt: skip
        time.sleep(0.5)
        line = told_to_others(process.pid)
        shown, errors = process.communicate(ticket + "\n", timeout=180)
    assert "Delivered: the party has it." in shown, errors
    assert b"--ticket-file" in line
    assert ticket.encode() not in line
    assert too_open(tmp_path / "me") == {}
