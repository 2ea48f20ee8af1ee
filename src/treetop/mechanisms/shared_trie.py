"""Shared shallow trie construction (Alg. 2 of the paper, STC): phase I of TAP and TAPS."""

from treetop.encoding.bit_strings import Codes, root_prefix
from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.level_steps import estimate, keep_adaptively
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import AskParties, TellServer
from treetop.mechanisms.roster import Member, Roster
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes, summed
from treetop.trie.user_groups import Group


def is_shared(parameters: Parameters) -> bool:
    """Return whether parties upload level g_s and hear C_{g_s}: not without phase I, nor in the ablation."""
    return parameters.shared_trie and parameters.shared_levels > 0


def shallow_trie(parameters: Parameters, party: Member) -> Dialogue[Codes]:
    """Run by a party: levels 1 .. g_s; upload the kept prefixes with a positive estimate, return all kept."""
    lengths = parameters.lengths
    C = root_prefix(parameters.bits)
    for h in range(1, parameters.shared_levels + 1):
        domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
        estimates = yield from estimate(parameters, Group(h), domain)
        kept = yield from keep_adaptively(parameters, h, estimates)
        C = kept.prefixes
    if is_shared(parameters):
        yield from ask(TellServer(CountedPrefixes.of(kept.positive(), party.users)))
    return C


def aggregate_shallow_tries(parameters: Parameters, roster: Roster) -> Dialogue[Codes | None]:
    """Run by the server: C_{g_s}, the top k prefixes of all parties.

    None where nothing is shared or too little was found: each party then goes on from its own level g_s.
    """
    if not is_shared(parameters):
        return None
    uploads = yield from ask(AskParties[CountedPrefixes](dict.fromkeys(roster.names)))
    least = parameters.least_kept
    shared = summed(list(uploads.values())).top(max(parameters.k, least)).prefixes
    return shared if len(shared) >= least else None
