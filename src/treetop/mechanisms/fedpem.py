"""FedPEM (Alg. 1 of the paper): every party runs PEM alone, the server adds up."""

from treetop.encoding.bit_strings import extended, root_prefix
from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.level_steps import estimate, keep
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import AskParties, DivideUsers, Findings
from treetop.mechanisms.roster import Member, Roster
from treetop.trie.adaptive_extension import fixed_extension
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, summed
from treetop.trie.user_groups import Group, equal_groups


def fedpem_party(parameters: Parameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG001
    """Run by a party: PEM over g equal groups, from ceil(log2 k) bits, always keeping t = k prefixes."""
    lengths = parameters.pem_lengths
    yield from ask(DivideUsers(equal_groups(party.users, parameters.levels), parameters.independent))
    t = fixed_extension(parameters.k, parameters.extension_factor)
    C = extended(root_prefix(parameters.bits), lengths[0])
    for h in range(1, parameters.levels + 1):
        domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
        estimates = yield from estimate(parameters, Group(h), domain)
        kept = yield from keep(parameters, h, estimates, t)
        C = kept.prefixes
    return Findings(CountedPrefixes.of(kept.positive(), party.users))


def fedpem_lengths(parameters: Parameters) -> tuple[int, ...]:
    """Return the lengths of the candidates: level 1 asks about all prefixes of its length, wherever PEM starts."""
    return (0, *parameters.pem_lengths[1:])


def fedpem_server(parameters: Parameters, roster: Roster) -> Dialogue[GlobalRanking]:
    """Run by the server: R^k, the k items with the largest summed counts."""
    findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names)))
    return summed([found.heavy_hitters for found in findings.values()]).top(parameters.k)
