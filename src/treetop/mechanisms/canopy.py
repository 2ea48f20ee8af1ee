"""Canopy: one public trie for the whole federation, which all parties count together.

All parties estimate the same candidates at every level and the server sums their estimates, so a federation searches
with all its users at once; where an item lives in few parties, the lower-confidence score leaves the others' noise out.
A user answers one level, drawn whatever she holds, and the candidates come from earlier sanitised reports only.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from treetop.encoding.bit_strings import Codes, level_lengths, root_prefix
from treetop.errors import InvalidInput
from treetop.mechanisms.deployment import CanopyDeployment
from treetop.mechanisms.dialogue import (
    AskParties,
    Dialogue,
    Findings,
    HearServer,
    Member,
    Roster,
    TellServer,
    ask,
)
from treetop.mechanisms.level_steps import least_kept
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.notes import CanopyNotes
from treetop.mechanisms.parameters import choice, setting, whole_number
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.summed_level import (
    CountTable,
    SharedCandidates,
    SummedParameters,
    closing_round,
    count_level,
    record_level,
    upload_budget,
)
from treetop.mechanisms.wire.canopy import CanopyWire
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.lower_confidence import cover_cut, uncovered_share
from treetop.trie.quantised_counts import COUNT_BITS, UNARY_BITS, QuantisedCounts
from treetop.trie.seeds import NO_SEEDS, Seeds
from treetop.trie.significance import threshold
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group, Weights, joining_share, level_weights, seeded_weights


@dataclass(frozen=True)
class CanopyParameters(SummedParameters):
    """What the search over a public trie keeps and may send, the step of a level, and who answers it."""

    tiny: ClassVar = {"bits": 8, "step_bits": 2, "kept": 2}
    min_kept: ClassVar = 30
    """t at least, however small k is, unless it is set."""

    kept: int = setting(0, "t", "Canopy: prefixes that a level keeps; 0 is max(2k, 30).", whole_number(0, 1 << 20))
    upload_budget: int = upload_budget()
    least_kept: int = least_kept()
    step_bits: int = setting(8, "b", "Canopy: bits that a level adds to a prefix, at most.", whole_number(1, 16))
    weights: Weights = setting(
        "adaptive",
        "w_h",
        "Canopy: users of a level, from what is still uncovered, or from public weights.",
        choice("adaptive", "ramp", "equal"),
    )
    seeds: Seeds = setting(
        NO_SEEDS,
        "",
        "Canopy: names of earlier weeks, which the last level counts again (`1f=0.0123,2a0`).",
        ("distinct codes in hexadecimal, ascending, each with its share of users, if any: 1f=0.0123,2a0", Seeds.read),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.seeds.fit(self.bits):
            raise InvalidInput("seed_too_long", bits=self.bits, codes=self.seeds.codes[-1])

    @cached_property
    def plan(self) -> "CanopyPlan":
        """Return the levels of the trie, t and zeta."""
        return CanopyPlan.of(self)


class Canopy(Mechanism[CanopyParameters]):
    """The two dialogues."""

    name = "canopy"
    parameters = CanopyParameters
    wire = CanopyWire()
    deployment = CanopyDeployment(tolerates_small_groups=True)
    notes = CanopyNotes(shares=True)

    def party(self, parameters: CanopyParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: count the server's candidates level by level, then send the signed counts it asks for."""
        plan = parameters.plan
        heard = yield from ask(HearServer[SharedCandidates]())
        for h in range(1, plan.L + 1):
            Lambda = plan.candidates(heard.prefixes, h)
            oracle = parameters.oracle_for(len(Lambda))
            counted = yield from count_level(party, Group(h), heard.share, Lambda, oracle)
            yield from ask(TellServer(counted.quantised(plan.signed)))
            heard = yield from ask(HearServer[SharedCandidates]())
            yield from record_level(h, counted, len(heard.prefixes))
        own = counted.positive().ranked().top(parameters.k)
        return Findings(counted.of_prefixes(heard.prefixes), asked_for=True, local=own.candidates)

    def server(self, parameters: CanopyParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: grow the trie from the parties' summed counts; the k best x of level L."""
        plan = parameters.plan
        A = root_prefix(parameters.bits)
        uncovered = 0.0
        for h in range(1, plan.L + 1):
            w = plan.level_weights(parameters.weights, uncovered)
            message = SharedCandidates(A, joining_share(w, h))
            uploads = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(roster.names, message)))
            Lambda = plan.candidates(A, h)
            level = CountTable.of(uploads, roster, len(Lambda))
            if h < plan.L:
                A, uncovered = kept_prefixes(parameters, plan, Lambda, level)
        best = np.sort(Lambda.prefixes[level.best(parameters.k, plan.zeta, parameters.score)])
        oracle = parameters.oracle_for(len(Lambda))
        ranking = yield from closing_round(roster, best, len(Lambda), oracle, zeta=plan.zeta, rule=parameters.score)
        return replace(ranking, seeds=next_seeds(parameters, plan, Lambda, level))

    def levels(self, parameters: CanopyParameters) -> Levels:
        """Return levels that grow from t prefixes each; the last list has the seeds, too."""
        growing = Levels.growing(parameters.plan.lengths, parameters.plan.kept)
        *lists, last = growing.max_candidates
        return replace(growing, max_candidates=(*lists, last + len(parameters.seeds)))


