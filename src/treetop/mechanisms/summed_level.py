"""Steps of mechanisms whose parties count the same candidates: one level, and the closing round."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectReports,
    Dialogue,
    DrawGroup,
    Findings,
    LevelTrace,
    Member,
    Record,
    Roster,
    ask,
)
from treetop.mechanisms.parameters import Parameters, choice, setting, whole_number
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO, set_form
from treetop.oracles.set_reports import MAX_ITEMS
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.lower_confidence import ScoredCandidates, ScoreRule, best_indices, entry_count, scored
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.significance import NoiseScores, significant, threshold
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group

NO_REPORTS = "no reports: left out of the sum"


@dataclass(frozen=True)
class SummedParameters(Parameters):
    """How candidates that all parties count are ranked."""

    score: ScoreRule = setting(
        "lower_confidence",
        "",
        "Canopy: rank by the best lower bound over sets of parties, or by plain sums.",
        choice("lower_confidence", "sum"),
    )
    items_per_user: int = setting(
        1, "", "Sets: items of a user that her one report speaks of, at most.", whole_number(1, MAX_ITEMS)
    )

    @property
    def asked_oracle(self) -> str | Oracle:
        """Return the oracle, or the rule that chooses one, in the form for as many items as a user may speak of."""
        return set_form(self.oracle, self.items_per_user)

    def oracle_reason(self, candidates: int) -> str:
        """Say why the oracle for that many candidates was taken."""
        if self.items_per_user > 1 and self.oracle == AUTO:
            return f"reports of up to {self.items_per_user} items are hashed"
        return super().oracle_reason(candidates)


def upload_budget() -> Any:
    """Declare what a party may send."""
    return setting(
        0,
        "",
        "Bits a party may expect to send: Canopy lowers step_bits until they fit, Panorama looks at fewer names "
        "that are on no list. 0: no limit, for Panorama 1,500,000.",
        whole_number(0, 1 << 40),
    )


@dataclass(frozen=True, eq=False)
class SharedCandidates:
    """Server to every party: the prefixes that go on; users not asked yet join the next level with this probability.

    In the closing round nobody joins any more: the prefixes are those whose signed counts are wanted.
    """

    prefixes: Codes
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class CountTable:
    """Run by the server: the counts of the same candidates by all parties that had reports, side by side."""

    counts: Frequencies
    """c_i(x), candidates x parties."""
    variances: Frequencies
    """s_i^2 with the rounding, of every party."""
    parties: tuple[Member, ...]

    @classmethod
    def of(cls, uploads: Mapping[str, QuantisedCounts], roster: Roster, candidates: int) -> "CountTable":
        """Read the parties' uploads; a party without reports, or without an answer, is left out."""
        present = {name: sent for name, sent in uploads.items() if not sent.missing}
        members = {member.name: member for member in roster.members}
        counts = [sent.counts[:candidates] for sent in present.values()]
        variances = np.array([sent.variance for sent in present.values()])
        return cls(
            np.array(counts).reshape(len(present), candidates).T, variances, tuple(members[name] for name in present)
        )

    @property
    def users(self) -> int:
        """Return N, the users of these parties."""
        return sum(party.users for party in self.parties)

    @property
    def deviation(self) -> float:
        """Return s = sqrt(sum_i s_i^2)."""
        return float(np.sqrt(self.variances.sum()))

    def best(self, number: int, zeta: float, rule: ScoreRule) -> NDArray[np.int64]:
        """Return the indices of the highest scores, falling; none where nobody reported."""
        if not self.parties:
            return np.empty(0, dtype=np.int64)
        return best_indices(self.counts, self.variances, zeta, rule, number)

    def at(self, indices: NDArray[np.int64]) -> "CountTable":
        """Return the candidates at these indices, in this order."""
        return replace(self, counts=self.counts[indices])

    def scored(self, zeta: float, rule: ScoreRule) -> ScoredCandidates:
        """Score every candidate; all are 0 where nobody reported."""
        if not self.parties:
            nothing = np.zeros(len(self.counts))
            return ScoredCandidates(nothing, nothing)
        return scored(self.counts, self.variances, zeta, rule)


def count_level(
    party: Member, group: Group, share: float, domain: CandidateDomain, oracle: FrequencyOracle[Any]
) -> Dialogue[Support]:
    """Run by the party: ask users not asked before, each with this probability, and count all candidates."""
    yield from ask(DrawGroup(group, share))
    tally = yield from ask(CollectReports(group, domain, oracle))
    return Support.of(domain, oracle, tally, party.users)


def record_level(level: int, counted: Support, kept: int) -> Dialogue[None]:
    """Run by the party: note what happened."""
    note = "" if counted.reports else NO_REPORTS
    trace = LevelTrace(level, counted.length, len(counted), counted.reports, counted.oracle.name, kept, note)
    yield from ask(Record(trace))


def closing_round(
    roster: Roster, best: Codes, candidates: int, oracle: FrequencyOracle[Any], *, zeta: float, rule: ScoreRule
) -> Dialogue[GlobalRanking]:
    """Run by the server: the support of the best items from every party; sums, errors and significance."""
    messages = dict.fromkeys(roster.names, SharedCandidates(best))
    answers = yield from ask(AskParties[Findings](messages))
    present = [found for found in answers.values() if found.heavy_hitters.reports]
    if not present or not len(best):
        nothing = np.empty(0)
        return GlobalRanking(best[:0], nothing, nothing, nothing.astype(np.int64), nothing.astype(np.bool_))
    # A party's own most frequent item comes first in its upload: here all are in ascending order.
    uploads = [found.heavy_hitters.at(np.argsort(found.heavy_hitters.candidates)) for found in present]
    counts = np.array([upload.counts for upload in uploads]).T
    reports = np.array([float(upload.reports) for upload in uploads])
    users = np.array([float(upload.users) for upload in uploads])
    deviations = users * np.sqrt([oracle.variance(0.0, upload.reports) for upload in uploads])
    plain_sum = rule == "sum"
    z = threshold(len(present), candidates, plain_sum)
    marks = significant(NoiseScores.of(uploads, deviations), z, plain_sum)
    least = float(scored(counts, deviations**2, zeta, rule).scores.min())
    # A report that supports an item adds n / r (1 - q) / (p - q) to its count, and to s_i^2
    # (n / r)^2 q (1 - q) / (p - q)^2: n / r q / (p - q) for each user of the count.
    more = users / reports * oracle.q / (oracle.p - oracle.q)
    entry = entry_count(least, zeta, deviations**2, more, rule)
    ranking = summed([found.estimates for found in present])
    return replace(ranking, significant=marks, z=z, entry=entry).top(len(best))
