"""TAPS (Alg. 4 of the paper): TAP with consensus-based pruning, one party after the other."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treetop.encoding.bit_strings import Codes, root_prefix
from treetop.mechanisms.deployment import TapsDeployment
from treetop.mechanisms.dialogue import AskParties, Dialogue, DivideUsers, Findings, HearServer, Member, Roster, ask
from treetop.mechanisms.level_steps import estimate
from treetop.mechanisms.notes import TapsNotes
from treetop.mechanisms.parameters import number, setting, yes_or_no
from treetop.mechanisms.tap import (
    SharedTrieMechanism,
    TapParameters,
    aggregate_shallow_tries,
    keep_adaptively,
    shallow_trie,
    tap_groups,
)
from treetop.mechanisms.wire.taps import Continue, PruningFindings, TapsWire
from treetop.trie.consensus_pruning import (
    PruningCandidates,
    ascending,
    by_contrast,
    consensus,
    pruned_domain,
)
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import VALIDATING, Group, GroupSizes, with_validation_sets


@dataclass(frozen=True)
class TapsParameters(TapParameters):
    """TAP, with levels that are pruned."""

    beta: float = setting(
        0.1,
        "beta",
        "Share of a pruned level's users in each of the two validation sets.",
        number("a number above 0 and at most 0.25", lambda share: 0 < share <= 0.25),
    )
    pruning: bool = setting(True, "", "Whether TAPS prunes; without it, it is TAP.", yes_or_no())

    @cached_property
    def pruned_levels(self) -> tuple[int, ...]:
        """Return g_s + 1 .. 2 g_s and g - g_s .. g (Alg. 4, line 7)."""
        g = self.levels
        g_s = self.shared_levels
        first, last = range(g_s + 1, 2 * g_s + 1), range(g - g_s, g + 1)
        return tuple(h for h in range(g_s + 1, g + 1) if h in first or h in last)


class Taps(SharedTrieMechanism[TapsParameters]):
    """The two dialogues of Alg. 4."""

    name = "taps"
    parameters = TapsParameters
    wire = TapsWire()
    deployment = TapsDeployment(prunes=True)
    notes = TapsNotes(shares=True)

    def party(self, parameters: TapsParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by party P_i: both phases, pruning with what P_{i-1} found and P_i validates."""
        g = parameters.levels
        g_s = parameters.shared_levels
        lengths = parameters.lengths
        yield from ask(DivideUsers(taps_groups(parameters, roster, party), parameters.independent))
        own = yield from shallow_trie(parameters, party)  # phase I
        heard = yield from ask(HearServer[Continue]())
        C = own if heard.shared is None else heard.shared
        above = (0, root_prefix(parameters.bits)) if heard.shared is None else (lengths[g_s], heard.shared)
        gamma = author_penalty(roster, heard.author)
        D: dict[int, PruningCandidates] = {}
        for h in range(g_s + 1, g + 1):  # phase II
            domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
            note = ""
            if h in heard.D:
                domain, note = yield from prune(parameters, party, h, domain, heard.D[h], gamma=gamma, above=above)
            ranked = yield from estimate(parameters, party, Group(h), domain)
            if parameters.pruning and h in parameters.pruned_levels and not roster.is_last(party):
                D[h] = PruningCandidates.of(ranked, parameters.k)
            kept = yield from keep_adaptively(parameters, h, ranked, note)
            C = kept.candidates
        return PruningFindings(kept.positive(), D=D)

    def server(self, parameters: TapsParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: hand every party's D_i to the next, then add up the local heavy hitters."""
        shared = yield from aggregate_shallow_tries(parameters, roster)
        findings: dict[str, PruningFindings] = {}
        message = Continue(shared)
        for name in roster.names:  # P^R: falling number of users
            answer = yield from ask(AskParties[PruningFindings]({name: message}))
            if name in answer:
                findings |= answer
                message = Continue(shared, answer[name].D, name)
        return summed([found.estimates for found in findings.values()]).top(parameters.k)


def taps_groups(parameters: TapsParameters, roster: Roster, party: Member) -> GroupSizes:
    """Return the groups of TAP; every party but the first also has two validation sets per pruned level."""
    groups = tap_groups(parameters, party)
    if not parameters.pruning or roster.previous(party) is None:
        return groups
    return with_validation_sets(groups, parameters.pruned_levels, parameters.beta)


def author_penalty(roster: Roster, author: str | None) -> float:
    """Return gamma = (1 - |U^{i-1}| / sum |U^j|)^2: the less the party before counts, the larger."""
    users = sum(member.users for member in roster.members if member.name == author)
    return (1 - users / roster.all_users) ** 2


def prune(
    parameters: TapsParameters,
    party: Member,
    h: int,
    domain: CandidateDomain,
    lists: PruningCandidates,
    *,
    gamma: float,
    above: tuple[int, Codes],
) -> Dialogue[tuple[CandidateDomain, str]]:
    """Run by party P_i: Lambda_h without the prefixes that P_{i-1} and two validation sets rule out."""
    validated: list[Support] = []
    for role, prefixes in zip(VALIDATING, (lists.infrequent, lists.frequent), strict=True):
        listed = CandidateDomain(lists.length, np.sort(prefixes))
        validated.append((yield from estimate(parameters, party, Group(h, role), listed, above)))
    validated_0, validated_1 = validated
    if not (validated_0.reports and validated_1.reports):
        return domain, "not pruned: a validation set has no reports"
    k = parameters.k
    epsilon = parameters.epsilon
    infrequent = consensus(lists.infrequent, ascending(validated_0), k, epsilon, gamma)
    contrasting = consensus(by_contrast(lists, validated_1), ascending(validated_1), k, epsilon, gamma)
    least = 2 << (domain.length - parameters.lengths[h - 1])  # d_min = 2 * 2^step
    remaining, pruned = pruned_domain(domain, infrequent, contrasting, least)
    if not pruned:
        return domain, f"not pruned: fewer than {least} candidates would be left"
    return remaining, f"{len(domain) - len(remaining)} candidates pruned"