@dataclass(frozen=True)
class CanopyPlan:
    """The levels of the trie, t and zeta."""

    lengths: tuple[int, ...]
    """l_0 .. l_L."""
    step_bits: int
    """b, the bits of a level at most."""
    kept: int
    """t, the prefixes kept at a level at most."""
    signed: bool
    """Whether negative counts are sent, too: plain sums need them."""
    seeds: Seeds = NO_SEEDS
    """Names of earlier weeks."""

    @classmethod
    def of(cls, parameters: CanopyParameters) -> "CanopyPlan":
        """Take the largest b up to `step_bits` whose expected upload fits the budget; t = max(2k, 30) unless set."""
        kept = max(parameters.kept or max(2 * parameters.k, parameters.min_kept), parameters.least_kept)
        plans = [cls.stepping(parameters, b, kept) for b in range(parameters.step_bits, 0, -1)]
        budget = parameters.upload_budget
        fitting = [plan for plan in plans if not budget or plan.expected_bits(parameters.k) <= budget]
        if not fitting:
            least = min(plan.expected_bits(parameters.k) for plan in plans)
            raise InvalidInput("upload_budget_too_small", least=least, k=parameters.k, budget=budget)
        return fitting[0]

    @classmethod
    def stepping(cls, parameters: CanopyParameters, step_bits: int, kept: int) -> "CanopyPlan":
        """Divide m bits evenly over L = ceil(m / b) levels."""
        levels = -(-parameters.bits // step_bits)
        lengths = level_lengths(parameters.bits, levels)
        return cls(lengths, step_bits, kept, parameters.score == "sum", parameters.seeds)

    @property
    def L(self) -> int:  # noqa: N802  the symbol of the page
        """Return the number of levels."""
        return len(self.lengths) - 1

    @property
    def zeta(self) -> float:
        """Return Phi^-1(1 - 2^-b): as far as noise alone fills the kept list, with 2^b children per kept prefix."""
        return NormalDist().inv_cdf(1 - 2.0**-self.step_bits)

    def candidates(self, A: Codes, h: int) -> CandidateDomain:
        """Return Lambda at level h: every prefix of A followed by every string of the level's bits; last, the seeds."""
        Lambda = CandidateDomain.extending(A, self.lengths[h - 1], self.lengths[h])
        if h < self.L or not self.seeds:
            return Lambda
        return CandidateDomain(Lambda.length, np.union1d(Lambda.prefixes, self.seeds.within(Lambda.length)))

    def level_weights(self, rule: Weights, uncovered: float) -> list[float]:
        """Return w_1 .. w_L: with seeds most users answer the last level, since less is left to be searched for."""
        weights = level_weights(self.L, rule, uncovered)
        return seeded_weights(weights) if self.seeds else weights

    @property
    def max_candidates(self) -> tuple[int, ...]:
        """Return |Lambda| at every level, at most."""
        sizes = [1]
        for shorter, longer in zip(self.lengths[:-1], self.lengths[1:], strict=True):
            sizes.append(min(self.kept, sizes[-1]) << (longer - shorter))
        return (*sizes[1:-1], sizes[-1] + len(self.seeds))

    def expected_bits(self, k: int) -> int:
        """Return what a party will send: unary counts and s_i of every level, and k counts in the closing round."""
        counts = UNARY_BITS[self.signed] * sum(self.max_candidates)
        return round(counts) + COUNT_BITS * (self.L + k)


def kept_prefixes(
    parameters: CanopyParameters, plan: CanopyPlan, Lambda: CandidateDomain, level: CountTable
) -> tuple[Codes, float]:
    """Run by the server: the t best, cut after those that cover everybody up to the noise; and what they leave.

    The users of seeds are known: without them the best bound on what is left below a prefix decides, and they need not
    be covered.
    Users with several items cover several prefixes each: then nothing is cut, and the levels keep their public weights.
    """
    x = Lambda.prefixes
    if not level.users:
        return x[: plan.kept], 1.0
    known = level.users * plan.seeds.shares_below(x, parameters.bits, Lambda.length)
    candidates = level.scored(plan.zeta, parameters.score).less(known)
    A = candidates.best(plan.kept)
    if parameters.items_per_user > 1:
        return x[A], 0.0
    N = max(level.users * (1 - sum(plan.seeds.shares)), 1.0)
    margin = plan.zeta * level.deviation
    A = A[: max(cover_cut(candidates.counts[A], N - margin), parameters.least_kept)]
    return x[A], uncovered_share(candidates.counts[A], margin, N)


def next_seeds(parameters: CanopyParameters, plan: CanopyPlan, Lambda: CandidateDomain, level: CountTable) -> Seeds:
    """Run by the server: the best of the last level, for the next week; none where nobody reported."""
    if not level.users:
        return NO_SEEDS
    z = threshold(len(level.parties), len(Lambda), plan.signed)
    bounds = level.scored(plan.zeta, parameters.score)
    clear = level.scored(z, parameters.score)
    return Seeds.best(Lambda.prefixes, bounds.scores, clear, level.users)
