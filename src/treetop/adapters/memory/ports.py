"""Ports that last as long as the process: the channel between a server and a party, a journal, a device's ledger."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Protocol

from treetop.errors import PartyUnreachable


class TaskParty(Protocol):
    """What a party does for the server: `PartyQuery` for one task."""

    def tell(self, number: int, message: bytes) -> None:
        """Keep a message."""
        ...

    def outcome(self, number: int) -> bytes | None:
        """Return what came of it."""
        ...

    def work(self) -> bool:
        """Do the next message."""
        ...


class PartySide(Protocol):
    """A party that takes signed tasks and has a query for each."""

    def install(self, document: bytes) -> None:
        """Take up a task."""
        ...

    def give_list(self, task: bytes, document: bytes) -> None:
        """Take the list that a task names."""
        ...

    def give_campaign(self, task: bytes, document: bytes) -> None:
        """Take the campaign that a task is a week of."""
        ...

    def query(self, task: bytes) -> TaskParty:
        """Return the query of a task that was installed."""
        ...


class MemoryChannel:
    """Hands messages over and, without threads, lets the party work whenever the server asks for an outcome."""

    def __init__(self, name: str, party: PartySide) -> None:
        self._name = name
        self._party = party
        self.reachable = True

    def install(self, document: bytes) -> None:
        """Give the party a signed task."""
        self._reached().install(document)

    def give_list(self, task: bytes, document: bytes) -> None:
        """Give the party the list that a task names."""
        self._reached().give_list(task, document)

    def give_campaign(self, task: bytes, document: bytes) -> None:
        """Give the party the campaign that a task is a week of."""
        self._reached().give_campaign(task, document)

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        """Hand over a message."""
        self._reached().query(task).tell(number, message)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        """Return what came of a message, after a turn of the party's work."""
        query = self._reached().query(task)
        query.work()
        return query.outcome(number)

    def close(self) -> None:
        """Nothing is held open within one process."""

    def _reached(self) -> PartySide:
        if not self.reachable:
            raise PartyUnreachable(self._name, "it is switched off")
        return self._party


class MemoryJournal:
    """The `Journal` of a federation inside one process."""

    def __init__(self) -> None:
        self._books: dict[str, dict[str, bytes]] = {}
        self._turn = Lock()

    def write(self, book: str, entry: str, content: bytes) -> bytes:
        """Keep an entry and return it; if it is there already, return what is there."""
        with self._turn:
            return self._books.setdefault(book, {}).setdefault(entry, content)

    def read(self, book: str) -> Mapping[str, bytes]:
        """Return the entries of a book in the order they were written."""
        with self._turn:
            return dict(self._books.get(book, {}))

    def get(self, book: str, entry: str) -> bytes | None:
        """Return one entry, or None."""
        with self._turn:
            return self._books.get(book, {}).get(entry)

    def books(self) -> Sequence[str]:
        """Return the names of all books, oldest first."""
        with self._turn:
            return list(self._books)

    def close(self) -> None:
        """Do nothing: there are no files to close."""


class MemoryLedger:
    """The ledger of a simulated device."""

    def __init__(self, ledger: bytes | None = None) -> None:
        self.ledger = ledger

    def load(self) -> bytes | None:
        """Return what was last stored, or None on a new device."""
        return self.ledger

    def replace(self, ledger: bytes) -> None:
        """Store all of it."""
        self.ledger = ledger


class MemoryCounter:
    """The remembered counter of a simulated device."""

    def __init__(self, counter: int = 0) -> None:
        self.counter = counter

    def read(self) -> int:
        """Return the highest number stored."""
        return self.counter

    def advance(self, counter: int) -> None:
        """Store a higher number."""
        self.counter = counter
