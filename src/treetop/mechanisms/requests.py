"""All that can be asked in a dialogue, and what parties and server say to each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Dialogue, Request, Result
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.tallies import Tally
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.consensus_pruning import PruningCandidates
from treetop.trie.global_ranking import CountedPrefixes
from treetop.trie.user_groups import Group, GroupSizes

Message = TypeVar("Message")


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


@dataclass(frozen=True)
class TellServer(Request[None]):
    """Party to server: a partial result."""

    upload: Upload


@dataclass(frozen=True)
class HearServer(Request[Message], Generic[Message]):
    """Party: wait for what the server says next."""


@dataclass(frozen=True)
class AskParties(Request[dict[str, UploadKind]], Generic[UploadKind]):
    """Server to some parties: take this message, each its own, and answer with your next upload.

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
    """A party's last upload: its heavy hitters or its counts of the server's, and in TAPS D_i for the next party."""

    heavy_hitters: CountedPrefixes
    pruning: Mapping[int, PruningCandidates] = field(default_factory=dict)
    outside: CountedPrefixes | None = None
    """With a catalogue: the users whose item is not on it."""
    local: Codes | None = None
    """The party's own top k where it uploads counts of others; it stays with the party."""

    @property
    def local_top(self) -> Codes:
        """Return the party's own items, the most frequent one first."""
        return self.heavy_hitters.prefixes if self.local is None else self.local

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        outside = 0 if self.outside is None else self.outside.bits
        return self.heavy_hitters.bits + sum(told.bits for told in self.pruning.values()) + outside
