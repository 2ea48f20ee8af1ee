"""Run by the party: one query, message by message, over a journal."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from treetop.errors import PeerViolation, StoreUnavailable
from treetop.federation.party.session import Kept, PartySession, SessionSteps
from treetop.federation.protocol import PartyReply, ServerMessage
from treetop.federation.service_ports import Journal, ReportCollection
from treetop.federation.task import DeviceTask
from treetop.mechanisms.strict_json import require


class Turns(Protocol):
    """What the queries of one process share: whose turn it is to count, and who may keep what was counted.

    A port, because roles know no threads: `CountingTurns` has the locks.
    """

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """Return what is held while counting."""
        ...

    def keep(self, query: bytes, forget: Callable[[], None]) -> None:
        """Note that a query keeps what it counted, until it is told to forget it."""
        ...

    def drop(self, query: bytes) -> None:
        """Note that a query keeps nothing any more."""
        ...


class _OwnTurns:
    """Of a query that shares nothing."""

    turn = nullcontext()

    def keep(self, query: bytes, forget: Callable[[], None]) -> None:
        """Keep it."""

    def drop(self, query: bytes) -> None:
        """Forget nothing."""


class PartyQuery:
    """What the server has told this party about a task, and what came of it.

    A message is kept before it is answered, an outcome before it is shown. After a restart the messages are replayed
    into a fresh conversation, which finds in the journal what its devices said. Other processes of the party may take
    messages and show outcomes: what they have written is read before anything is decided.
    """

    def __init__(
        self,
        task: DeviceTask,
        party: str,
        journal: Journal,
        collection: ReportCollection,
        turns: "Turns | None" = None,
    ) -> None:
        self._task = task
        self._party = party
        self._journal = journal
        self._collection = collection
        self._turns = turns or _OwnTurns()
        self._book = f"party:{party}:{task.digest.hex()}"
        self._entries = dict(journal.read(self._book))
        self._session: SessionSteps | None = None

    def tell(self, number: int, message: bytes) -> None:
        """Keep message 1, 2, ...; the next one only once this one has its outcome."""
        ServerMessage.from_bytes(message)
        self._reread()
        known = self._entries.get(f"message:{number}")
        if known is None:
            require(not self.finished, "message", "none after the last outcome", number)
            require(number == self._answered() + 1, "number of a message", self._answered() + 1, number)
            known = self._write(f"message:{number}", message)
        if known != message:
            raise PeerViolation(f"message {number}", "the same bytes as before", "others")

    def outcome(self, number: int) -> bytes | None:
        """Return what came of a message, or None while it is at work."""
        self._reread()
        require(f"message:{number}" in self._entries, "number of a message", "one that was told", number)
        return self._entries.get(f"outcome:{number}")

    def work(self) -> bool:
        """Do the next message and keep its outcome, however long it takes; return False where there is none."""
        before = self._answered()
        self._reread()
        number = self._answered() + 1
        if f"message:{number}" not in self._entries:
            return False
        if number != before + 1:  # another process has answered meanwhile, and may have learned other things
            self._session = None
        counts = self._task.one_shot and number > 1  # the first message, and every one in rounds, waits for devices
        with self._turns.turn if counts else nullcontext():
            session = self._session or self._replayed(number - 1)
            self._session = None
            outcome = session.send(self._message(number))
        self.learn(f"outcome:{number}", outcome.to_bytes())
        if outcome.is_last:
            self._turns.drop(self._key)
        elif counts:
            self._session = session  # it may hold the counts of all names there can be
            self._turns.keep(self._key, self._forget)
        else:
            self._session = session
        return True

    def _forget(self) -> None:
        """Give up what was counted: the next message has the ones before it replayed."""
        self._session = None

    @property
    def _key(self) -> bytes:
        return self._book.encode()

    def _replayed(self, answered: int) -> SessionSteps:
        """Return a conversation that has heard the messages answered before."""
        kept = Kept(self._entries, self.learn)
        session = PartySession(self._task, self._party, self._collection, kept).conversation()
        next(session)
        for number in range(1, answered + 1):
            session.send(self._message(number))
        return session

    def _answered(self) -> int:
        """Return the number of the last message with an outcome."""
        return sum(entry.startswith("outcome:") for entry in list(self._entries))

    @property
    def finished(self) -> bool:
        """Return whether the last outcome is there."""
        last = self._entries.get(f"outcome:{self._answered()}")
        return last is not None and PartyReply.from_bytes(last).is_last

    def _message(self, number: int) -> ServerMessage:
        return ServerMessage.from_bytes(self._entries[f"message:{number}"])

    def learn(self, entry: str, content: bytes) -> None:
        """Keep what came of something; if another process was faster, what it kept is taken up from the journal."""
        if self._write(entry, content) != content:
            raise StoreUnavailable("entry_written_elsewhere", entry=entry)

    def _reread(self) -> None:
        self._entries.update(self._journal.read(self._book))

    def _write(self, entry: str, content: bytes) -> bytes:
        kept = self._entries[entry] = self._journal.write(self._book, entry, content)
        return kept
