"""TAP (Alg. 3 of the paper): the target-aligning prefix tree."""

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.level_steps import estimate, keep_adaptively
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import AskParties, DivideUsers, Findings, HearServer
from treetop.mechanisms.roster import Member, Roster
from treetop.mechanisms.shared_trie import aggregate_shallow_tries, shallow_trie
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, summed
from treetop.trie.user_groups import Group, GroupSizes, two_phase_groups


def tap_groups(parameters: Parameters, party: Member) -> GroupSizes:
    """Return the sizes of the g groups that a party divides its users into."""
    return two_phase_groups(party.users, parameters.levels, parameters.shared_levels, parameters.phase_one_share)


def tap_party(parameters: Parameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG001
    """Run by a party: both phases, every extension adaptive."""
    g, g_s, lengths = parameters.levels, parameters.shared_levels, parameters.lengths
    yield from ask(DivideUsers(tap_groups(parameters, party), parameters.independent))
    own = yield from shallow_trie(parameters, party)  # phase I
    shared = yield from ask(HearServer[Codes | None]())
    C = own if shared is None else shared
    for h in range(g_s + 1, g + 1):  # phase II
        domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
        estimates = yield from estimate(parameters, Group(h), domain)
        kept = yield from keep_adaptively(parameters, h, estimates)
        C = kept.prefixes
    return Findings(CountedPrefixes.of(kept.positive(), party.users))


def tap_server(parameters: Parameters, roster: Roster) -> Dialogue[GlobalRanking]:
    """Run by the server: broadcast C_{g_s}, then add up the local heavy hitters."""
    shared = yield from aggregate_shallow_tries(parameters, roster)
    findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, shared)))
    return summed([found.heavy_hitters for found in findings.values()]).top(parameters.k)
