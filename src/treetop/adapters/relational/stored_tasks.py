"""Tasks by their digest: which row is whose, and whose store is damaged where one is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from treetop.adapters.relational.states import RowDamaged, StoreState, TaskState, expected, seal_of
from treetop.adapters.relational.tables import Database, Rows
from treetop.errors import StoreDamaged, UnknownName

Item = TypeVar("Item")


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Say of which task (or book) the store is damaged."""
    try:
        yield
    except RowDamaged as damage:
        raise StoreDamaged(", ".join(names) or "unknown", str(damage)) from damage


def naming_each(task: bytes, found: Iterator[Item]) -> Iterator[Item]:
    """Yield what is found; damage on the way names the task."""
    with naming(task.hex()):
        yield from found


def all_tasks(rows: Rows, store: StoreState) -> list[TaskState]:
    """Return every task in the order they were added."""
    states = rows.states(TaskState)
    expected("tasks", store.tasks, len(states))
    return states


def document_of(rows: Rows, state: TaskState) -> bytes:
    """Return a task's document as it was added."""
    document = rows.document(state.number)
    if document is None or seal_of(document) != state.document:
        raise RowDamaged(f"the document of task {state.digest.hex()} was changed")
    return document


class StoredTasks:
    """Begins every transaction of the store, and remembers the numbers of tasks, which never change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[bytes, int] = {}

    @contextmanager
    def rows(self, *tasks: bytes) -> Iterator[Rows]:
        """Begin a transaction about some tasks."""
        with naming(*(task.hex() for task in tasks)), self._database.transaction() as rows:
            yield rows

    @contextmanager
    def one(self, task: bytes) -> Iterator[tuple[Rows, TaskState]]:
        """Begin a transaction about one task, whose row is locked."""
        number = self.number(task)
        with self.rows(task) as rows:
            yield rows, self.locked(rows, number, task)

    def number(self, task: bytes) -> int:
        """Return the number of a task; another process may have added it, so the tables are asked."""
        if task not in self._numbers:
            with self.rows(task) as rows:
                states = all_tasks(rows, rows.state(StoreState, 1))
            self._numbers = {state.digest: state.number for state in states}
        if task not in self._numbers:
            raise UnknownName("task", task.hex(), [known.hex() for known in self._numbers])
        return self._numbers[task]

    @staticmethod
    def locked(rows: Rows, number: int, task: bytes) -> TaskState:
        """Return the row of a task, which nobody else changes until the end of the transaction."""
        state = rows.state(TaskState, number)
        expected("the digest of a task", task.hex(), state.digest.hex())
        return state
