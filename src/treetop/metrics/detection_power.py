"""How popular an item must be to be found, computed before anybody is asked.

An item of frequency f, the same in every party, competes as the last of the k most popular ones: k - 1 candidates are
surely ahead of it, all others are held by nobody, and it passes a level if its score beats what noise lifts to the edge
of the kept list. That edge lies z standard deviations of the whole sum out, give or take d of them:

    P = Phi((f N - z s_0) / sqrt(s_f^2 + d^2 s_0^2)),

s_0 and s_f being the standard deviations of the count of an item that nobody and that a share f of the users holds. It
is found if it passes every level. Others that a share b of the users hold each move the edge by b.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp2, inf, log2, prod, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from treetop.mechanisms.panorama.parameters import STEP
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.oracles.set_counting import SetCounting
from treetop.trie.lower_confidence import lower_confidence
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.significance import NoiseScores, normal_scores, significant, threshold

POWER = 0.9
"""Probability with which an item that a plan promises is found."""
HALVINGS = 26
"""Steps of a bisection: 43 standard deviations come down to less than a millionth of one."""
MAX_PARTIES_LOOKED_AT = 16
"""Parties that send all counts: the noise of the best set of them hardly grows beyond this number."""
MAX_NAMING_PARTIES = 128
"""Parties that name candidates on their own: the number that name one keeps growing with them."""
SEED = 1
"""Of the draws behind an edge: always the same, so that a plan is the same each time."""
DRAWS = 1 << 15
"""Of the scores of rivals."""
ITEM_DRAWS = 1 << 11
"""Of the scores of the item, each with its mirror image: antithetic pairs have less variance."""
WIDER = 10.0
"""Extra variance of the draws of rivals, shared among the parties: the best of many lie where few draws would."""
NEAREST = -3.0
"""Lower end of the search for an edge; with few rivals an item may pass by luck alone, wherever it lies."""
FARTHEST = 40.0
"""Upper end of that search."""
TIES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the rivals with an equal score that come first: all are equally likely, since the smaller code wins."""
RAREST = -40.0
"""Smallest frequency that is searched, as a power of two."""
MIN_FACTOR = -20.0
"""Smallest factor that is searched, as a power of two."""


@dataclass(frozen=True)
class Stage:
    """One level: its oracle, the share of all users who answer it, and how many of its candidates go on."""

    oracle: FrequencyOracle[Any]
    share: float
    candidates: int
    going_on: int
    zeta: float
    """Of the lower-confidence score that ranks its candidates."""
    ahead: int
    """Candidates that are surely more popular: the k - 1 other items of the answer."""
    tau: float | None = None
    """Standard deviations from which a party names candidates on its own; None: it sends the counts of all."""
    sums_above: int | None = None
    """With more parties than that, candidates are ranked by plain sums."""
    tested: int | None = None
    """Candidates among which noise must not mark any, where that is not all of them."""


@dataclass(frozen=True)
class CountError:
    """Standard deviations of an item's summed count, in users."""

    absent: float
    """s_0, of an item that nobody holds."""
    present: float
    """s_f, of the item itself, the drawing of those who answer included."""


def count_error(stage: Stage, users: Sequence[float], frequency: float) -> CountError:
    """Return what a stage's noise does to a count: sum_i n_i^2 [Var_full(f) + f (1 - f) / r_i (1 - r_i / n_i)].

    Users with sets draw which items they report: there the last factor is 1, as in the errors of an answer.
    """
    absent = present = 0.0
    drawn = 1.0 if isinstance(stage.oracle, SetCounting) else 1 - stage.share
    for n in users:
        r = n * stage.share
        f = frequency
        per_report = stage.oracle.variance(f, 1) + f * (1 - f) * drawn
        absent += n * n * stage.oracle.variance(0.0, 1) / r
        present += n * n * per_report / r
    return CountError(sqrt(absent), sqrt(present))


def effective_parties(users: Sequence[float], most: int = MAX_PARTIES_LOOKED_AT) -> int:
    """Return how many parties of equal size would make as many different sets: N^2 / sum n_i^2."""
    return min(round(sum(users) ** 2 / sum(n * n for n in users)), most)


