"""TAPS (Alg. 4 of the paper): TAP with consensus-based pruning, one party after the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.level_steps import estimate, keep_adaptively
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import AskParties, DivideUsers, Findings, HearServer
from treetop.mechanisms.roster import Member, Roster
from treetop.mechanisms.shared_trie import aggregate_shallow_tries, shallow_trie
from treetop.mechanisms.tap import tap_groups
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.consensus_pruning import (
    PruningCandidates,
    ascending,
    by_contrast,
    consensus,
    pruned_domain,
)
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, summed
from treetop.trie.level_estimates import LevelEstimates
from treetop.trie.user_groups import Group, GroupSizes, Role, with_validation_sets


@dataclass(frozen=True)
class Continue:
    """Server to P_i: the shared trie, and the dictionary D_{i-1} of the party before.

    Where that party is missing, the last one that answered is the author.
    """

    shared: Codes | None
    D: Mapping[int, PruningCandidates] = field(default_factory=dict)
    author: str | None = None


def taps_groups(parameters: Parameters, roster: Roster, party: Member) -> GroupSizes:
    """Return the groups of TAP; every party but the first also has two validation sets per pruned level."""
    groups = tap_groups(parameters, party)
    if not parameters.pruning or roster.previous(party) is None:
        return groups
    return with_validation_sets(groups, parameters.pruned_levels, parameters.beta)


def taps_party(parameters: Parameters, roster: Roster, party: Member) -> Dialogue[Findings]:
    """Run by party P_i: both phases, pruning with what P_{i-1} found and P_i validates."""
    k, g, g_s, lengths = parameters.k, parameters.levels, parameters.shared_levels, parameters.lengths
    yield from ask(DivideUsers(taps_groups(parameters, roster, party), parameters.independent))
    own = yield from shallow_trie(parameters, party)  # phase I
    heard = yield from ask(HearServer[Continue]())
    C = own if heard.shared is None else heard.shared
    gamma = author_penalty(roster, heard.author)
    D: dict[int, PruningCandidates] = {}
    for h in range(g_s + 1, g + 1):  # phase II
        domain, note = CandidateDomain.extending(C, lengths[h - 1], lengths[h]), ""
        if h in heard.D:
            domain, note = yield from prune(parameters, gamma, h, domain, heard.D[h])
        estimates = yield from estimate(parameters, Group(h), domain)
        if parameters.pruning and h in parameters.pruned_levels and not roster.is_last(party):
            D[h] = PruningCandidates.of(estimates, k)
        kept = yield from keep_adaptively(parameters, h, estimates, note)
        C = kept.prefixes
    return Findings(CountedPrefixes.of(kept.positive(), party.users), D)


def author_penalty(roster: Roster, author: str | None) -> float:
    """Return gamma = (1 - |U^{i-1}| / sum |U^j|)^2: the less the party before counts, the larger."""
    users = sum(member.users for member in roster.members if member.name == author)
    return (1 - users / roster.all_users) ** 2


def prune(
    parameters: Parameters, gamma: float, h: int, domain: CandidateDomain, told: PruningCandidates
) -> Dialogue[tuple[CandidateDomain, str]]:
    """Run by party P_i: Lambda_h without the prefixes that P_{i-1} and two validation sets rule out."""
    validated_0 = yield from validate(parameters, Group(h, Role.VALIDATE_INFREQUENT), told.length, told.infrequent)
    validated_1 = yield from validate(parameters, Group(h, Role.VALIDATE_FREQUENT), told.length, told.frequent)
    if not (validated_0.reports and validated_1.reports):
        return domain, "not pruned: a validation set has no reports"
    k, epsilon = parameters.k, parameters.epsilon
    infrequent = consensus(told.infrequent, ascending(validated_0), k, epsilon, gamma)
    contrasting = consensus(by_contrast(told, validated_1), ascending(validated_1), k, epsilon, gamma)
    least = 2 << (domain.length - parameters.lengths[h - 1])  # d_min = 2 * 2^step
    remaining, pruned = pruned_domain(domain, infrequent, contrasting, least)
    if not pruned:
        return domain, f"not pruned: fewer than {least} candidates would be left"
    return remaining, f"{len(domain) - len(remaining)} candidates pruned"


def validate(parameters: Parameters, group: Group, length: int, prefixes: Codes) -> Dialogue[LevelEstimates]:
    """Run by party P_i: estimate the prefixes that P_{i-1} named with a validation set of its own."""
    return (yield from estimate(parameters, group, CandidateDomain(length, np.sort(prefixes))))


def taps_server(parameters: Parameters, roster: Roster) -> Dialogue[GlobalRanking]:
    """Run by the server: hand every party's D_i to the next, then add up the local heavy hitters."""
    shared = yield from aggregate_shallow_tries(parameters, roster)
    findings: dict[str, Findings] = {}
    told = Continue(shared)
    for name in roster.names:  # P^R: falling number of users
        answer = yield from ask(AskParties[Findings]({name: told}))
        if name in answer:
            findings |= answer
            told = Continue(shared, answer[name].pruning, name)
    return summed([found.heavy_hitters for found in findings.values()]).top(parameters.k)
