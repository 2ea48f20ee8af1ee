"""Is an item more than noise? A test that holds although the best of many sets of parties is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, erfc, exp, fsum, gamma, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Counts, Frequencies
from treetop.trie.lower_confidence import lower_confidence, summed_bound
from treetop.trie.support import Support

FALSE_ALARMS = 0.05
"""Probability that a run marks any candidate that nobody holds."""
MAX_SETS_OF = 10
"""With more parties the plain sum is tested: their sets are too many."""
ENOUGH_SUPPORT = 10.0
"""Expected support, r q, from which on a party's noise enters the plain sum."""


def chi_square_tail(degrees: int, x: float) -> float:
    """Return P(chi2_j > x) by its finite series for whole j; 0 degrees are a constant 0."""
    if degrees % 2:
        terms = fsum(exp((i - 0.5) * log(x / 2)) / gamma(i + 0.5) for i in range(1, degrees // 2 + 1))
        return erfc(sqrt(x / 2)) + exp(-x / 2) * terms
    return exp(-x / 2) * fsum((x / 2) ** i / gamma(i + 1) for i in range(degrees // 2))


def best_set_tail(parties: int, z: float) -> float:
    """Return sum_j Binom(P, 1/2)(j) P(chi2_j > z^2): how likely noise lifts some set of parties above z."""
    return fsum(comb(parties, j) * chi_square_tail(j, z * z) for j in range(parties + 1)) * 0.5**parties


def sum_threshold(candidates: int) -> float:
    """Return z, above which noise lifts the sum of any candidate in 5 % of runs at most."""
    # Bonferroni: the alarms of all candidates add up to at most FALSE_ALARMS.
    return NormalDist().inv_cdf(1 - FALSE_ALARMS / candidates)


@cache
def best_set_threshold(parties: int, candidates: int) -> float:
    """Return z, above which noise lifts the best set of any candidate in 5 % of runs at most."""
    # By bisection, as the tail falls in z; at 40 it is 0 in a double.
    low = 0.0
    high = 40.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if best_set_tail(parties, middle) > FALSE_ALARMS / candidates:
            low = middle
        else:
            high = middle
    return high


def normal_scores(support: Counts | Frequencies, reports: Frequencies, q: float) -> Frequencies:
    """Return w with P(Bin(r, q) >= support) <= P(Z >= w) for a standard normal Z (Zubkov and Serov 2013).

    w = sign sqrt(2 r KL(x || q)) at x = (support - 1) / r. Five standard deviations out, a binomial with few expected
    reports has a much heavier tail than the normal of the same variance; these scores have not.
    """
    x = np.clip((support - 1) / reports, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(x > 0, x * np.log(x / q), 0.0)
        miss = np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - q)), 0.0)
    w: Frequencies = np.sign(x - q) * np.sqrt(2 * reports * np.clip(hit + miss, 0, None))
    return w


@dataclass(frozen=True, eq=False)
class NoiseScores:
    """How far out in the noise the counts of some items lie, party by party."""

    scores: Frequencies
    """Normal scores w, items x parties."""
    deviations: Frequencies
    """s_i of every party."""
    expected_support: Frequencies
    """r_i q of every party."""

    @classmethod
    def of(cls, parties: Sequence[Support], deviations: Frequencies) -> "NoiseScores":
        """Score the support of the same items at every party that has reports."""
        support = np.array([party.support for party in parties]).T
        reports = np.array([float(party.reports) for party in parties])
        q = parties[0].oracle.q
        return cls(normal_scores(support, reports, q), deviations, reports * q)


def tests_sum(parties: int, plain_sum: bool) -> bool:
    """Return whether the plain sum is tested: where asked for, and above ten parties."""
    return plain_sum or parties > MAX_SETS_OF


def threshold(parties: int, candidates: int, plain_sum: bool = False) -> float:
    """Return z: how many standard deviations an item must reach."""
    return sum_threshold(candidates) if tests_sum(parties, plain_sum) else best_set_threshold(parties, candidates)


def significant(noise: NoiseScores, z: float, plain_sum: bool = False) -> NDArray[np.bool_]:
    """Return for every item whether its best lower bound, with z in place of zeta, is positive.

    The counts are w_i s_i; a plain sum takes those parties whose noise is nearly normal.
    """
    counts = noise.scores * noise.deviations
    variances = noise.deviations**2
    if not tests_sum(len(variances), plain_sum):
        return lower_confidence(counts, variances, z).scores > 0
    enough = noise.expected_support >= ENOUGH_SUPPORT
    return summed_bound(counts[:, enough], variances[enough], z).scores > 0
