"""Which candidates the whole federation holds for sure: the lower-confidence score of Canopy.

True counts are never negative, so the sum over any set S of parties, less zeta standard deviations, is a lower
confidence bound of the total. The score of a candidate is the best of these bounds.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Frequencies

ScoreRule = Literal["lower_confidence", "sum"]


@dataclass(frozen=True, eq=False)
class ScoredCandidates:
    """For every candidate its score, and c(x): its count summed over the set of parties that gives the score."""

    scores: Frequencies
    counts: Frequencies

    def best(self, number: int) -> NDArray[np.int64]:
        """Return the indices of the highest scores, falling; equal ones by the smaller index."""
        return np.argsort(-self.scores, kind="stable")[:number]

    def less(self, known: Frequencies) -> "ScoredCandidates":
        """Return the bounds and counts of the users beyond those known for each candidate."""
        return ScoredCandidates(self.scores - known, self.counts - known)


def scored(counts: Frequencies, variances: Frequencies, zeta: float, score: ScoreRule) -> ScoredCandidates:
    """Score every row of counts (candidates x parties) by the rule of that name."""
    rule = lower_confidence if score == "lower_confidence" else summed_bound
    return rule(counts, variances, zeta)


def best_indices(
    counts: Frequencies, variances: Frequencies, zeta: float, score: ScoreRule, number: int
) -> NDArray[np.int64]:
    """Return the indices of the highest scores, falling; only rows that can be among them are scored."""
    rows = contenders(counts, variances, zeta, number)
    return rows[scored(counts[rows], variances, zeta, score).best(number)]


def contenders(counts: Frequencies, variances: Frequencies, zeta: float, number: int) -> NDArray[np.int64]:
    """Return the indices whose score may reach the highest ones under either rule, ascending.

    No score is above the sum of the positive counts less zeta times the smallest deviation, and none is below the bound
    of all parties together.
    """
    if len(counts) <= number:
        return np.arange(len(counts))
    floor = counts.sum(axis=1) - zeta * np.sqrt(variances.sum())
    ceiling = np.maximum(counts, 0).sum(axis=1) - zeta * np.sqrt(variances.min())
    return np.flatnonzero(ceiling >= np.partition(floor, -number)[-number])


def summed_bound(counts: Frequencies, variances: Frequencies, zeta: float) -> ScoredCandidates:
    """Take S = all parties: the plain sum, as good as one trie over all users pooled."""
    total = counts.sum(axis=1)
    return ScoredCandidates(total - zeta * np.sqrt(variances.sum()), total)


def lower_confidence(counts: Frequencies, variances: Frequencies, zeta: float) -> ScoredCandidates:
    """Return the maximum over non-empty sets S of  sum_S c_i - zeta sqrt(sum_S s_i^2)  for every candidate.

    The bound is a convex function of (sum_S c_i, sum_S s_i^2), so over all sets its maximum is at a corner of their
    convex hull: a prefix of the parties sorted by falling c_i / s_i^2. The empty set being one of them, a best
    non-empty set is such a prefix, or a single party.
    """
    order = np.argsort(-counts / variances, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(counts, order, axis=1), axis=1)
    bounds = sums - zeta * np.sqrt(np.cumsum(variances[order], axis=1))
    prefixes = _best_of_each_row(bounds, sums)
    singles = _best_of_each_row(counts - zeta * np.sqrt(variances), counts)
    single = singles.scores > prefixes.scores
    return ScoredCandidates(
        np.where(single, singles.scores, prefixes.scores), np.where(single, singles.counts, prefixes.counts)
    )


def _best_of_each_row(bounds: Frequencies, sums: Frequencies) -> ScoredCandidates:
    best = np.argmax(bounds, axis=1)[:, None]
    scores, counts = (np.take_along_axis(values, best, axis=1)[:, 0] for values in (bounds, sums))
    return ScoredCandidates(scores, counts)


def cover_cut(counts: Frequencies, needed: float) -> int:
    """Return j, how many counts it takes until their sum reaches what is needed; all where it never does."""
    reached = np.cumsum(counts) >= needed
    return int(np.argmax(reached)) + 1 if reached.any() else len(counts)


def uncovered_share(counts: Frequencies, margin: float, users: float) -> float:
    """Return 1 - sum over kept candidates of max(0, c(x) - zeta s) / N: what is surely not below them at most."""
    return 1 - float(np.clip(counts - margin, 0, None).sum()) / users


def entry_count(score: float, zeta: float, variances: Frequencies, more: Frequencies, rule: ScoreRule) -> float:
    """Return the count that users who join one party give an item which nobody else holds, so that it has a score.

    Where that party alone may be looked at, no other noise is subtracted: the least of all parties is needed. There the
    variance grows by `more` for each user of the count x, and x = score + zeta sqrt(s_i^2 + more_i x).
    """
    if rule == "sum":
        return score + zeta * sqrt(variances.sum())
    least = max(score, 0.0)
    half = zeta**2 * more / 2
    return float((least + half + np.sqrt(half**2 + zeta**2 * (variances + more * least))).min())
