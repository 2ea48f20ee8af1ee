"""A channel within one process: the server calls the party directly."""

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

    def query(self, task: bytes) -> TaskParty:
        """Return the query of a task that was installed."""
        ...


class MemoryChannel:
    """Hands messages over and, without threads, lets the party work whenever the server asks for an outcome."""

    def __init__(self, name: str, party: PartySide) -> None:
        self._name, self._party = name, party
        self.reachable = True

    def install(self, document: bytes) -> None:
        """Give the party a signed task."""
        self._reached().install(document)

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
