"""R18: a party of another version is taken up in mid-task: nothing is lost, nothing counts twice, the same outcome.

The store was recorded with version 0.1.0 of the source as it was before several processes could share one
(`tests/support/recorded_party.py`), and so was the outcome to which that version came by itself.
"""

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.support.parties import honest_entry
from tests.support.recorded_party import BEFORE, OF, TICKETS, begun, ended

from treetop.adapters.report_files.locations import ReportFolder
from treetop.adapters.store_choice import open_stores
from treetop.errors import PeerViolation, StoreRefused
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import decoded_upload, encoded_upload

RECORDED = Path(__file__).parents[3] / "recorded" / "party_of_0_1_0"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    folder = tmp_path / "party"
    shutil.copytree(RECORDED, folder)
    for file in folder.iterdir():
        file.chmod(0o600)
    return folder


def test_a_store_of_an_older_version_goes_on_to_the_same_outcome(older: Path) -> None:
    verdicts, outcome = ended(older, ReportFolder(older / "reports"))
    assert verdicts == ["replayed"] * 5 + ["accepted"] * (TICKETS - BEFORE)
    assert outcome == (RECORDED / "outcome.json").read_bytes()


def test_this_version_stopped_and_taken_up_comes_to_it_as_well(tmp_path: Path) -> None:
    reports = ReportFolder(tmp_path / "reports")
    begun(tmp_path, reports)
    assert ended(tmp_path, reports)[1] == (RECORDED / "outcome.json").read_bytes()


def test_tables_of_a_version_that_nobody_knows_are_refused_and_not_touched(older: Path) -> None:
    store = older / "party.db"
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = store.read_bytes()
    with pytest.raises(StoreRefused, match="expected version 3 of its tables, found 99"):
        open_stores(str(store))
    assert store.read_bytes() == before


def test_reports_of_another_version_of_the_wire_are_refused_and_never_guessed() -> None:
    entry = honest_entry(OF, 1)
    upload = encoded_upload([entry])
    assert upload[0] == entry.batch[0] == 1
    for version in (0, 2, 255):
        with pytest.raises(PeerViolation, match="version of an upload"):
            decoded_upload(bytes([version]) + upload[1:])
        with pytest.raises(PeerViolation, match="version"):
            decoded_batch(bytes([version]) + entry.batch[1:])
