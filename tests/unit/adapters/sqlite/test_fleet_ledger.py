from pathlib import Path

import pytest
from tests.support.refusals import refused

from treetop.adapters.sqlite.fleet_ledger import DeviceRecord, FleetLedger
from treetop.errors import InvalidInput, LedgerRefused
from treetop.federation.wire.uploads import ReportStatus

TASK, OTHER = b"t" * 32, b"o" * 32


def written(place: int, ledger: bytes = b"ledger") -> DeviceRecord:
    record = DeviceRecord(place)
    record.replace(ledger)
    record.advance(2)
    return record


def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    ledger = FleetLedger(tmp_path / "fleet")
    ledger.keep(TASK, [(written(5), b"five"), (written(3), b"three")])
    ledger.close()
    again = FleetLedger(tmp_path / "fleet")
    assert again.unsettled(TASK) == [(3, b"three"), (5, b"five")]
    assert again.answered(TASK) == {3, 5}
    assert again.answered(OTHER) == set()
    known, new = again.records([5, 6])
    assert (known.index, known.load(), known.read()) == (5, b"ledger", 2)
    assert (new.index, new.load(), new.read()) == (6, None, 0)
    again.close()


def test_a_verdict_settles_a_report(tmp_path: Path) -> None:
    ledger = FleetLedger(tmp_path / "fleet")
    ledger.keep(TASK, [(written(1), b"one"), (written(2), b"two")])
    ledger.keep(TASK, judged=[(written(1, b"delivered"), ReportStatus.REPLAYED)])
    assert ledger.unsettled(TASK) == [(2, b"two")]
    assert ledger.verdicts(TASK) == {ReportStatus.REPLAYED: 1}
    assert ledger.records([1])[0].load() == b"delivered"
    ledger.close()


def test_a_second_report_of_a_device_keeps_nothing_of_its_stretch(tmp_path: Path) -> None:
    """The file itself has room for one report of each device and task."""
    import sqlite3

    ledger = FleetLedger(tmp_path / "fleet")
    ledger.keep(TASK, [(written(1), b"one")])
    with pytest.raises(sqlite3.IntegrityError):
        ledger.keep(TASK, [(written(7), b"seven"), (written(1), b"another")], [(written(1), ReportStatus.ACCEPTED)])
    assert ledger.unsettled(TASK) == [(1, b"one")]
    assert ledger.records([7])[0].load() is None
    ledger.keep(OTHER, [(written(1), b"another task")])
    ledger.close()


def test_enrolments_are_kept(tmp_path: Path) -> None:
    ledger = FleetLedger(tmp_path / "fleet")
    ledger.keep_enrolments(TASK, [(2, ReportStatus.ACCEPTED), (1, ReportStatus.TICKET_FORGED)])
    ledger.keep_enrolments(TASK, [(2, ReportStatus.REPLAYED)])
    assert ledger.enrolments(TASK) == {1: ReportStatus.TICKET_FORGED, 2: ReportStatus.REPLAYED}
    assert ledger.enrolments(OTHER) == {}
    ledger.close()


def test_facts_do_not_change(tmp_path: Path) -> None:
    ledger = FleetLedger(tmp_path / "fleet")
    ledger.claim("population", "five users")
    ledger.claim("population", "five users")
    with refused("fleet_state_differs", InvalidInput, name="population", kept="five users", value="six users"):
        ledger.claim("population", "six users")
    FleetLedger(tmp_path / "fleet").close()


def test_one_process_holds_it(tmp_path: Path) -> None:
    ledger = FleetLedger(tmp_path / "fleet")
    with pytest.raises(LedgerRefused, match="another one"):
        FleetLedger(tmp_path / "fleet")
    ledger.close()
    FleetLedger(tmp_path / "fleet").close()


def test_it_is_written_with_full_durability(tmp_path: Path) -> None:
    ledger = FleetLedger(tmp_path / "fleet")
    settings = {
        name: ledger._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")
    }
    assert settings == {"synchronous": 2, "journal_mode": "wal"}
    ledger.close()
