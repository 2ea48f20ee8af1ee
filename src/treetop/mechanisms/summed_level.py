"""Steps of mechanisms whose parties count the same candidates: one level, the closing round, users without a code."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, UsersOutside, summed
from treetop.trie.lower_confidence import ScoreRule, best_places, entry_count, scored
from treetop.trie.party_counts import PartyCounts, QuantisedCounts
from treetop.trie.significance import NoiseScores, normal_scores, significant, threshold
from treetop.trie.user_groups import Group

NO_REPORTS = "no reports: left out of the sum"


@dataclass(frozen=True)
class SummedParameters(Parameters):
    """How candidates that all parties count are ranked."""

    score: ScoreRule = setting(
        "lower_confidence", "", "Canopy: rank by the best lower bound over sets of parties, or by plain sums.",
        choice("lower_confidence", "sum"),
    )  # fmt: skip
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
        0, "", "Bits a party may expect to send: Canopy lowers step_bits until they fit, Panorama looks at fewer names "
        "that are on no list. 0: no limit, for Panorama 1,500,000.",
        whole_number(0, 1 << 40),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SharedCandidates:
    """Server to every party: the prefixes that go on; users not asked yet join the next level with this probability.

    In the closing round nobody joins any more: the prefixes are those whose signed counts are wanted.
    """

    prefixes: Codes
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class SummedLevel:
    """Run by the server: the counts of all candidates by the parties that had reports."""

    counts: Frequencies
    """c_i(x), candidates x parties."""
    variances: Frequencies
    """s_i^2 with the rounding."""
    users: int
    """N, the users of these parties."""

    @classmethod
    def of(cls, uploads: Mapping[str, QuantisedCounts], roster: Roster, candidates: int) -> "SummedLevel":
        """Read what the parties sent; a party without reports, or without an answer, is left out."""
        present = {name: sent for name, sent in uploads.items() if not sent.missing}
        users = sum(member.users for member in roster.members if member.name in present)
        counts = [sent.counts[:candidates] for sent in present.values()]
        variances = np.array([sent.variance for sent in present.values()])
        return cls(np.array(counts).reshape(len(present), candidates).T, variances, users)

    @property
    def deviation(self) -> float:
        """Return s = sqrt(sum_i s_i^2)."""
        return float(np.sqrt(self.variances.sum()))


def count_level(
    party: Member, group: Group, share: float, domain: CandidateDomain, oracle: FrequencyOracle[Any]
) -> Dialogue[PartyCounts]:
    """Run by the party: ask users not asked before, each by this chance, and count all candidates."""
    yield from ask(DrawGroup(group, share))
    tally = yield from ask(CollectReports(group, domain, oracle))
    frequencies = oracle.estimate(tally)[: len(domain)]
    return PartyCounts(domain.length, domain.prefixes, frequencies, tally.reports, oracle, party.users)


def record_level(level: int, counted: PartyCounts, kept: int) -> Dialogue[None]:
    """Run by the party: note what happened."""
    note = "" if counted.reports else NO_REPORTS
    name = counted.oracle.name
    yield from ask(Record(LevelTrace(level, counted.length, len(counted.prefixes), counted.reports, name, kept, note)))


def best_prefixes(level: SummedLevel, prefixes: Codes, k: int, zeta: float, score: ScoreRule) -> Codes:
    """Run by the server: the k best in ascending order; none where nobody reported."""
    if not level.users:
        return prefixes[:0]
    return np.sort(prefixes[best_places(level.counts, level.variances, zeta, score, k)])


def closing_round(
    roster: Roster, best: Codes, candidates: int, oracle: FrequencyOracle[Any], *, zeta: float, plain_sum: bool
) -> Dialogue[GlobalRanking]:
    """Run by the server: the signed counts of the best items from every party; sums, errors and significance."""
    messages = dict.fromkeys(roster.names, SharedCandidates(best))
    answers = yield from ask(AskParties[Findings](messages))
    present = {name: found for name, found in answers.items() if found.heavy_hitters.reports}
    if not present or not len(best):
        nothing = np.empty(0)
        return GlobalRanking(best[:0], nothing, nothing, nothing.astype(np.int64), nothing.astype(np.bool_))
    uploads = [found.heavy_hitters for found in present.values()]
    sizes = [member.users for name in present for member in roster.members if member.name == name]
    z = threshold(len(present), candidates, plain_sum)
    noise = noise_scores(uploads, sizes, oracle)
    rule: ScoreRule = "sum" if plain_sum else "lower_confidence"
    entry = _entry(uploads, sizes, noise.deviations**2, oracle, zeta=zeta, rule=rule)
    return replace(summed(uploads), significant=significant(noise, z, plain_sum), z=z, entry=entry).top(len(best))


def _entry(
    uploads: list[CountedPrefixes],
    sizes: list[int],
    variances: Frequencies,
    oracle: FrequencyOracle[Any],
    *,
    zeta: float,
    rule: ScoreRule,
) -> float:
    """Run by the server: the count at one party that the least score of these items takes."""
    counts = _by_prefix(uploads)
    drawn = np.array([users / upload.reports for users, upload in zip(sizes, uploads, strict=True)])
    least = float(scored(counts, variances, zeta, rule).scores.min())
    return entry_count(least, zeta, variances, drawn * oracle.q / (oracle.p - oracle.q), rule)


def _by_prefix(uploads: list[CountedPrefixes]) -> Frequencies:
    """Return the parties' counts, a row for each of the prefixes in ascending order."""
    return np.array([upload.counts[np.argsort(upload.prefixes)] for upload in uploads]).T


def noise_scores(uploads: list[CountedPrefixes], sizes: list[int], oracle: FrequencyOracle[Any]) -> NoiseScores:
    """Run by the server: read every count back as support among that party's reports, in ascending prefixes."""
    p, q = oracle.p, oracle.q
    n, r = np.array(sizes, dtype=np.float64), np.array([float(upload.reports) for upload in uploads])
    counts = _by_prefix(uploads)
    support = np.rint(r * (q + (p - q) * counts / n))
    deviations = n * np.sqrt([oracle.variance(0.0, upload.reports) for upload in uploads])
    return NoiseScores(normal_scores(support, r, q), deviations, r * q)


def users_outside(counted: list[CountedPrefixes]) -> UsersOutside | None:
    """Run by the server: add up the users that no candidate stands for, where parties count them."""
    if not counted:
        return None
    return UsersOutside(
        float(sum(upload.counts.sum() for upload in counted)), float(sum(upload.variances.sum() for upload in counted))
    )
