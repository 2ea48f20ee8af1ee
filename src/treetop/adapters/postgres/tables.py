"""The tables of the store in PostgreSQL, inside a transaction."""

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

import psycopg

from treetop.adapters.relational.states import Kind, RowDamaged, State, sealed, selects, unsealed, upserts

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
