"""Reports that hardly any honest device would send: counted, not refused, and a careful fake is not among them."""

from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from treetop.errors import InvalidInput

TAIL = 1e-12
"""An honest report is taken for a fake once in so many, at most, on each side."""
SEEDS = 1 << 32


def honest_ones(slots: int, q: float, tail: float = TAIL) -> tuple[int, int]:
    """Return the fewest and the most ones that an OUE report over d slots has, but for both tails.

    The true bit is fair, the d - 1 others are set with q: the ones are Bin(1, 1/2) + Bin(d - 1, q).
    """
    if slots < 2 or not 0 < q < 1:
        raise InvalidInput(f"expected two slots at least and 0 < q < 1, found {slots} and {q}")
    others = _binomial(slots - 1, q)
    law = (np.append(others, 0.0) + np.append(0.0, others)) / 2
    fewest = int(np.searchsorted(np.cumsum(law), tail, side="right"))
    most = slots - int(np.searchsorted(np.cumsum(law[::-1]), tail, side="right"))
    return fewest, most


def _binomial(trials: int, q: float) -> NDArray[np.float64]:
    """Return the probabilities of 0 to n successes."""
    whole = lgamma(trials + 1)
    return np.array([
        exp(whole - lgamma(hits + 1) - lgamma(trials - hits + 1) + hits * log(q) + (trials - hits) * log1p(-q))
        for hits in range(trials + 1)
    ])  # fmt: skip


def implausible_bits(ones: NDArray[np.int64], slots: int, q: float) -> int:
    """Return how many OUE reports have too few or too many ones."""
    fewest, most = honest_ones(slots, q)
    return int(np.count_nonzero((ones < fewest) | (ones > most)))


def honest_repeats(reports: int, tail: float = TAIL) -> int:
    """Return how often the most frequent of n uniform 32-bit seeds occurs, but for the tail (a union bound)."""
    times = 1
    while times < reports and _log_chance(reports, times + 1) > log(tail):
        times += 1
    return times


def _log_chance(reports: int, times: int) -> float:
    """Return the logarithm of C(n, m) 2^(-32 (m - 1)), which bounds the chance that some seed occurs m times."""
    ways = lgamma(reports + 1) - lgamma(times + 1) - lgamma(reports - times + 1)
    return ways - (times - 1) * log(SEEDS)


def implausible_seeds(seeds: NDArray[np.uint32]) -> int:
    """Return how many OLH reports have a seed that too many others have as well."""
    _, times = np.unique(seeds, return_counts=True)
    return int(times[times > honest_repeats(len(seeds))].sum())
