"""TAP (Alg. 3 of the paper): the target-aligning prefix tree, and its phase I, the shared trie (Alg. 2, STC)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from treetop.encoding.bit_strings import Codes, root_prefix
from treetop.mechanisms.dialogue import (
    AskParties,
    Dialogue,
    DivideUsers,
    Findings,
    HearServer,
    Member,
    Roster,
    TellServer,
    ask,
)
from treetop.mechanisms.level_steps import TrieMechanism, TrieParameters, estimate, extension_factor, keep
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.notes import Notes
from treetop.mechanisms.parameters import choice, number, setting, yes_or_no
from treetop.mechanisms.wire.tap import TapWire
from treetop.trie.adaptive_extension import (
    DriftRange,
    Extension,
    ExtensionRule,
    extension_number,
    fixed_extension,
)
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group, GroupSizes, floor_of_share, two_phase_groups


@dataclass(frozen=True)
class TapParameters(TrieParameters):
    """Two phases, and levels that keep as many prefixes as the estimates call for."""

    shared_share: float = setting(
        0.25,
        "g_s / g",
        "Share of the levels that belong to the shared shallow trie.",
        number("a number from 0 to below 1", lambda share: 0 <= share < 1),
    )
    phase_one_share: float = setting(
        0.1,
        "",
        "Share of a party's users who answer in phase I.",
        number("a number above 0 and below 1", lambda share: 0 < share < 1),
    )
    extension: Extension = setting(
        "floor",
        "t",
        "How many prefixes a level keeps: max(k, k* + eta), k* + eta, k* + k, or factor k.",
        choice("floor", "printed", "worst_case", "fixed"),
    )
    extension_factor: float = extension_factor()
    drift_range: DriftRange = setting(
        "positive", "x", "Range of x in Eq. 10: from 1, or as printed.", choice("positive", "printed")
    )
    shared_trie: bool = setting(
        True, "C_{g_s}", "Whether parties go on from the shared trie or each from its own.", yes_or_no()
    )

    @cached_property
    def shared_levels(self) -> int:
        """Return g_s = floor(0.25 g); below 4 levels there is no phase I."""
        return floor_of_share(self.shared_share, self.levels)

    @property
    def is_shared(self) -> bool:
        """Return whether parties upload level g_s and hear C_{g_s}: not without phase I, nor in the ablation."""
        return self.shared_trie and self.shared_levels > 0

    @cached_property
    def extension_rule(self) -> ExtensionRule:
        """Return how many prefixes a level keeps."""
        return ExtensionRule(self.extension, self.extension_factor, self.drift_range)


def shallow_trie(parameters: TapParameters, party: Member) -> Dialogue[Codes]:
    """Run by a party: levels 1 .. g_s; upload the kept prefixes with a positive estimate, return all kept."""
    lengths = parameters.lengths
    C = root_prefix(parameters.bits)
    for h in range(1, parameters.shared_levels + 1):
        domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
        ranked = yield from estimate(parameters, party, Group(h), domain)
        kept = yield from keep_adaptively(parameters, h, ranked)
        C = kept.candidates
    if parameters.is_shared:
        yield from ask(TellServer(kept.positive()))
    return C


def aggregate_shallow_tries(parameters: TapParameters, roster: Roster) -> Dialogue[Codes | None]:
    """Run by the server: C_{g_s}, the top k prefixes of all parties.

    None where nothing is shared or too little was found: each party then goes on from its own level g_s.
    """
    if not parameters.is_shared:
        return None
    uploads = yield from ask(AskParties[Support](dict.fromkeys(roster.names)))
    least = parameters.least_kept
    shared = summed([upload.estimates for upload in uploads.values()]).top(max(parameters.k, least)).prefixes
    return shared if len(shared) >= least else None


def keep_adaptively(parameters: TapParameters, level: int, ranked: Support, note: str = "") -> Dialogue[Support]:
    """Run by the party: C_h, the t = k* + eta highest estimates by Eqs. 9 and 10."""
    t = extension_number(ranked.frequencies, parameters.k, ranked.sigma, parameters.extension_rule)
    return (yield from keep(parameters, level, ranked, t, note))


def tap_groups(parameters: TapParameters, party: Member) -> GroupSizes:
    """Return the sizes of the g groups that a party divides its users into."""
    return two_phase_groups(party.users, parameters.levels, parameters.shared_levels, parameters.phase_one_share)


T = TypeVar("T", bound=TapParameters)


class SharedTrieMechanism(TrieMechanism[T]):
    """A mechanism of two phases, the first of which grows the shallow trie."""

    def levels(self, parameters: T) -> Levels:
        """Return levels that keep k* + eta prefixes, which 2k is not exceeded by, or the fixed extension."""
        kept = max(2 * parameters.k, parameters.least_kept, fixed_extension(parameters.k, parameters.extension_factor))
        return Levels.growing(parameters.lengths, kept)


class Tap(SharedTrieMechanism[TapParameters]):
    """The two dialogues of Alg. 3."""

    name = "tap"
    parameters = TapParameters
    wire = TapWire()
    notes = Notes(shares=True)

    def party(self, parameters: TapParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: both phases, every extension adaptive."""
        g = parameters.levels
        g_s = parameters.shared_levels
        lengths = parameters.lengths
        yield from ask(DivideUsers(tap_groups(parameters, party), parameters.independent))
        own = yield from shallow_trie(parameters, party)  # phase I
        shared = yield from ask(HearServer[Codes | None]())
        C = own if shared is None else shared
        for h in range(g_s + 1, g + 1):  # phase II
            domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
            ranked = yield from estimate(parameters, party, Group(h), domain)
            kept = yield from keep_adaptively(parameters, h, ranked)
            C = kept.candidates
        return Findings(kept.positive())

    def server(self, parameters: TapParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: broadcast C_{g_s}, then add up the local heavy hitters."""
        shared = yield from aggregate_shallow_tries(parameters, roster)
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, shared)))
        return summed([found.estimates for found in findings.values()]).top(parameters.k)
