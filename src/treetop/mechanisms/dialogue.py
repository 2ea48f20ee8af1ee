"""A mechanism is a dialogue: a generator that yields a request and receives its answer.

It knows nothing of who answers. The simulators draw answers from a population in memory; a deployment sends messages
and writes every answer down before going on. Here stand who takes part, and all that can be asked.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Counts, FrequencyOracle, Tally
from treetop.trie.quantised_counts import COUNT_BITS
from treetop.trie.support import CandidateDomain, Estimates, Support
from treetop.trie.user_groups import Group, GroupSizes

Answer = TypeVar("Answer")
Result = TypeVar("Result")
Message = TypeVar("Message")


class Request(Generic[Answer]):
    """A question whose answer has a type."""


Dialogue = Generator[Request[Any], Any, Result]


def ask(request: Request[Answer]) -> Dialogue[Answer]:
    """Yield a request and return its answer, typed."""
    return cast(Answer, (yield request))


@dataclass(frozen=True)
class Member:
    """One party P_i with |U^i| users."""

    name: str
    users: int


@dataclass(frozen=True)
class Roster:
    """The parties in the order P^R of TAPS: falling number of users, equal ones by name."""

    members: tuple[Member, ...]

    @classmethod
    def of(cls, members: Iterable[Member]) -> "Roster":
        """Sort the parties; refuse an empty federation."""
        ordered = tuple(sorted(members, key=lambda member: (-member.users, member.name)))
        if not ordered:
            raise InvalidInput("federation_empty")
        return cls(ordered)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the parties' names in order."""
        return tuple(member.name for member in self.members)

    @property
    def all_users(self) -> int:
        """Return the users of all parties together."""
        return sum(member.users for member in self.members)

    def previous(self, member: Member) -> Member | None:
        """Return P_{i-1}, or None for the first party."""
        index = self.members.index(member)
        return self.members[index - 1] if index else None

    def is_last(self, member: Member) -> bool:
        """Return whether no party follows."""
        return member == self.members[-1]


class Upload(Protocol):
    """What a party sends to the server."""

    @property
    def bits(self) -> int:
        """Return its length as the paper counts it: prefixes, and 32 bits for each count."""
        ...


UploadKind = TypeVar("UploadKind", bound=Upload)


@dataclass(frozen=True)
class DivideUsers(Request[None]):
    """Party to its devices: put every user into exactly one group, whatever she holds."""

    sizes: GroupSizes
    independent: bool = False
    """Every user draws her own group with the sizes as weights, instead of sizes that come out exactly."""


@dataclass(frozen=True)
class DrawGroup(Request[None]):
    """Party to its devices not asked yet: each join this group with this probability, whatever you hold."""

    group: Group
    share: float


@dataclass(frozen=True)
class CollectReports(Request[Tally]):
    """Party to the devices of one group: report your prefix through this oracle."""

    group: Group
    domain: CandidateDomain
    oracle: FrequencyOracle[Any]
    above: tuple[int, Codes] | None = None
    """Length and prefixes that the candidates descend from, where that is not the level before."""


class NameReports(Protocol):
    """What the reports of a party's users say of every name there can be; asked twice, it says the same twice."""

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the reports of every kind: whole names first, then every chunk of a text."""
        ...

    def support(self, names: Codes) -> Counts:
        """Return how many reports of whole names support each of some."""
        ...

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:
        """Return all other names that so many reports of whole names support, ascending, and their support."""
        ...

    def chunk_support(self, names: Codes, chunk: int) -> Counts:
        """Return for each name how many reports of a chunk support each of its 256 values behind that name."""
        ...

    def text_support(self, names: Codes, chunks: NDArray[np.uint8]) -> Counts:
        """Return how many reports of all kinds support each of some texts: their names, and their chunks in rows."""
        ...


@dataclass(frozen=True)
class CollectNames(Request[NameReports]):
    """Party to all its devices: draw a kind by these weights, and report your name, or a chunk of its text."""

    bits: int
    oracle: FrequencyOracle[Any]
    weights: tuple[float, ...] = (1.0,)
    """Of whole names, then of every chunk."""


@dataclass(frozen=True)
class TellServer(Request[None]):
    """Party to server: a partial result."""

    upload: Upload


@dataclass(frozen=True)
class HearServer(Request[Message], Generic[Message]):
    """Party: wait for what the server says next."""


@dataclass(frozen=True)
class AskParties(Request[dict[str, UploadKind]], Generic[UploadKind]):
    """Server to some parties: here is a message for each of you, answer with your next upload.

    A party that has left the federation is missing in the answer.
    """

    messages: Mapping[str, object]


def driven(server: Dialogue[Result], answer: Callable[[Mapping[str, object]], Mapping[str, Upload]]) -> Result:
    """Run a server's dialogue to its result; `answer` takes a message for each party and returns their uploads."""
    uploads: Mapping[str, Upload] | None = None
    while True:
        try:
            request = server.send(uploads)
        except StopIteration as end:
            return cast(Result, end.value)
        if not isinstance(request, AskParties):
            raise AssertionError(f"a server cannot ask {request}")
        uploads = answer(request.messages)


@dataclass(frozen=True)
class LevelTrace:
    """What happened at one level of one party, for whoever wants to know why."""

    level: int
    length: int
    candidates: int
    reports: int
    oracle: str
    kept: int
    note: str = ""


@dataclass(frozen=True)
class Record(Request[None]):
    """Party to its own log."""

    trace: LevelTrace


@dataclass(frozen=True)
class Findings:
    """A party's last upload: its heavy hitters, or its counts of the prefixes that the server asked for."""

    heavy_hitters: Support
    asked_for: bool = False
    """Whether the server named the prefixes, so that the counts alone are sent."""
    local: Codes | None = None
    """The party's own top k where it uploads counts of others; it stays with the party."""

    @property
    def local_top(self) -> Codes:
        """Return the party's own items, the most frequent one first."""
        return self.heavy_hitters.candidates if self.local is None else self.local

    @property
    def estimates(self) -> Estimates:
        """Return the counts of all prefixes that are sent, with their errors."""
        return self.heavy_hitters.estimates

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return len(self.heavy_hitters) * COUNT_BITS if self.asked_for else self.heavy_hitters.bits
