"""Estimate of Alg. 2: the step that all mechanisms repeat at every level."""

from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import CollectReports, LevelTrace, Record
from treetop.trie.adaptive_extension import extension_number
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.level_estimates import LevelEstimates
from treetop.trie.user_groups import Group


def estimate(parameters: Parameters, group: Group, domain: CandidateDomain) -> Dialogue[LevelEstimates]:
    """Run by the party: each user of the group reports her noisy prefix; estimate all of Lambda_h."""
    oracle = parameters.oracle_for(len(domain))
    tally = yield from ask(CollectReports(group, domain, oracle))
    return LevelEstimates.of(domain, oracle, tally)


def keep_adaptively(
    parameters: Parameters, level: int, estimates: LevelEstimates, note: str = ""
) -> Dialogue[LevelEstimates]:
    """Run by the party: C_h, the t = k* + eta highest estimates by Eqs. 9 and 10."""
    t = extension_number(estimates.frequencies, parameters.k, estimates.sigma, parameters.extension_rule)
    return (yield from keep(parameters, level, estimates, t, note))


def keep(
    parameters: Parameters, level: int, estimates: LevelEstimates, t: int, note: str = ""
) -> Dialogue[LevelEstimates]:
    """Run by the party: the t highest estimates, `least_kept` at least, noted in the trace."""
    kept = estimates.top(max(t, parameters.least_kept))
    trace = LevelTrace(
        level, estimates.length, len(estimates), estimates.reports, estimates.oracle.name, len(kept), note
    )
    yield from ask(Record(trace))
    return kept