def bisected(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least number between two bounds that is enough, as far as more is always better."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Edge:
    """Where the kept list ends, in standard deviations of the whole sum: an item must lie beyond."""

    mean: float
    spread: float
    """Its own standard deviation: the best of few rivals is hard to foresee."""


@cache
def edge(parties: int, zeta: float, places: int, rivals: int, tau: float | None = None) -> Edge:
    """Return where an item has to be that competes with rivals nobody holds for some places in the kept list.

    The scores of rivals and item are drawn, rounded and ranked as the mechanism does it, for parties of equal size and
    always the same draws. The edge is the normal variable that an item has to exceed with the same probability.
    """
    draws = np.random.default_rng(SEED).standard_normal((DRAWS, parties))
    # Importance sampling: draws from a wider normal distribution, weighted by the ratio of the two densities.
    stretch = 1 + WIDER / parties
    likelihoods = np.exp((1 - stretch) / 2 * (draws**2).sum(axis=1))
    scores, index = np.unique(_scores(draws * sqrt(stretch), zeta, tau), return_inverse=True)
    chances = np.bincount(index, likelihoods) / likelihoods.sum()
    above = np.clip(1 - np.cumsum(chances), 0, 1)
    tied = np.mean([_at_most(places - 1, rivals, above + part * chances) for part in TIES], axis=0)
    # By twice the rank of the item's score among the rivals': odd entries are ties, even ones lie between two scores.
    passes = np.concatenate([[0.0], np.column_stack([tied, _at_most(places - 1, rivals, above)]).ravel()])
    item = np.concatenate([draws[:ITEM_DRAWS], -draws[:ITEM_DRAWS]])

    def needed(power: float) -> float:
        def is_enough(signal: float) -> bool:
            own = _scores(item + signal / sqrt(parties), zeta, tau)
            below = scores.searchsorted(own, side="left")
            ties = scores.searchsorted(own, side="right")
            return bool(passes[below + ties].mean() >= power)

        return bisected(is_enough, NEAREST, FARTHEST)

    # Two points of the power curve fix mean and spread of a normal edge; the item's own variance of 1 is taken off.
    middle = needed(0.5)
    width = (needed(POWER) - middle) / NormalDist().inv_cdf(POWER)
    return Edge(middle, sqrt(max(width**2 - 1, 0.0)))


def _scores(counts: Frequencies, zeta: float, tau: float | None) -> Frequencies:
    """Score candidates x parties as the server does: by all counts, or by those of the parties that name them."""
    if tau is not None:
        naming = counts >= tau
        seen = np.where(naming, tau + STEP * np.rint((counts - tau) / STEP), 0.0).sum(axis=1)
        scores: Frequencies = np.where(naming.any(axis=1), seen - zeta * np.sqrt(naming.sum(axis=1)), -inf)
        return scores
    sent = [QuantisedCounts.of(column, 1.0) for column in counts.T]
    variances = np.array([party.variance for party in sent])
    return lower_confidence(np.column_stack([party.counts for party in sent]), variances, zeta).scores


def _at_most(most: int, rivals: int, chance: Frequencies) -> Frequencies:
    """Return P(Bin(rivals, chance) <= most), between the two bounds of Zubkov and Serov where that is above 0."""
    if most == 0:
        return (1 - chance) ** rivals
    x = (most + 0.5) / rivals
    q = np.clip(chance, 1e-300, 1 - 1e-16)
    divergence = x * np.log(x / q) + (1 - x) * np.log((1 - x) / (1 - q))
    scores = np.sign(x - q) * np.sqrt(2 * rivals * np.clip(divergence, 0, None))
    return np.array([NormalDist().cdf(score) for score in scores])


def passing_power(stage: Stage, users: Sequence[float], frequency: float) -> float:
    """Return the probability that an item is kept with as many more popular ones as leave it one place at least."""
    ahead = min(stage.ahead, stage.going_on - 1, int(1 / frequency) - 1)  # no more have room above it
    places = stage.going_on - ahead
    rivals = stage.candidates - 1 - ahead
    if rivals < places:
        return 1.0
    error = count_error(stage, users, frequency)
    parties = effective_parties(users, MAX_PARTIES_LOOKED_AT if stage.tau is None else MAX_NAMING_PARTIES)
    if stage.tau is None and stage.sums_above is not None and len(users) > stage.sums_above:
        parties = 1  # a plain sum has the noise of one large party
    bound = edge(parties, stage.zeta, places, rivals, stage.tau)
    absent = error.absent**2
    present = error.present**2
    if stage.oracle.one_slot:  # a report for one slot is none for another, so differences of counts vary more
        present += absent * stage.oracle.q / (1 - stage.oracle.q)
        absent /= 1 - stage.oracle.q
    excess = frequency * sum(users) - bound.mean * sqrt(absent)
    return _above_noise(excess, sqrt(present + bound.spread**2 * absent))


def detection_power(stages: Sequence[Stage], users: Sequence[float], frequency: float) -> float:
    """Return the probability that an item of that frequency passes every stage."""
    return prod(passing_power(stage, users, frequency) for stage in stages)


def marking_power(stages: Sequence[Stage], users: Sequence[float], frequency: float) -> float:
    """Return the probability that it is found and also marked as more than noise."""
    last = stages[-1]
    error = count_error(last, users, frequency)
    least = _least_marked(last.oracle, last.share, last.tested or last.candidates, tuple(users))
    excess = (frequency - least) * sum(users)
    found = detection_power(stages[:-1], users, frequency)
    return found * min(_above_noise(excess, error.present), passing_power(last, users, frequency))


def _above_noise(excess: float, deviation: float) -> float:
    """Return the probability that noise does not use up an excess; at a very large epsilon there is none."""
    return NormalDist().cdf(excess / deviation) if deviation else float(excess >= 0)


@lru_cache(maxsize=64)
def _least_marked(oracle: FrequencyOracle[Any], share: float, candidates: int, users: tuple[float, ...]) -> float:
    """Return the least frequency that is marked when every party's counts are exactly the expected ones."""
    n = np.array(users)
    deviations = n * np.sqrt(oracle.variance(0.0, 1) / (n * share))
    z = threshold(len(users), candidates)

    def is_marked(frequency: float) -> bool:
        support = n * share * (oracle.q + (oracle.p - oracle.q) * frequency)
        noise = NoiseScores(normal_scores(support, n * share, oracle.q)[None], deviations, n * share * oracle.q)
        return bool(significant(noise, z)[0])

    return bisected(is_marked, 0.0, 2.0)


def least_frequency(power_at: Callable[[float], float], power: float = POWER) -> float:
    """Return the smallest frequency with that power: infinity where not even everybody's item has it, 0 for any."""
    if power_at(1.0) < power:
        return inf
    if power_at(exp2(RAREST)) >= power:
        return 0.0
    return exp2(bisected(lambda exponent: power_at(exp2(exponent)) >= power, RAREST, 0.0))


def min_factor(is_enough: Callable[[float], bool], largest: float) -> float:
    """Return the least factor that is enough: infinity where the largest is not, 0 where even 2^-20 is."""
    if not is_enough(largest):
        return inf
    if is_enough(exp2(MIN_FACTOR)):
        return 0.0
    return exp2(bisected(lambda exponent: is_enough(exp2(exponent)), MIN_FACTOR, log2(largest)))
