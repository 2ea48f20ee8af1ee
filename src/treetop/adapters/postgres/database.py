"""A PostgreSQL database that holds the store of a party or a server's journal, and its tables inside a transaction."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, LiteralString

from psycopg import errors

from treetop.adapters.postgres.connections import (
    STORE_LOCKS,
    Connection,
    Connections,
    OneConnection,
    PooledConnections,
    connected,
    held,
    translated,
    with_limits,
)
from treetop.adapters.relational.commit_numbers import CommitNumbers, Opening, Share
from treetop.adapters.relational.tables import (
    STRETCH,
    GroupState,
    Kind,
    Overtaken,
    RowDamaged,
    State,
    new_store,
    sealed,
    selects,
    slots_of,
    unsealed,
    upserts,
)
from treetop.errors import StoreRefused, StoreUnavailable

_ONE = selects("WHERE number = %s FOR UPDATE")
_ALL = selects("ORDER BY number")
_OF_TASK = selects("WHERE task = %s ORDER BY number")
_SAVE = upserts("%s")
_ERASE: dict[str, LiteralString] = {
    "spent": "DELETE FROM spent WHERE slot BETWEEN %s AND %s",
    "body": "DELETE FROM body WHERE slot BETWEEN %s AND %s",
    "enrolled": "DELETE FROM enrolled WHERE slot BETWEEN %s AND %s",
}


class PostgresRows:
    """The `Rows` of one transaction; a row that was read by its number is locked against other processes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._do = connection.execute
        self.written = False

    def state(self, kind: type[Kind], number: int) -> Kind:
        """Return the row of that number, locked until the end of the transaction."""
        row = self._do(_ONE[kind], (number,)).fetchone()
        if row is None:
            raise RowDamaged(f"row {number} of {kind.__name__} is gone")
        return unsealed(kind, row)

    def states(self, kind: type[Kind], task: int | None = None) -> list[Kind]:
        """Return all rows by number, or those of a task, without waiting for anybody."""
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
        """Keep slots and checks; raise `Overtaken` if one was taken meanwhile."""
        try:
            self._copy("COPY spent FROM STDIN (FORMAT binary)", ("int8", "bytea"), rows)
        except errors.UniqueViolation:
            raise Overtaken from None

    def free_places(self, group: GroupState, count: int) -> Sequence[int]:  # noqa: ARG002  one sequence for all groups
        """Return places that no process has been given before."""
        found = self._do("SELECT nextval('place') FROM generate_series(1, %s)", (count,), binary=True)
        return [place for (place,) in found]

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


VERSION = 4
_BODIES: LiteralString = """
    SELECT body.serial, body.content, spent.mark
    FROM body LEFT JOIN spent ON spent.slot = %s | body.serial
    WHERE body.slot BETWEEN %s AND %s ORDER BY body.content
"""
PATIENCE = 5.0
"""Seconds to wait, when opening, for a process that was just killed to be noticed."""
_HELD: dict[Share, str] = {
    "alone": "another process holds it; one store has one process, or one coordinator and intakes",
    "coordinator": "another coordinator holds it, or a process without a role; a party has one coordinator",
    "intake": "a process without a role holds it; beside intakes there is one coordinator",
}


class PostgresDatabase:
    """The `Database` behind a postgresql:// address; a lost connection is replaced by the next call.

    One process holds it alone, or a coordinator together with intakes. A process that is alone, and the coordinator,
    does everything on the connection that has the lock: a process that lost it to another one writes nothing more.
    """

    def __init__(self, address: str, shown: str, opening: Opening) -> None:
        self._address = with_limits(address)
        self._connections: Connections | None = None
        self._numbers = CommitNumbers(shown, opening.commit_file, opening)
        try:
            with translated():
                first = connected(self._address)
                self._connections = OneConnection(self._address, shown, opening.share, first)
                _prepare(first, shown)
                if not held(first, opening.share, PATIENCE):
                    raise StoreRefused(shown, _HELD[opening.share])
                if opening.share == "intake":
                    self._connections.close()
                    self._connections = PooledConnections(self._address, shown)
            with self.transaction() as rows:
                self._numbers.take_over(rows)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[PostgresRows]:
        """Begin, then commit durably, or undo all of it if anything is raised."""
        with self._connected() as connection:
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
        with self._connected() as connection:
            connection.execute("VACUUM body, collection")

    def close(self) -> None:
        """Close the connections; again, nothing."""
        if self._connections is not None:
            self._connections.close()
        self._numbers.close()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        if self._connections is None:
            raise StoreUnavailable("store_not_open")
        with translated(), self._connections.at_hand() as connection:
            yield connection

    def _stretches(self, statement: LiteralString, values: Sequence[int]) -> Iterator[Sequence[tuple[Any, ...]]]:
        with translated(), connected(self._address) as reader, reader.transaction(), reader.cursor("rows") as cursor:
            cursor.execute(statement, values)
            while stretch := cursor.fetchmany(STRETCH):
                yield stretch


def _prepare(connection: Connection, shown: str) -> None:
    """Make the tables of a new store, one process at a time; refuse those of another version."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (STORE_LOCKS,))
        if connection.execute("SELECT to_regclass('treetop_schema')").fetchone() == (None,):
            connection.execute((files("treetop.adapters.postgres") / "schema.sql").read_text("utf-8"))
            PostgresRows(connection).save(new_store())
        (version,) = connection.execute("SELECT version FROM treetop_schema").fetchone() or (None,)
    if version != VERSION:
        raise StoreRefused(shown, f"expected version {VERSION} of its tables, found {version}")
