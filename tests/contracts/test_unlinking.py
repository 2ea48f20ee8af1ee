"""Once a group is closed, nothing that a party keeps leads from a report to a ticket, an order or a time.

An attacker gets everything: every row of the store with its place, the files and their metadata. She knows who had
which ticket, in which order reports came, and which reports there are. Before the close she links all of them;
afterwards two histories that differ only in who sent which report, and when, have left the same.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from tests.support.clocks import HandClock
from tests.support.databases import TABLES, Place, place_called
from tests.support.parties import KEY, NAME, SIGNING, document, task

from treetop.adapters.report_files.collected import CollectedReports
from treetop.adapters.system.key_files import PinnedKeys
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.report_collection import DeviceReportCollection
from treetop.trie.user_groups import Group

OF = task()
GROUP: Group = OF.groups[0].group
USERS = 300
Rows = dict[str, list[tuple[Any, ...]]]


class Kept:
    """A party's store and report files, filled by one history of devices."""

    def __init__(self, place: Place, folder: Path, where: str, seed: int) -> None:
        self.place, self.folder, self.where = place, folder, where
        randomness = Random(seed)  # noqa: S311  histories, not secrets
        bodies = [Random(value).randbytes(4) + b"\1" for value in range(USERS)]  # noqa: S311
        senders = randomness.sample(range(USERS), USERS)
        self.sent = [
            AdmittedReport(OF.digest, serial, GROUP, body) for serial, body in zip(senders, bodies, strict=True)
        ]
        randomness.shuffle(self.sent)
        place.store.add_task(OF.digest, document(OF))
        place.store.issue_tickets(OF.digest, USERS)
        for start in range(0, USERS, 60):
            place.store.submit(self.sent[start : start + 60])

    def close(self) -> None:
        """Let the party close the task as its query does."""
        store, published = self.place.store, PublishedDocuments(self.place.journal, OF)
        counter = CollectedReports(store, self.folder)
        DeviceReportCollection(
            TaskAdmission(OF, NAME, KEY), published, store, lambda: counter, clock=HandClock(),
            verifier=lambda: PinnedKeys([SIGNING.public]), stopping=lambda: False, close_when_complete=True,
        ).close()  # fmt: skip

    def rows(self) -> Rows:
        """Return every row of every table, in the order in which it lies there, behind what tells its place."""
        if self.place.name == "sqlite":
            with closing(sqlite3.connect(f"file:{self.where}?mode=ro", uri=True)) as reader:
                selects = {table: f"SELECT {'rowid, ' * (table != 'entry')}* FROM {table}" for table in TABLES}  # noqa: S608
                return {table: reader.execute(select).fetchall() for table, select in selects.items()}
        with psycopg.connect(self.where) as reader:
            select = "SELECT ctid::text, * FROM {0} ORDER BY {0}.ctid"
            return {table: reader.execute(select.format(table).encode()).fetchall() for table in TABLES}

    def secret(self) -> bytes:
        """Return what checks are made with; empty once it is gone."""
        collection = self.rows()["collection"]
        return next(bytes(row[7]) for row in collection if row[3] == GROUP.level)

    def linked(self) -> dict[int, bytes]:
        """Return which report came with which ticket, as the checks in the store tell with whatever secret it holds."""
        slots = {row[1] & ((1 << 40) - 1): bytes(row[2]) for row in self.rows()["spent"]}
        found, secret = {}, self.secret()
        for serial, mark in slots.items():
            for body in {report.body for report in self.sent}:
                if AdmittedReport(OF.digest, serial, GROUP, body).check(secret) == mark:
                    found[serial] = body
        return found


@pytest.fixture(params=["sqlite", "postgres"])
def histories(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Kept]]:
    """Two histories with the same reports: other senders, another order."""
    found = []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        place = place_called(request.param, folder, request)
        where = str(folder / f"store_{seed}.db")
        if request.param == "postgres":
            where = place.opened.__closure__[0].cell_contents  # type: ignore[index]  # the address it is opened by
        found.append(Kept(place, folder / "files", where, seed))
    yield found
    for kept in found:
        kept.place.close()


def test_before_the_close_everything_is_linked(histories: list[Kept]) -> None:
    """The attack is a real one: it finds every sender while a group is open, twice over."""
    kept = histories[0]
    assert kept.linked() == {report.serial: report.body for report in kept.sent}
    arrived = [bytes(row[3]) for row in kept.rows()["body"]]
    assert arrived == [report.body for report in kept.sent]


def test_two_histories_leave_the_same_behind(histories: list[Kept]) -> None:
    for kept in histories:
        secret = kept.secret()
        kept.close()
        assert kept.linked() == {}
        assert kept.secret() == b""
        assert kept.rows()["body"] == []
        if kept.place.name == "sqlite":  # neither in free pages nor in the log
            content = b"".join(path.read_bytes() for path in Path(kept.where).parent.glob("store_*"))
            assert secret not in content
            assert not any(report.body in content for report in kept.sent)
    one, other = histories
    (first,), (second,) = (sorted(kept.folder.iterdir()) for kept in histories)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    for table in ("collection", "body", "enrolled", "entry", "document"):
        assert one.rows()[table] == other.rows()[table]
    # What is left of tickets is that they were used: all of them, with a mark that says nothing.
    used = [{row[1] & ((1 << 40) - 1) for row in kept.rows()["spent"]} for kept in histories]
    assert used[0] == used[1] == set(range(USERS))


def test_files_name_no_time_and_no_order(histories: list[Kept]) -> None:
    kept = histories[0]
    kept.close()
    (path,) = kept.folder.iterdir()
    file = pq.ParquetFile(path)
    assert set(file.metadata.metadata) == {b"treetop.contents", b"treetop.seal", b"ARROW:schema"}
    rows = list(zip(*file.read().to_pydict().values(), strict=True))
    assert rows == sorted(rows)


def test_who_asks_again_is_told_that_she_was_counted(histories: list[Kept]) -> None:
    kept = histories[0]
    kept.close()
    for _ in range(2):
        store = kept.place.store
        assert store.submit(kept.sent) == [ReportStatus.REPLAYED] * USERS
        late = AdmittedReport(OF.digest, USERS + 5, GROUP, kept.sent[0].body)
        assert store.submit([late]) == [ReportStatus.LEVEL_CLOSED]
        assert store.counts(OF.digest) == {GROUP: USERS}
        kept.place.reopen()
    kept.close()  # after a restart the party closes again, and finds its file
    assert len(list(kept.folder.iterdir())) == 1
