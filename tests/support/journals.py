"""The journal of tests: in memory, and it crashes, fails or waits where a test says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from treetop.adapters.memory.ports import MemoryJournal


class Crash(BaseException):
    """The process is gone."""


class ScriptedJournal(MemoryJournal):
    """Counts its writes; the n-th may crash before or after it is kept, any may fail or wait."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = self._books
        self.writes = 0
        self.crash_at: tuple[int, str] | None = None
        self.failure: Exception | None = None
        self.go_on = Event()
        self.go_on.set()

    def write(self, book: str, entry: str, content: bytes) -> bytes:
        self.writes += 1
        assert self.go_on.wait(60)
        if self.failure:
            raise self.failure
        self._crash("before")
        kept = super().write(book, entry, content)
        self._crash("after")
        return kept

    def _crash(self, moment: str) -> None:
        if self.crash_at == (self.writes, moment):
            self.crash_at = None
            raise Crash(moment)


@contextmanager
def crashing(journal: ScriptedJournal, write: int, moment: str) -> Iterator[None]:
    """Crash at a write, counted from now."""
    journal.crash_at = (journal.writes + write, moment)
    try:
        yield
    finally:
        journal.crash_at = None
