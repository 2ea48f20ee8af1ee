"""One SQLite file, owned by one process: reports and journal together, so that one backup holds both.

Every commit is on the disk before it returns (write-ahead log, synchronous=FULL); what is deleted is overwritten.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from treetop.adapters.relational.states import StoreState
from treetop.adapters.relational.tables import STRETCH, slots_of
from treetop.adapters.sqlite.failures import translated
from treetop.adapters.sqlite.ownership import EpochFile, Ownership
from treetop.adapters.sqlite.schema_version import prepared
from treetop.adapters.sqlite.tables import SqliteRows
from treetop.errors import StoreRefused, StoreUnavailable

PATIENCE = 60_000
"""Milliseconds to wait for a lock of the file."""
_SETTINGS = (
    "PRAGMA page_size = 1024",  # tickets come back in no order: each report writes a page of the spent ones
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA cache_size = -131072",
    "PRAGMA wal_autocheckpoint = 65536",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)
_BODIES = """
    SELECT body.serial, body.content, spent.mark
    FROM body LEFT JOIN spent ON spent.slot = ? | body.serial
    WHERE body.slot BETWEEN ? AND ? ORDER BY body.serial
"""


class SqliteDatabase:
    """The `Database` of a party or server that keeps its own; calls of several threads take turns."""

    def __init__(self, path: Path, accept_older: bool = False) -> None:
        self._path, self._turn = Path(path), RLock()
        self._ownership = Ownership(self._path)
        self._epoch_file = EpochFile(self._path)
        self._connection: sqlite3.Connection | None = None
        self._untidy = False
        try:
            self._open(accept_older)
        except BaseException:
            self.close()
            raise

    def _open(self, accept_older: bool) -> None:
        with translated():
            self._connection = _connected(self._path)
            prepared(self._connection, str(self._path))
        with self.transaction() as rows:
            store = rows.state(StoreState, 1)
            remembered = self._epoch_file.read()
            if store.epoch < remembered and not accept_older:
                raise StoreRefused(str(self._path), _older(store.epoch, remembered))
            rows.save(store._replace(epoch=max(store.epoch, remembered) + 1))

    @contextmanager
    def transaction(self) -> Iterator[SqliteRows]:
        """Begin, then commit durably, or undo all of it if anything is raised."""
        with self._turn, translated():
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            rows = SqliteRows(connection)
            try:
                yield rows
                connection.execute("COMMIT")
            except BaseException:
                _undo(connection)
                raise
            self._epoch_file.advance(rows.epoch)
            if self._untidy:
                with suppress(StoreUnavailable):  # what was asked for is committed
                    self.tidy()

    def bodies(self, group: int, task: int) -> Iterator[Sequence[tuple[Any, Any, Any]]]:
        """Yield serial, body and check of a group's reports by serial, in stretches, beside whoever writes."""
        return self._stretches(_BODIES, (slots_of(task)[0], *slots_of(group)))

    def enrolments(self, task: int) -> Iterator[Sequence[tuple[Any]]]:
        """Yield the slots enrolled in a task, in stretches."""
        return self._stretches("SELECT slot FROM enrolled WHERE slot BETWEEN ? AND ? ORDER BY slot", slots_of(task))

    def tidy(self) -> None:
        """Copy the log into the file and empty it: it still holds pages as they were.

        Whoever reads bodies meanwhile needs the log; nobody waits for that, and the next commit tries again.
        """
        with self._turn, translated():
            connection = self._opened()
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {PATIENCE}").fetchall()
            self._untidy = bool(busy)

    def close(self) -> None:
        """Let go of the file and of its lock; again, nothing."""
        with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(sqlite3.Error):  # a damaged or full store must still be let go
                    connection.close()
            self._ownership.end()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailable(f"the store {self._path} was closed")
        return self._connection

    def _stretches(self, statement: str, values: Sequence[int]) -> Iterator[Sequence[tuple[Any, ...]]]:
        with translated():
            reader = _connected(self._path)
            try:
                cursor = reader.execute(statement, values)
                while stretch := cursor.fetchmany(STRETCH):
                    yield stretch
            finally:
                reader.close()


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE / 1000, isolation_level=None, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            connection.execute(setting).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _undo(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # what went wrong is being told already
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _older(found: int, remembered: int) -> str:
    return (
        f"it is older (epoch {found}) than the one that was here (epoch {remembered}), probably a restored backup: "
        "reports that it does not know would be accepted again. Open it with accept_older if that is what you want"
    )
