"""A PostgreSQL database that holds the store of a party or a server's journal, and its tables inside a transaction."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from threading import RLock
from time import monotonic, sleep
from typing import Any, LiteralString

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from treetop.adapters.relational.commit_numbers import CommitNumbers, Opening
from treetop.adapters.relational.states import Kind, RowDamaged, State, new_store, sealed, selects, unsealed, upserts
from treetop.adapters.relational.tables import STRETCH, slots_of
from treetop.errors import InvalidInput, StoreRefused, StoreUnavailable

_ONE = selects("WHERE number = %s FOR UPDATE")
_ALL, _OF_TASK = selects("ORDER BY number"), selects("WHERE task = %s ORDER BY number")
_SAVE = upserts("%s")
_ERASE: dict[str, LiteralString] = {
    "spent": "DELETE FROM spent WHERE slot BETWEEN %s AND %s",
    "body": "DELETE FROM body WHERE slot BETWEEN %s AND %s",
    "enrolled": "DELETE FROM enrolled WHERE slot BETWEEN %s AND %s",
}


class PostgresRows:
    """The `Rows` of one transaction; a row that was read by its number is locked against other processes."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection, self._do = connection, connection.execute
        self.written = False

    def state(self, kind: type[Kind], number: int) -> Kind:
        """Return the row of that number, locked until the end of the transaction."""
        row = self._do(_ONE[kind], (number,)).fetchone()
        if row is None:
            raise RowDamaged(f"row {number} of {kind.__name__} is gone")
        return unsealed(kind, row)

    def states(self, kind: type[Kind], task: int | None = None) -> list[Kind]:
        """Return all rows by number, or those of a task."""
        every = task is None
        found = self._do(_ALL[kind]) if every else self._do(_OF_TASK[kind], (task,))
        return [unsealed(kind, row) for row in found]

    def save(self, *states: State) -> None:
        """Write rows of one kind, replacing the one with its number."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_SAVE[type(states[0])], [sealed(state) for state in states])
        self.written = True

    def drop_groups(self, task: int) -> None:
        """Delete the rows of a task's groups."""
        self._do("DELETE FROM collection WHERE task = %s", (task,))

    def document(self, task: int) -> bytes | None:
        """Return a task's document."""
        row = self._do("SELECT content FROM document WHERE task = %s", (task,)).fetchone()
        return row[0] if row else None

    def add_document(self, task: int, document: bytes) -> None:
        """Keep a task's document."""
        self._do("INSERT INTO document VALUES (%s, %s)", (task, document))

    def drop_document(self, task: int) -> None:
        """Delete a task's document."""
        self._do("DELETE FROM document WHERE task = %s", (task,))

    def spent(self, slots: Sequence[int]) -> dict[int, bytes]:
        """Return the checks of those slots that are taken."""
        return dict(self._do("SELECT slot, mark FROM spent WHERE slot = ANY(%b)", (list(slots),), binary=True))

    def add_spent(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Keep slots and checks."""
        self._copy("COPY spent FROM STDIN (FORMAT binary)", ("int8", "bytea"), rows)

    def add_bodies(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Keep slots, serial numbers and bodies."""
        self._copy("COPY body FROM STDIN (FORMAT binary)", ("int8", "int8", "bytea"), rows)

    def enrolled(self, slots: Sequence[int]) -> set[int]:
        """Return which of the slots are enrolled."""
        found = self._do("SELECT slot FROM enrolled WHERE slot = ANY(%b)", (list(slots),), binary=True)
        return {slot for (slot,) in found}

    def add_enrolled(self, slots: Sequence[int]) -> None:
        """Keep slots."""
        self._copy("COPY enrolled FROM STDIN (FORMAT binary)", ("int8",), [(slot,) for slot in slots])

    def erase(self, table: str, first: int, last: int) -> None:
        """Delete the rows of `spent`, `body` or `enrolled` in a range of slots."""
        self._do(_ERASE[table], (first, last))

    def entries(self, book: int, after: int) -> Iterable[tuple[Any, ...]]:
        """Return number, name and content of a book's entries behind a number, in order."""
        select = "SELECT number, name, content FROM entry WHERE book = %s AND number > %s ORDER BY number"
        return self._do(select, (book, after))

    def add_entry(self, book: int, number: int, name: str, content: bytes) -> None:
        """Keep an entry."""
        self._do("INSERT INTO entry VALUES (%s, %s, %s, %s)", (book, number, name, content))

    def _copy(self, statement: LiteralString, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)


VERSION = 3
_MAKING = 0x54524545
"""The advisory lock under which the tables are made."""
_BODIES: LiteralString = """
    SELECT body.serial, body.content, spent.mark
    FROM body LEFT JOIN spent ON spent.slot = %s | body.serial
    WHERE body.slot BETWEEN %s AND %s ORDER BY body.content
"""
_SESSION: tuple[LiteralString, ...] = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    # The database lets go of a process whose machine is gone within half a minute, so that its successor may begin.
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 30000",
)
_HOLD: LiteralString = "SELECT pg_try_advisory_lock(%s | 'treetop_schema'::regclass::oid::bigint)"
"""The advisory lock of one store's tables; it ends with the connection."""
PATIENCE = 5.0
"""Seconds to wait, when opening, for a process that was just killed to be noticed."""
_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.InsufficientPrivilege,
)
Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresDatabase:
    """The `Database` behind a postgresql:// address; a lost connection is made anew by the next call.

    One process at a time holds it: whoever writes does so on the connection that has the store's advisory lock.
    """

    def __init__(self, address: str, shown: str, opening: Opening) -> None:
        self._address, self._shown = _with_limits(address), shown
        self._turn = RLock()
        self._connection: Connection | None = None
        self._closed = False
        self._numbers = CommitNumbers(shown, opening.commit_file, opening)
        try:
            with _translated():
                self._connection = _connection(self._address)
                _prepare(self._connection, shown)
                if not _held(self._connection, PATIENCE):
                    raise StoreRefused(shown, "another process holds it; one store has one process")
            with self.transaction() as rows:
                self._numbers.take_over(rows)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[PostgresRows]:
        """Begin, then commit durably, or undo all of it if anything is raised."""
        with self._turn, _translated():
            connection = self._connected()
            with connection.transaction():
                rows = PostgresRows(connection)
                yield rows
                numbered = self._numbers.next(rows)
            self._numbers.committed(numbered)

    def bodies(self, group: int, task: int) -> Iterator[Sequence[tuple[Any, Any, Any]]]:
        """Yield serial, body and check of a group's reports by body, in stretches, on a connection of its own."""
        return self._stretches(_BODIES, (slots_of(task)[0], *slots_of(group)))

    def enrolments(self, task: int) -> Iterator[Sequence[tuple[Any]]]:
        """Yield the slots enrolled in a task, in stretches."""
        return self._stretches("SELECT slot FROM enrolled WHERE slot BETWEEN %s AND %s ORDER BY slot", slots_of(task))

    def tidy(self) -> None:
        """Remove deleted rows from the tables at once; the database's own logs keep them as long as it is told to."""
        with self._turn, _translated():
            self._connected().execute("VACUUM body, collection")

    def close(self) -> None:
        """Close the connection; again, nothing."""
        with self._turn:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            self._numbers.close()

    def _connected(self) -> Connection:
        if self._closed:
            raise StoreUnavailable("the store was closed")
        if self._connection is None or self._connection.closed:
            connection = _connection(self._address)
            if not _held(connection, 0):
                connection.close()
                raise StoreUnavailable(f"the store {self._shown} is held by another process")
            self._connection = connection
        return self._connection

    def _stretches(self, statement: LiteralString, values: Sequence[int]) -> Iterator[Sequence[tuple[Any, ...]]]:
        with _translated(), _connection(self._address) as reader, reader.transaction(), reader.cursor("rows") as cursor:
            cursor.execute(statement, values)
            while stretch := cursor.fetchmany(STRETCH):
                yield stretch


