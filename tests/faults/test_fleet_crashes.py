"""R3 for the fleet: killed with -9 at any moment and started again, no device has a second distinct report."""

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.fake_party import KEY, FakeParty, serving
from tests.support.fleets import fleet_task, publish_level

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.federation.device.ledger import Ledger


def command(party: FakeParty, url: str, folder: Path, users: int) -> list[str]:
    data, tickets = folder / "data.csv", folder / "tickets"
    rows = "".join(f"north,{item},{users // 40 + 1}\n" for item in range(40))
    data.write_text("party,item,users\n" + rows)
    tickets.write_text("\n".join(ticket.hex() for ticket in party.write_tickets(users)))
    return [
        sys.executable, "-m", "treetop", "device", "fleet", "--party", url, "--task", party.task.digest.hex(), "--data",
        str(data), "--party-name", "north", "--tickets", str(tickets), "--server-key", KEY.public, "--state",
        str(folder / "state"), "--users", str(users), "--batch", "20", "--json",
    ]  # fmt: skip


def kill_when_some_arrived(words: list[str], party: FakeParty, more: int) -> bool:
    """Start a fleet, kill it once so many more reports have arrived; return whether it was killed in time."""
    wanted = len(party.received) + more
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as fleet:
        while len(party.received) < wanted and fleet.poll() is None:
            time.sleep(0.001)
        fleet.kill()
        return fleet.wait() != 0


def kept_reports(folder: Path, task: bytes) -> dict[int, bytes]:
    """Return what the ledgers say was sent; every one must be whole and delivered."""
    database = sqlite3.connect(folder / "state" / "fleet.sqlite")
    rows = database.execute("SELECT place, ledger, counter FROM devices").fetchall()
    database.close()
    found: dict[int, bytes] = {}
    for place, content, counter in rows:
        entry = Ledger(MemoryLedger(content), MemoryCounter(counter)).entry(task)
        assert entry is not None
        assert entry.delivered
        assert entry.sent is not None
        found[place] = entry.sent
    return found


def kill_again_and_again(folder: Path, oracle: str, users: int, kills: int) -> None:
    party = FakeParty(fleet_task(oracle), enrol_until=users)
    for level in (1, 2, 3):
        publish_level(party, level)
    chance, killed = np.random.default_rng(1), 0
    with serving(party) as url:
        words = command(party, url, folder, users)
        for _ in range(kills):
            killed += kill_when_some_arrived(words, party, int(chance.integers(users // kills)))
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    totals: dict[str, Any] = json.loads(done.stdout)
    assert killed > 0
    assert sum(totals["verdicts"].values()) == users
    assert set(totals["verdicts"]) <= {"accepted", "replayed"}
    assert set(party.distinct) == set(range(users))
    assert {serial: {batch} for serial, batch in kept_reports(folder, party.task.digest).items()} == party.distinct
    for line in done.stderr.splitlines():
        assert set(json.loads(line)) == {"phase", "sent", "of", "level"}


@pytest.mark.parametrize("oracle", ["olh", "krr"])
def test_a_killed_fleet_goes_on_with_the_same_bytes(tmp_path: Path, oracle: str) -> None:
    kill_again_and_again(tmp_path, oracle, 4_000, 3)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["olh", "krr"])
def test_a_fleet_killed_many_times_goes_on_with_the_same_bytes(tmp_path: Path, oracle: str) -> None:
    kill_again_and_again(tmp_path, oracle, 40_000, 60)
