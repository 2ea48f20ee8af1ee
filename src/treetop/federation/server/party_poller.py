"""Run by the server: numbered messages to all parties, which are polled; every outcome is journaled before use."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from treetop.errors import InvalidInput, PartyUnreachable, PeerViolation, QueryFailed, UnknownName
from treetop.federation.documents import canonical_json
from treetop.federation.protocol import PartyReply, ServerMessage
from treetop.federation.service_ports import Channel, Journal, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.public_text import visible

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 1.0
"""Seconds between two rounds of polling: longer while nothing happens."""


@dataclass(frozen=True)
class MissingPolicy:
    """What becomes of parties that do not answer, or break the protocol."""

    missing: Literal["wait", "proceed"] = "wait"
    """`wait`: the query fails by name and may be resumed later; `proceed`: it goes on without them."""
    patience: float = 600.0
    """Seconds without a word, or at work beyond what the step may take, before a party counts as missing."""

    def __post_init__(self) -> None:
        if self.missing not in {"wait", "proceed"}:
            raise UnknownName("policy", self.missing, ("wait", "proceed"))
        if not self.patience > 0:
            raise InvalidInput("patience_invalid", patience=self.patience)


@dataclass(frozen=True)
class Progress:
    """Something happened in a query."""

    party: str
    step: str
    """The kind of an outcome, or `left out`."""
    outcome: PartyReply | None = None
    reason: str = ""


@dataclass
class PendingReply:
    """One party and the message that it owes an outcome to."""

    party: str
    message: ServerMessage
    number: int
    heard: float
    """When it last gave a sign of life."""
    until: float
    """When this step should be over."""
    asked: float = 0.0
    """When it was last asked, and had answered or not."""
    told: bool = False
    silence: str = "it is still at work"


Heard = bytes | PartyUnreachable | PeerViolation | None
"""What asking a party came to: an outcome, why there is none, or nothing yet."""
AskAll = Callable[[Callable[[PendingReply], Heard], Sequence[PendingReply]], Iterable[Heard]]
"""Asks all parties, one by one (`map`) or several at a time; what was heard is in the order of the parties."""
Reader = Callable[[str, PartyReply], ServerMessage | None]
"""Takes in an outcome of a kind and with parts that its message allows, or refuses it.