def _with_limits(address: str) -> str:
    """Return the address with a limit on waiting, unless it has one; its password is in no message."""
    try:
        given = conninfo_to_dict(address)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        raise InvalidInput(
            "a PostgreSQL store is postgresql://user@host:port/database with options that libpq knows, found another"
        ) from None
    return address if "connect_timeout" in given else make_conninfo(address, connect_timeout=10)


def _connection(address: str) -> Connection:
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.Error as error:
        told, given = _first_line(error), conninfo_to_dict(address)
        for secret in filter(None, (given.get("password"), given.get("user"))):
            told = told.replace(str(secret), "…")
        raise StoreUnavailable(f"the database cannot be used: {told}") from None
    for statement in _SESSION:
        connection.execute(statement)
    return connection


def _held(connection: Connection, seconds: float) -> bool:
    """Return whether this connection holds the store, if need be after some waiting."""
    limit = monotonic() + seconds
    while connection.execute(_HOLD, (_MAKING << 32,)).fetchone() != (True,):
        if monotonic() >= limit:
            return False
        sleep(0.1)
    return True


def _prepare(connection: Connection, shown: str) -> None:
    """Make the tables of a new store, one process at a time, or refuse those this program does not know."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
        found = connection.execute("SELECT to_regclass('treetop_schema')").fetchone()
        if found == (None,):
            schema = (files("treetop.adapters.postgres") / "schema" / "0001_initial.sql").read_text("utf-8")
            connection.execute(schema)
            connection.execute("INSERT INTO treetop_schema VALUES (%s)", (VERSION,))
            PostgresRows(connection).save(new_store())
        version = connection.execute("SELECT version FROM treetop_schema").fetchone()
    if version != (VERSION,):
        raise StoreRefused(shown, f"expected version {VERSION} of its tables, found {version}")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what the database reports into `StoreUnavailable` or `RowDamaged`."""
    try:
        yield
    except (*_PASSING, OSError) as error:
        raise StoreUnavailable(f"the database cannot be used: {_first_line(error)}") from error
    except psycopg.Error as error:
        raise RowDamaged(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return f"{str(error).partition(chr(10))[0]} ({type(error).__name__})"
