"""The ledgers of many simulated devices in one SQLite file: a stretch of devices is written in one transaction.

A device writes its ledger to memory; the stretch is committed before any of its reports is sent. A crash before the
commit leaves devices that have said nothing, a crash after it leaves the bytes that will be sent again.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from treetop.errors import InvalidInput, LedgerRefused
from treetop.federation.wire.uploads import ReportStatus
from treetop.secret_files import check_private, create_private

APPLICATION = 0x54524646
"""Marks the file as a fleet's."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS devices (place INTEGER PRIMARY KEY, ledger BLOB NOT NULL, counter INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS reports (task BLOB, place INTEGER, batch BLOB NOT NULL, verdict TEXT,
    PRIMARY KEY (task, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS enrolments (task BLOB, place INTEGER, verdict TEXT NOT NULL,
    PRIMARY KEY (task, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refusals (task BLOB, place INTEGER, code TEXT NOT NULL, told INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class DeviceRecord:
    """One device's ledger and counter, in memory until its stretch is committed."""

    __slots__ = ("counter", "index", "ledger")

    def __init__(self, index: int, ledger: bytes | None = None, counter: int = 0) -> None:
        self.index = index
        self.ledger = ledger
        self.counter = counter

    def load(self) -> bytes | None:
        """Return the ledger, or None on a new device."""
        return self.ledger

    def replace(self, ledger: bytes) -> None:
        """Take a new ledger; it lasts once the stretch is committed, and nothing is sent before."""
        self.ledger = ledger

    def read(self) -> int:
        """Return the counter."""
        return self.counter

    def advance(self, counter: int) -> None:
        """Take a higher counter."""
        self.counter = counter


class FleetLedger:
    """Run by a fleet: all its devices' ledgers; one process at a time may hold the file."""

    def __init__(self, path: Path) -> None:
        try:
            create_private(path).close()
        except FileExistsError:  # a copy by hand, or a file of somebody else: its mode is not ours to change
            check_private(path)
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        try:
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            ((named,),) = self._database.execute("PRAGMA application_id")
            ((tables,),) = self._database.execute("SELECT count(*) FROM sqlite_schema")
            if named != APPLICATION and (named or tables):
                raise LedgerRefused("file", "a fleet's", "a database of something else")
            self._database.execute(f"PRAGMA application_id = {APPLICATION}")
            self._database.executescript(_SCHEMA)
        except sqlite3.OperationalError:
            self._database.close()
            raise LedgerRefused("holder", "this process alone", "another one") from None
        except sqlite3.DatabaseError:
            self._database.close()
            raise LedgerRefused("file", "a fleet's", "no database") from None
        except LedgerRefused:
            self._database.close()
            raise

    def close(self) -> None:
        """Let another process hold the file."""
        self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def claim(self, name: str, value: str) -> None:
        """Keep a fact about the fleet, or close and refuse another one than is kept: these are not the same devices."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
        ((kept,),) = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,))
        if kept != value:
            self.close()
            raise InvalidInput("fleet_state_differs", name=name, kept=kept, value=value)

    def records(self, indices: Sequence[int]) -> list[DeviceRecord]:
        """Return the records of some devices, new ones for devices that have none."""
        marks = ",".join("?" * len(indices))
        rows = self._database.execute(f"SELECT place, ledger, counter FROM devices WHERE place IN ({marks})", indices)  # noqa: S608  question marks only
        found = {row[0]: DeviceRecord(*row) for row in rows}
        return [found.get(index) or DeviceRecord(index) for index in indices]

    def keep(
        self,
        task: bytes,
        answered: Iterable[tuple[DeviceRecord, bytes]] = (),
        judged: Iterable[tuple[DeviceRecord, ReportStatus]] = (),
    ) -> None:
        """Commit new reports and verdicts with the ledgers of their devices; durable once this returns."""
        new = list(answered)
        old = list(judged)
        with self._transaction() as database:
            database.executemany(
                "INSERT INTO reports VALUES (?, ?, ?, NULL)", [(task, record.index, batch) for record, batch in new]
            )
            database.executemany(
                "UPDATE reports SET verdict = ? WHERE task = ? AND place = ?",
                [(verdict.value, task, record.index) for record, verdict in old],
            )
            _keep_devices(database, [record for record, _ in (*new, *old)])

    def keep_refusals(self, task: bytes, refused: Mapping[int, str], changed: Sequence[DeviceRecord]) -> None:
        """Commit which devices may not answer a task, and the ledgers of those that have drawn a week."""
        rows = [(task, index, code) for index, code in refused.items()]
        with self._transaction() as database:
            _keep_devices(database, changed)
            database.executemany("INSERT OR IGNORE INTO refusals (task, place, code) VALUES (?, ?, ?)", rows)

    def refused(self, task: bytes) -> dict[int, str]:
        """Return the devices that did not answer a task, and their codes."""
        return dict(self._database.execute("SELECT place, code FROM refusals WHERE task = ? ORDER BY place", (task,)))

    def untold(self, task: bytes) -> list[tuple[int, str]]:
        """Return the devices whose party may not know yet that they do not answer a task."""
        rows = self._database.execute(
            "SELECT place, code FROM refusals WHERE task = ? AND told = 0 ORDER BY place", (task,)
        )
        return rows.fetchall()

    def note_told(self, task: bytes, indices: Iterable[int]) -> None:
        """Remember that a party was told."""
        with self._transaction() as database:
            database.executemany(
                "UPDATE refusals SET told = 1 WHERE task = ? AND place = ?", [(task, index) for index in indices]
            )

    def answered(self, task: bytes) -> set[int]:
        """Return the devices that have a report for a task."""
        return {index for (index,) in self._database.execute("SELECT place FROM reports WHERE task = ?", (task,))}

    def unsettled(self, task: bytes) -> list[tuple[int, bytes]]:
        """Return the reports that may not have arrived, with their devices."""
        rows = self._database.execute(
            "SELECT place, batch FROM reports WHERE task = ? AND verdict IS NULL ORDER BY place", (task,)
        )
        return rows.fetchall()

    def verdicts(self, task: bytes) -> dict[ReportStatus, int]:
        """Return how often the party gave which verdict."""
        rows = self._database.execute(
            "SELECT verdict, count(*) FROM reports WHERE task = ? AND verdict IS NOT NULL GROUP BY verdict", (task,)
        )
        return {ReportStatus(verdict): count for verdict, count in rows}

    def keep_enrolments(self, task: bytes, verdicts: Iterable[tuple[int, ReportStatus]]) -> None:
        """Commit the final verdicts on enrolments."""
        rows = [(task, index, verdict.value) for index, verdict in verdicts]
        with self._transaction() as database:
            database.executemany("INSERT OR REPLACE INTO enrolments VALUES (?, ?, ?)", rows)

    def enrolments(self, task: bytes) -> dict[int, ReportStatus]:
        """Return the final verdicts on enrolments."""
        rows = self._database.execute("SELECT place, verdict FROM enrolments WHERE task = ? ORDER BY place", (task,))
        return {index: ReportStatus(verdict) for index, verdict in rows}


def _keep_devices(database: sqlite3.Connection, records: Sequence[DeviceRecord]) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO devices VALUES (?, ?, ?)",
        [(record.index, record.ledger, record.counter) for record in records],
    )