It returns the next message if the party owes more.
"""


class PartyPoller:
    """All parties of one task. Outcomes of parties that answered before a crash come from the journal."""

    def __init__(
        self,
        task: DeviceTask,
        journal: Journal,
        channels: Mapping[str, Channel],
        clock: ServiceClock,
        *,
        document: bytes,
        policy: MissingPolicy,
        ask_all: AskAll = map,
        progress: Callable[[Progress], None] = lambda _: None,
        listed: bytes | None = None,
        campaign: bytes | None = None,
    ) -> None:
        self._task = task
        self._document = document
        self._journal = journal
        self._channels = channels
        self._listed = listed
        self._campaign = campaign
        self._clock = clock
        self._policy = policy
        self._ask_all = ask_all
        self._progress = progress
        self._book = f"server:{task.digest.hex()}"
        self._entries = dict(journal.read(self._book))
        self._numbers = dict.fromkeys(task.parties, 0)
        self._decided = {
            entry.removeprefix("left:"): visible(str(json.loads(content)))
            for entry, content in self._entries.items()
            if entry.startswith("left:")
        }
        self.left: dict[str, str] = {}
        """Who takes part no longer, and why."""

    def exchange(self, messages: Mapping[str, ServerMessage], read: Reader) -> None:
        """Tell each party its message and take in what comes back, until everybody has answered or is left out."""
        lines = [self._line(party, message) for party, message in messages.items() if party not in self.left]
        waiting = [line for line in lines if self._replayed(line, read)]
        pause = FIRST_PAUSE
        while waiting:
            heard = self._ask_all(self._asked, waiting)
            still = [line for line, said in zip(waiting, heard, strict=True) if self._owes(line, said, read)]
            moved = len(still) < len(waiting) or any(not line.told for line in still)
            pause = FIRST_PAUSE if moved else min(pause * 1.5, LONGEST_PAUSE)
            waiting = [line for line in still if not self._given_up(line)]
            self._refuse_waiting_for(waiting)
            if waiting:
                self._clock.sleep(pause)

    def leave_out(self, party: str, reason: str) -> None:
        """Go on without a party, for a reason that the journal knows."""
        self.left[party] = reason
        self._progress(Progress(party, "left out", reason=reason))

    def _line(self, party: str, message: ServerMessage) -> PendingReply:
        now = self._clock.monotonic()
        number = self._numbers[party] = self._numbers[party] + 1
        return PendingReply(party, message, number, now, now + self._allowance(message))

    def _next(self, line: PendingReply, message: ServerMessage) -> None:
        fresh = self._line(line.party, message)
        line.message = message
        line.number = fresh.number
        line.heard = fresh.heard
        line.until = fresh.until
        line.told = False

    def _allowance(self, message: ServerMessage) -> float:
        """Return the seconds that a step may take for reasons of its own: a deadline, or a list that is open."""
        deadlines = self._task.deadlines
        if message.kind == "close":
            end = deadlines.reports if self._task.one_shot else deadlines.enrolment
            return float(max(0, end - self._clock.now()))
        return float(deadlines.level_seconds) if message.kind == "publish" else 0.0

    def _replayed(self, line: PendingReply, read: Reader) -> bool:
        """Take in what the journal has of a line; return whether the party must be asked."""
        while (kept := self._entries.get(f"outcome:{line.party}:{line.number}")) is not None:
            if not self._taken(line, PartyReply.from_bytes(kept), read):
                return False
        if line.party in self._decided:
            self.leave_out(line.party, self._decided[line.party])
            return False
        return True

    def _owes(self, line: PendingReply, said: Heard, read: Reader) -> bool:
        """Take in what a party said; return whether it still owes something."""
        if isinstance(said, PeerViolation):
            self._give_up(line.party, f"broke the protocol: {said}")
            return False
        line.silence = said.reason if isinstance(said, PartyUnreachable) else "it is still at work"
        return not isinstance(said, bytes) or self._received(line, said, read)

    def _asked(self, line: PendingReply) -> Heard:
        """Ask a party once; other parties may be asked at the same time, so this touches its own line alone."""
        try:
            said = self._outcome(line)
        except (PartyUnreachable, PeerViolation) as error:
            line.asked = self._clock.monotonic()
            return error
        line.heard = line.asked = self._clock.monotonic()
        return said

    def _outcome(self, line: PendingReply) -> bytes | None:
        channel = self._channels[line.party]
        task = self._task.digest
        if not line.told:
            if line.number == 1:
                channel.install(self._document)
                if self._listed is not None:
                    channel.give_list(task, self._listed)
                if self._campaign is not None:
                    channel.give_campaign(task, self._campaign)
            channel.tell(task, line.number, line.message.to_bytes())
            line.told = True
            line.until = self._clock.monotonic() + self._allowance(line.message)
        return channel.outcome(task, line.number)

    def _received(self, line: PendingReply, data: bytes, read: Reader) -> bool:
        """Check an outcome, journal it, and only then use it; return whether the party owes another."""
        entry = f"outcome:{line.party}:{line.number}"
        try:
            outcome = PartyReply.from_bytes(data)
            outcome.parts_to(line.message.kind, one_shot=self._task.one_shot)
            following = read(line.party, outcome)
        except PeerViolation as error:
            self._give_up(line.party, f"broke the protocol: {error}")
            return False
        self._write(entry, data)
        return self._go_on(line, outcome, following)

    def _taken(self, line: PendingReply, outcome: PartyReply, read: Reader) -> bool:
        return self._go_on(line, outcome, read(line.party, outcome))

    def _go_on(self, line: PendingReply, outcome: PartyReply, following: ServerMessage | None) -> bool:
        self._progress(Progress(line.party, outcome.kind, outcome))
        if outcome.kind == "withdrawn":
            self.leave_out(line.party, f"withdrew: {outcome.content['reason']}")
        if following is not None:
            self._next(line, following)
        return following is not None

    def _given_up(self, line: PendingReply) -> bool:
        """Leave a party out that is silent or at work for too long, where the policy is to proceed."""
        if self._policy.missing == "wait" or not self._overdue(line):
            return False
        self._give_up(line.party, f"did not answer: {line.silence}")
        return True

    def _overdue(self, line: PendingReply) -> bool:
        """Return whether a party was late when it was last asked; that asking another took long is not its fault."""
        return line.asked - min(line.heard, line.until) > self._policy.patience

    def _refuse_waiting_for(self, waiting: list[PendingReply]) -> None:
        """Fail if the policy is to wait and nobody that is waited for will answer soon."""
        if waiting and self._policy.missing == "wait" and all(map(self._overdue, waiting)):
            silent = ", ".join(f"{line.party!r} ({line.silence})" for line in waiting)
            raise QueryFailed("parties_silent", silent=silent)

    def _give_up(self, party: str, reason: str) -> None:
        if self._policy.missing == "wait":
            raise QueryFailed("party_failed", party=party, reason=reason)
        self._write(f"left:{party}", canonical_json(reason))
        self.leave_out(party, reason)

    def _write(self, entry: str, content: bytes) -> bytes:
        kept = self._entries[entry] = self._journal.write(self._book, entry, content)
        return kept

    def kept(self, entry: str, compute: Callable[[], bytes]) -> bytes:
        """Return an entry of the query's book, made and journaled at its first use."""
        return self._entries[entry] if entry in self._entries else self._write(entry, compute())

    def has_heard(self, party: str) -> bool:
        """Return whether a reply of a party has been taken before."""
        return self.has(f"outcome:{party}:1")

    def has(self, entry: str) -> bool:
        """Return whether the book has an entry."""
        return entry in self._entries
