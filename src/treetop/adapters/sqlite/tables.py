"""The tables of the store in SQLite, inside a transaction."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from treetop.adapters.relational.states import GroupState, Kind, RowDamaged, State, sealed, selects, unsealed, upserts

_ONE, _ALL, _OF_TASK = (
    selects("WHERE number = ?"),
    selects("ORDER BY number"),
    selects("WHERE task = ? ORDER BY number"),
)
_SAVE = upserts("?")
_ERASE = {
    table: f"DELETE FROM {table} WHERE slot BETWEEN ? AND ?"  # noqa: S608  our own three names
    for table in ("spent", "body", "enrolled")
}


class SqliteRows:
    """The `Rows` of one transaction; nobody else writes meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._do, self._do_many = connection.execute, connection.executemany
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
