"""Canopy: one public trie for the whole federation, which all parties count together.

All parties estimate the same candidates at every level and the server sums their estimates, so a federation searches
with all its users at once; where an item lives in few parties, the lower-confidence score leaves the others' noise out.
A user answers one level, drawn whatever she holds, and the candidates come from earlier sanitised reports only.
"""

from treetop.encoding.bit_strings import Codes, root_prefix
from treetop.mechanisms.canopy_plan import CanopyPlan
from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import AskParties, Findings, HearServer, TellServer
from treetop.mechanisms.roster import Member, Roster
from treetop.mechanisms.summed_level import (
    SharedCandidates,
    SummedLevel,
    best_prefixes,
    closing_round,
    count_level,
    record_level,
)
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.level_weights import joining_share, level_weights
from treetop.trie.lower_confidence import cover_cut, scored, uncovered_share
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.user_groups import Group


def canopy_party(parameters: Parameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG001
    """Run by a party: count the server's candidates level by level, then send the signed counts it asks for."""
    plan = CanopyPlan.of(parameters)
    heard = yield from ask(HearServer[SharedCandidates]())
    for h in range(1, plan.L + 1):
        Lambda = plan.candidates(heard.prefixes, h)
        oracle = parameters.oracle_for(len(Lambda))
        counted = yield from count_level(party, Group(h), heard.share, Lambda, oracle)
        yield from ask(TellServer(QuantisedCounts.of(counted.counts, counted.deviation, plan.signed)))
        heard = yield from ask(HearServer[SharedCandidates]())
        yield from record_level(h, counted, len(heard.prefixes))
    return Findings(counted.of(heard.prefixes), local=counted.top(parameters.k))


def canopy_server(parameters: Parameters, roster: Roster) -> Dialogue[GlobalRanking]:
    """Run by the server: grow the trie from the parties' summed counts; the k best x of level L."""
    plan = CanopyPlan.of(parameters)
    A, uncovered = root_prefix(parameters.bits), 0.0
    for h in range(1, plan.L + 1):
        w = level_weights(plan.L, parameters.weights, uncovered)
        told = SharedCandidates(A, joining_share(w, h))
        uploads = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(roster.names, told)))
        Lambda = plan.candidates(A, h)
        level = SummedLevel.of(uploads, roster, len(Lambda))
        if h < plan.L:
            A, uncovered = kept_prefixes(parameters, plan, Lambda.prefixes, level)
    best = best_prefixes(level, Lambda.prefixes, parameters.k, plan.zeta, parameters.score)
    oracle = parameters.oracle_for(len(Lambda))
    return (yield from closing_round(roster, best, len(Lambda), oracle, plain_sum=plan.signed))


def kept_prefixes(parameters: Parameters, plan: CanopyPlan, Lambda: Codes, level: SummedLevel) -> tuple[Codes, float]:
    """Run by the server: the t best, cut after those that cover everybody up to the noise; and what they leave."""
    if not level.users:
        return Lambda[: plan.kept], 1.0
    candidates = scored(level.counts, level.variances, plan.zeta, parameters.score)
    A = candidates.best(plan.kept)
    N, margin = level.users, plan.zeta * level.deviation
    A = A[: max(cover_cut(candidates.counts[A], N - margin), parameters.least_kept)]
    return Lambda[A], uncovered_share(candidates.counts[A], margin, N)
