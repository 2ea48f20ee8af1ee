"""What the store asks of a database: a transaction, rows by number, and many rows at once."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from treetop.adapters.relational.states import GroupState, Kind, State

SERIAL_BITS = 40
"""Reports and enrolments are keyed by one integer, a number of task or group before the serial number."""
LAST_SERIAL = (1 << SERIAL_BITS) - 1
STRETCH = 4096
"""Rows read at once."""


class Overtaken(Exception):
    """Another process has used a ticket, or closed a group, between what was read and what was written."""


def slots_of(number: int) -> tuple[int, int]:
    """Return the first and the last key of a task or group."""
    return number << SERIAL_BITS, number << SERIAL_BITS | LAST_SERIAL


class Rows(Protocol):
    """The tables inside one transaction; `RowDamaged` is raised for what cannot have been written."""

    written: bool
    """Whether any state was saved: nothing else is written without one."""

    def state(self, kind: type[Kind], number: int) -> Kind:
        """Return the row of that number, locked until the end of the transaction."""
        ...

    def states(self, kind: type[Kind], task: int | None = None) -> list[Kind]:
        """Return all rows by number, or those of a task, without waiting for anybody."""
        ...

    def save(self, *states: State) -> None:
        """Write rows of one kind, replacing the one with its number."""
        ...

    def drop_groups(self, task: int) -> None:
        """Delete the rows of a task's groups."""
        ...

    def document(self, task: int) -> bytes | None:
        """Return a task's document."""
        ...

    def add_document(self, task: int, document: bytes) -> None:
        """Keep a task's document."""
        ...

    def drop_document(self, task: int) -> None:
        """Delete a task's document."""
        ...

    def spent(self, slots: Sequence[int]) -> dict[int, bytes]:
        """Return the checks of those slots that are taken."""
        ...

    def add_spent(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Keep slots and checks; raise `Overtaken` if one was taken meanwhile."""
        ...

    def free_places(self, group: GroupState, count: int) -> Sequence[int]:
        """Return so many low bits of slots that no other body of the group has, or will have."""
        ...

    def add_bodies(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Keep slots, serial numbers and bodies."""
        ...

    def enrolled(self, slots: Sequence[int]) -> set[int]:
        """Return which of the slots are enrolled."""
        ...

    def add_enrolled(self, slots: Sequence[int]) -> None:
        """Keep slots."""
        ...

    def erase(self, table: str, first: int, last: int) -> None:
        """Delete the rows of `spent`, `body` or `enrolled` in a range of slots."""
        ...

    def entries(self, book: int, after: int) -> Iterable[tuple[Any, Any, Any]]:
        """Return number, name and content of a book's entries behind a number, in order."""
        ...

    def add_entry(self, book: int, number: int, name: str, content: bytes) -> None:
        """Keep an entry."""
        ...


class Database(Protocol):
    """A database that holds the tables; `StoreUnavailable` is raised while it cannot be read or written."""

    def transaction(self) -> AbstractContextManager[Rows]:
        """Begin, then commit durably, or undo all of it if anything is raised."""
        ...

    def bodies(self, group: int, task: int) -> Iterator[Sequence[tuple[Any, Any, Any]]]:
        """Yield serial, body and check of a group's reports by body, in stretches, outside of any transaction."""
        ...

    def enrolments(self, task: int) -> Iterator[Sequence[tuple[Any]]]:
        """Yield the slots enrolled in a task, in stretches, outside of any transaction."""
        ...

    def tidy(self) -> None:
        """Remove copies of what was deleted, as far as the database can."""
        ...

    def close(self) -> None:
        """Close files and connections; again, nothing."""
        ...
