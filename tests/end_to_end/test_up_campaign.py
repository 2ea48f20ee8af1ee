"""`treetop up --campaign`: a real server orders real weeks of a few seconds; devices keep their ledgers."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from treetop.adapters.sqlite.fleet_ledger import FleetLedger
from treetop.federation.device.ledger import LedgerContent

SHARES = {11: 0.4, 22: 0.3, 33: 0.12, 44: 0.08, 55: 0.06, 66: 0.04}
USERS = 1200
OPTIONS = (
    "--campaign", "--weeks", "2", "--k", "2", "--drift", "1", "--epsilon", "8", "--seed", "1", "--set", "bits=16",
)  # fmt: skip


@pytest.fixture
def drinks(tmp_path: Path) -> str:
    path = tmp_path / "drinks.csv"
    rows = [f"north,{item},{round(share * USERS)}" for item, share in SHARES.items()]
    path.write_text("\n".join(["party,item,users", *rows]) + "\n")
    return str(path)


def command(home: Path, drinks: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "treetop", "up", "--directory", str(home), "--data", drinks, *OPTIONS, *more]


def test_weeks_are_played_by_devices_that_answer_once(tmp_path: Path, drinks: str) -> None:
    """Two weeks between which one of two items changes: every device answers in one of them, and never again."""
    home = tmp_path / "up"
    done = subprocess.run(
        command(home, drinks, "--json"), capture_output=True, text=True, timeout=400, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    weeks: list[dict[str, Any]] = json.loads(done.stdout)
    assert [week["campaign"]["week"] for week in weeks] == [1, 2]
    assert [week["truth"]["f1"] for week in weeks] == [1.0, 1.0]
    assert [week["campaign"]["compared_with"] for week in weeks] == [None, 1]
    assert Counter(change["mark"] for change in weeks[1]["campaign"]["changes"]).keys() >= {"new", "gone"}
    reports = [week["covered"]["users"] for week in weeks]
    ledgers = FleetLedger(next(home.glob("party_1*")) / "fleet" / "fleet.sqlite")
    contents = [LedgerContent.read(record.ledger) for record in ledgers.records(range(USERS))]
    ledgers.close()
    assert all(len(content.slots) == 1 and len(content.entries) <= 1 for content in contents)
    drawn = Counter(content.slots[0].slot for content in contents)
    assert all(0 < found <= drawn[week] for week, found in enumerate(reports))  # on a busy machine some are too late
    assert all(0.4 * USERS < drawn[week] < 0.6 * USERS for week in range(2))
