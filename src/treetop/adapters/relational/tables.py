"""The tables of a store: rows that hold its state, and what the store asks of a database.

Each row of state is sealed, so that a changed or lost one shows. How many rows there are is itself kept in a sealed
row: tasks and books in the store's, groups in their task's. The many rows of reports are not sealed one by one; their
number and the sum of their checks are (`GroupState`).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, NamedTuple, Protocol, TypeVar

from treetop.errors import StoreDamaged
from treetop.trie.user_groups import Group, Role

SEAL_BYTES = 8
"""A seal shows damage, not an attack: anyone who can write the store can seal a row."""
SUM_BYTES = 8
IDENTITY_BYTES = 16
NO_SUM = bytes(SUM_BYTES)
OPEN = 0
CLOSED = 1
SCRUBBED = 2
"""Closed, and its bodies and its secret are gone."""
ROLES = tuple(Role)


class RowDamaged(Exception):
    """Something in the tables is not what was written; the caller knows which task it concerns."""


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Name the task (or book) that damage concerns."""
    try:
        yield
    except RowDamaged as damage:
        raise StoreDamaged(", ".join(names) or "unknown", str(damage)) from damage


class StoreState(NamedTuple):
    """The one row about everything."""

    number: int
    identity: bytes
    """Drawn when the store was made: no other store has it."""
    owner: str = ""
    """Who opened it first."""
    commits: int = 0
    """How many there were, or more: never fewer than in an older copy."""
    tasks: int = 0
    groups: int = 0
    books: int = 0


def new_store() -> StoreState:
    """Return the row of a store that nobody has opened yet."""
    return StoreState(1, token_bytes(IDENTITY_BYTES))


class TaskState(NamedTuple):
    """One task: its tickets, its enrolment, how many groups it has."""

    number: int
    digest: bytes
    document: bytes
    """Seal of the document."""
    tickets: int = 0
    groups: int = 0
    enrolled: int = 0
    serials: bytes = NO_SUM
    """Sum of the serial numbers enrolled."""
    enrolment: bytes = b""
    """Digest of the serial numbers once enrolment is closed."""
    forgotten: int = 0


class GroupState(NamedTuple):
    """The reports of one group: how many, the sum of their checks, and the secret that the checks are made with."""

    number: int
    task: int
    level: int
    role: int
    reports: int = 0
    checks: bytes = NO_SUM
    secret: bytes = b""
    """Once it is gone, no check tells which body came with its ticket."""
    state: int = OPEN

    @property
    def group(self) -> Group:
        """Return the group that the row is about."""
        return Group(self.level, ROLES[self.role])

    def __repr__(self) -> str:
        return f"GroupState({self.number}, task {self.task}, {self.group}: {self.reports} reports)"


class BookState(NamedTuple):
    """One book of the journal: how many entries, and the last link of the chain of their seals."""

    number: int
    name: str
    entries: int = 0
    head: bytes = b""


State = StoreState | TaskState | GroupState | BookState
Kind = TypeVar("Kind", StoreState, TaskState, GroupState, BookState)
TABLES: dict[type, str] = {StoreState: "store", TaskState: "task", GroupState: "collection", BookState: "book"}


def seal_of(*parts: Any) -> bytes:
    """Return 8 bytes that change with the value or the type of any part."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=SEAL_BYTES).digest()


def sealed(state: State) -> tuple[Any, ...]:
    """Return the row that stands for a state."""
    return (*state, seal_of(TABLES[type(state)], *state))


def unsealed(kind: type[Kind], row: tuple[Any, ...]) -> Kind:
    """Return the state that a row stands for, or report damage."""
    if row[-1] != seal_of(TABLES[kind], *row[:-1]):
        raise RowDamaged(f"a row of table {TABLES[kind]} was changed")
    return kind(*row[:-1])


def expected(what: str, kept: object, found: object) -> None:
    """Report damage where the tables hold something else than was kept."""
    if kept != found:
        raise RowDamaged(f"{what}: {kept} were kept, {found} are there")


def sum_with(total: bytes, numbers: Iterable[int]) -> bytes:
    """Return a sum modulo 2^64 with some more numbers added to it."""
    added = int.from_bytes(total, "big") + sum(numbers)
    return (added & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(SUM_BYTES, "big")


def selects(ending: str) -> dict[type, str]:
    """Return the statement that reads the rows of each kind."""
    return {kind: f"SELECT {', '.join(_columns(kind))} FROM {table} {ending}" for kind, table in TABLES.items()}  # noqa: S608  our names


def upserts(mark: str) -> dict[type, str]:
    """Return the statement that writes a row of each kind; `mark` stands for a value in this database."""
    statements = {}
    for kind, table in TABLES.items():
        names = _columns(kind)
        marks = ", ".join([mark] * len(names))
        changes = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
        insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608  our names
        statements[kind] = f"{insert} ON CONFLICT (number) DO UPDATE SET {changes}"  # nosec B608  our names
    return statements


def _columns(kind: type) -> tuple[str, ...]:
    return (*kind._fields, "seal")  # type: ignore[attr-defined]  # NamedTuples all


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
        """Return `count` numbers for the low bits of slots that no other body of the group has, or will have."""
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
