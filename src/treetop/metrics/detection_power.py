"""How popular an item must be to be found, computed from the oracle's variance before anybody is asked.

An item of frequency f, the same in every party, passes a level if its summed count beats what noise alone would put at
the edge of the kept list, z standard deviations:   P = Phi((f N - z s_0) / s_f),   s_0 and s_f being the standard
deviations of the count of an item that nobody and that a share f of the users holds. It is found if it passes every
level. Other items are not taken into account: k more popular ones would push it out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp2, inf, log2, prod, sqrt
from statistics import NormalDist
from typing import Any

from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.trie.significance import MAX_SETS_OF, best_set_tail, best_set_threshold, sum_threshold

POWER = 0.9
HALVINGS = 40
MAX_PARTIES_LOOKED_AT = 64
"""The noise of the best set of parties hardly grows beyond."""


@dataclass(frozen=True)
class Stage:
    """One level: its oracle, the share of all users who answer it, and how many of its candidates go on."""

    oracle: FrequencyOracle[Any]
    share: float
    candidates: int
    going_on: int
    zeta: float
    """Of the lower-confidence score that ranks its candidates."""
    others: float = 0.0
    """Frequency of the other candidates on average, where the item's own candidate has no share of it."""


@dataclass(frozen=True)
class CountError:
    """Standard deviations of an item's summed count, in users."""

    absent: float
    """s_0, of an item that nobody holds."""
    present: float
    """s_f, of the item itself, the drawing of those who answer included."""


def count_error(stage: Stage, users: Sequence[float], frequency: float) -> CountError:
    """Return what a stage's noise does to a count: sum_i n_i^2 [Var_full(f) + f (1 - f) / r_i (1 - r_i / n_i)]."""
    absent = present = 0.0
    for n in users:
        r, f = n * stage.share, frequency
        per_report = stage.oracle.variance(f, 1) + f * (1 - f) * (1 - stage.share)
        absent += n * n * stage.oracle.variance(0.0, 1) / r
        present += n * n * per_report / r
    return CountError(sqrt(absent), sqrt(present))


def effective_parties(users: Sequence[float]) -> int:
    """Return how many parties of equal size would make as many different sets: N^2 / sum n_i^2."""
    return min(round(sum(users) ** 2 / sum(n * n for n in users)), MAX_PARTIES_LOOKED_AT)


@cache
def noise_edge(parties: int, tail: float) -> float:
    """Return z, above which noise lifts the best set of parties for that share of the candidates."""
    return bisected(lambda z: best_set_tail(parties, z) <= tail, 0.0, 40.0)


def bisected(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least number between two bounds that is enough, as far as more is always better."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def edge(stage: Stage, users: Sequence[float]) -> float:
    """Return how many standard deviations of the whole sum the edge of the kept list lies from zero.

    Noise at the edge owes its score to some set of parties, about half of them, whose deviation is smaller than that of
    all; with one party it is the quantile of the normal distribution.
    """
    tail = min(stage.going_on / stage.candidates, 0.5)
    parties = effective_parties(users)
    part = sqrt((parties + 1) / (2 * parties))
    return stage.zeta + part * (noise_edge(parties, tail) - stage.zeta)


def passing_power(stage: Stage, users: Sequence[float], frequency: float, z: float) -> float:
    """Return the probability that an item's count lies z standard deviations of pure noise above the others."""
    error = count_error(stage, users, frequency)
    excess = (frequency - stage.others) * sum(users)
    return NormalDist().cdf((excess - z * error.absent) / error.present)


def detection_power(stages: Sequence[Stage], users: Sequence[float], frequency: float) -> float:
    """Return the probability that an item of that frequency passes every stage."""
    return prod(passing_power(stage, users, frequency, edge(stage, users)) for stage in stages)


def marking_power(stages: Sequence[Stage], users: Sequence[float], frequency: float) -> float:
    """Return the probability that it is found and marked as more than noise, too."""
    last = stages[-1]
    parties = len(users)
    z = best_set_threshold(parties, last.candidates) if parties <= MAX_SETS_OF else sum_threshold(last.candidates)
    found = detection_power(stages[:-1], users, frequency)
    return found * passing_power(last, users, frequency, max(z, edge(last, users)))


def least_frequency(power_at: Callable[[float], float], power: float = POWER) -> float:
    """Return the smallest frequency with that power, or infinity where not even everybody's item has it."""
    if power_at(1.0) < power:
        return inf
    return exp2(bisected(lambda exponent: power_at(exp2(exponent)) >= power, -40.0, 0.0))


def min_factor(is_enough: Callable[[float], bool], largest: float) -> float:
    """Return the least factor of at least 2^-20 that is enough, or infinity where the largest is not."""
    if not is_enough(largest):
        return inf
    return exp2(bisected(lambda exponent: is_enough(exp2(exponent)), -20.0, log2(largest)))
