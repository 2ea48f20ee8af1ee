"""One SQLite file, owned by one process: reports and journal together, so that one backup holds both.

Every commit is on the disk before it returns (write-ahead log, synchronous=FULL); what is deleted is overwritten.
"""

import fcntl
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import IO, Any

from treetop.adapters.relational.commit_numbers import CommitNumbers, Opening
from treetop.adapters.relational.tables import (
    STRETCH,
    GroupState,
    Kind,
    RowDamaged,
    State,
    new_store,
    sealed,
    selects,
    slots_of,
    unsealed,
    upserts,
)
from treetop.adapters.sqlite.ownership import refuse_foreign
from treetop.errors import StoreRefused, StoreUnavailable
from treetop.secret_files import make_private, open_private

_ONE = selects("WHERE number = ?")
_ALL = selects("ORDER BY number")
_OF_TASK = selects("WHERE task = ? ORDER BY number")
_SAVE = upserts("?")
_ERASE = {
    table: f"DELETE FROM {table} WHERE slot BETWEEN ? AND ?"  # noqa: S608  our own three names
    for table in ("spent", "body", "enrolled")
}


class SqliteRows:
    """The `Rows` of one transaction; nobody else writes meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._do = connection.execute
        self._do_many = connection.executemany
        self.written = False

    def state(self, kind: type[Kind], number: int) -> Kind:
        """Return the row of that number."""
        row = self._do(_ONE[kind], (number,)).fetchone()
        if row is None:
            raise RowDamaged(f"row {number} of {kind.__name__} is gone")
        return unsealed(kind, row)

    def states(self, kind: type[Kind], task: int | None = None) -> list[Kind]:
        """Return all rows by number, or those of a task."""
        found = self._do(_ALL[kind]) if task is None else self._do(_OF_TASK[kind], (task,))
        return [unsealed(kind, row) for row in found]

    def save(self, *states: State) -> None:
        """Write rows of one kind, replacing the one with its number."""
        self._do_many(_SAVE[type(states[0])], map(sealed, states))
        self.written = True

    def drop_groups(self, task: int) -> None:
        """Delete the rows of a task's groups."""
        self._do("DELETE FROM collection WHERE task = ?", (task,))

    def document(self, task: int) -> bytes | None:
        """Return a task's document."""
        row = self._do("SELECT content FROM document WHERE task = ?", (task,)).fetchone()
        return row[0] if row else None

    def add_document(self, task: int, document: bytes) -> None:
        """Keep a task's document."""
        self._do("INSERT INTO document VALUES (?, ?)", (task, document))

    def drop_document(self, task: int) -> None:
        """Delete a task's document."""
        self._do("DELETE FROM document WHERE task = ?", (task,))

    def spent(self, slots: Sequence[int]) -> dict[int, bytes]:
        """Return the checks of those slots that are taken."""
        return dict(self._among("SELECT slot, mark FROM spent WHERE slot IN (SELECT value FROM json_each(?))", slots))

    def add_spent(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Keep slots and checks."""
        self._do_many("INSERT INTO spent VALUES (?, ?)", rows)

    def free_places(self, group: GroupState, count: int) -> Sequence[int]:
        """Return the places behind those that are taken."""
        return range(group.reports, group.reports + count)

    def add_bodies(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Keep slots, serial numbers and bodies."""
        self._do_many("INSERT INTO body VALUES (?, ?, ?)", rows)

    def enrolled(self, slots: Sequence[int]) -> set[int]:
        """Return which of the slots are enrolled."""
        found = self._among("SELECT slot FROM enrolled WHERE slot IN (SELECT value FROM json_each(?))", slots)
        return {slot for (slot,) in found}

    def add_enrolled(self, slots: Sequence[int]) -> None:
        """Keep slots."""
        self._do_many("INSERT INTO enrolled VALUES (?)", [(slot,) for slot in slots])

    def erase(self, table: str, first: int, last: int) -> None:
        """Delete the rows of `spent`, `body` or `enrolled` in a range of slots."""
        self._do(_ERASE[table], (first, last))

    def entries(self, book: int, after: int) -> Iterable[tuple[Any, Any, Any]]:
        """Return number, name and content of a book's entries behind a number, in order."""
        select = "SELECT number, name, content FROM entry WHERE book = ? AND number > ? ORDER BY number"
        return self._do(select, (book, after))

    def add_entry(self, book: int, number: int, name: str, content: bytes) -> None:
        """Keep an entry."""
        self._do("INSERT INTO entry VALUES (?, ?, ?, ?)", (book, number, name, content))

    def _among(self, statement: str, slots: Sequence[int]) -> Iterable[Any]:
        return self._do(statement, (f"[{','.join(map(str, slots))}]",))


VERSION = 3
APPLICATION = 0x54524545
"""Marks the file as Treetop's."""
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
    WHERE body.slot BETWEEN ? AND ? ORDER BY body.content
"""
_PASSING = (
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_PROTOCOL",
    "SQLITE_PERM",
    "SQLITE_NOLFS",
    "SQLITE_INTERRUPT",
)
_LASTING = ("SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_DATA")


class SqliteDatabase:
    """The `Database` of a party or server that keeps its own; calls of several threads take turns."""

    def __init__(self, path: Path, opening: Opening) -> None:
        self._path = path.resolve()
        self._turn = RLock()
        self._lock = _Ownership(self._path)
        beside = self._path.with_name(self._path.name + ".commit")
        self._numbers = CommitNumbers(str(path), opening.commit_file or beside, opening)
        self._connection: sqlite3.Connection | None = None
        self._untidy = False
        try:
            with _translated():
                make_private(self._path)  # its log and index get the same mode
                self._connection = _connected(self._path)
                _prepare(self._connection, str(path))
            with self.transaction() as rows:
                self._numbers.take_over(rows)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[SqliteRows]:
        """Begin, then commit durably, or undo all of it if anything is raised."""
        with self._turn, _translated():
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            rows = SqliteRows(connection)
            try:
                yield rows
                numbered = self._numbers.next(rows)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # what went wrong is being reported already
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise
            self._numbers.committed(numbered)
            if self._untidy:
                with suppress(StoreUnavailable):  # what was asked for is committed
                    self.tidy()

    def bodies(self, group: int, task: int) -> Iterator[Sequence[tuple[Any, Any, Any]]]:
        """Yield serial, body and check of a group's reports by body, in stretches, while others write."""
        return self._stretches(_BODIES, (slots_of(task)[0], *slots_of(group)))

    def enrolments(self, task: int) -> Iterator[Sequence[tuple[Any]]]:
        """Yield the slots enrolled in a task, in stretches."""
        return self._stretches("SELECT slot FROM enrolled WHERE slot BETWEEN ? AND ? ORDER BY slot", slots_of(task))

    def tidy(self) -> None:
        """Copy the log into the file and empty it: it still holds pages as they were.

        A reader of bodies needs the log meanwhile; that is not waited for, and the next commit tries again.
        """
        with self._turn, _translated():
            connection = self._opened()
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {PATIENCE}").fetchall()
            self._untidy = bool(busy)

    def close(self) -> None:
        """Close the file and release its lock; again, nothing."""
        with self._turn:
            connection = self._connection
            self._connection = None
            if connection is not None:
                with suppress(sqlite3.Error):  # a damaged or full store must still be released
                    connection.close()
            self._numbers.close()
            self._lock.end()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailable("store_closed_at", path=self._path)
        return self._connection

    def _stretches(self, statement: str, values: Sequence[int]) -> Iterator[Sequence[tuple[Any, ...]]]:
        with _translated():
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


def _prepare(connection: sqlite3.Connection, where: str) -> None:
    """Make the tables of a new store, or refuse one that this program does not know."""
    application, version, schema_version = (
        int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
        for pragma in ("application_id", "user_version", "schema_version")
    )
    if not application and not version and not schema_version:  # all in one transaction: a store is whole or empty
        schema = (files("treetop.adapters.sqlite") / "schema.sql").read_text("utf-8")
        connection.executescript(
            f"BEGIN IMMEDIATE; {schema}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
        )
        SqliteRows(connection).save(new_store())
        connection.execute("COMMIT")
    elif application != APPLICATION:
        raise StoreRefused(where, "the file is a database of something else")
    elif version != VERSION:
        raise StoreRefused(where, f"expected version {VERSION} of its tables, found {version}")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what SQLite or the disk reports into `StoreUnavailable` or `RowDamaged`."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_PASSING) and name not in _LASTING:
            raise StoreUnavailable("store_unusable", reason=f"{error} ({name})") from error
        raise RowDamaged(f"{error} ({name or type(error).__name__})") from error
    except UnicodeDecodeError as error:
        raise RowDamaged("a text is not UTF-8 any more") from error
    except OSError as error:
        raise StoreUnavailable("store_unusable", reason=error) from error


class _Ownership:
    """Locks of the operating system, which end with the process: on the file's name, and on the file by any name.

    The name stays locked while somebody moves another file there. Closing any handle of a database drops SQLite's own
    locks in this process, so the file itself is opened last, and closed when SQLite has let go of it.
    """

    def __init__(self, path: Path) -> None:
        self._handles: list[IO[bytes]] = []
        lock = path.with_name(path.name + ".lock")
        try:
            if not lock.exists():  # so nothing is left beside a file that is refused, and nobody here has it open
                refuse_foreign(path, APPLICATION)
            self._take(lock)
            refuse_foreign(path, APPLICATION)
            if path.exists() and path.stat().st_nlink > 1:
                raise StoreRefused(
                    str(path), "it has another name (a hard link), and SQLite finds its log by the name: remove one"
                )
            if sys.platform == "linux":  # elsewhere this lock would keep SQLite out as well
                self._take(path)
        except BaseException as error:
            self.end()
            if isinstance(error, BlockingIOError):
                raise StoreRefused(str(path), "another process owns it; one SQLite file has one owner") from None
            if isinstance(error, OSError):
                raise StoreUnavailable("store_not_opened", path=path, reason=error) from error
            raise

    def _take(self, path: Path) -> None:
        self._handles.append(open_private(path, "ab"))
        fcntl.flock(self._handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)

    def end(self) -> None:
        """Let another process own the file; again, nothing."""
        while self._handles:
            self._handles.pop().close()
