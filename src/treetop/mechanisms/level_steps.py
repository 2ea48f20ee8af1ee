"""What the paper's mechanisms share: a trie of g levels, and Estimate of Alg. 2, the step that every level repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from treetop.encoding.bit_strings import LONGEST, Codes, level_lengths
from treetop.mechanisms.dialogue import CollectReports, Dialogue, LevelTrace, Member, Record, ask
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.parameters import Parameters, choice, number, setting, whole_number
from treetop.mechanisms.protocol import Mechanism
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group


def least_kept() -> Any:
    """Declare a setting that mechanisms with candidate lists have."""
    return setting(
        1,
        "",
        "Prefixes that a level keeps at least; devices that check their candidate lists ask for 2.",
        whole_number(1, 1 << 20),
    )


def extension_factor() -> Any:
    """Declare a setting that FedPEM, TAP and TAPS have."""
    return setting(
        1.0,
        "t / k",
        "Multiple of k that FedPEM and a fixed extension keep.",
        number("a number above 0 and at most 100", lambda factor: 0 < factor <= 100),
    )


@dataclass(frozen=True)
class TrieParameters(Parameters):
    """A trie of g levels over m bits."""

    tiny: ClassVar = {"bits": 8, "levels": 4}

    levels: int = setting(24, "g", "Levels of the trie; the step is m / g bits.", whole_number(1, LONGEST))
    groups: str = setting(
        "fixed",
        "U_h",
        "Groups of exact sizes, or every user draws her own from the same weights.",
        choice("fixed", "independent"),
    )
    least_kept: int = least_kept()

    def __post_init__(self) -> None:
        super().__post_init__()
        level_lengths(self.bits, self.levels)

    def with_settings(self, settings: Mapping[str, object]) -> Self:
        """Return these parameters with some settings changed, each parsed and checked.

        Where a code has fewer bits than there are levels, and these were not asked for, a level is one bit.
        """
        bits = self.settings()["bits"].parse("bits", settings.get("bits", self.bits))
        return super().with_settings({"levels": min(self.levels, bits), **settings})

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Return l_0 .. l_g with l_h = ceil(h m / g)."""
        return level_lengths(self.bits, self.levels)

    @property
    def independent(self) -> bool:
        """Return whether every user draws her own group."""
        return self.groups == "independent"


T = TypeVar("T", bound=TrieParameters)


class TrieMechanism(Mechanism[T]):
    """One of the paper's mechanisms: every party grows a trie of its own."""

    def levels(self, parameters: T) -> Levels:
        """Return levels that keep 2k prefixes at most, which k* + eta does not exceed, or the least asked for."""
        return Levels.growing(parameters.lengths, max(2 * parameters.k, parameters.least_kept))


def estimate(
    parameters: Parameters,
    party: Member,
    group: Group,
    domain: CandidateDomain,
    above: tuple[int, Codes] | None = None,
) -> Dialogue[Support]:
    """Run by the party: each user of the group reports her noisy prefix; rank all of Lambda_h by support."""
    oracle = parameters.oracle_for(len(domain))
    tally = yield from ask(CollectReports(group, domain, oracle, above))
    return Support.of(domain, oracle, tally, party.users).ranked()


def keep(parameters: TrieParameters, level: int, ranked: Support, t: int, note: str = "") -> Dialogue[Support]:
    """Run by the party: the t highest estimates, `least_kept` at least, noted in the trace."""
    kept = ranked.top(max(t, parameters.least_kept))
    trace = LevelTrace(level, ranked.length, len(ranked), ranked.reports, ranked.oracle.name, len(kept), note)
    yield from ask(Record(trace))
    return kept
