"""Laws of what honest reports look like: reports in their far tail do not break a count, they show an attack."""

import numpy as np

from treetop.oracles.frequency_oracle import Frequencies

TAIL = 1e-12
"""How rarely honest reports are called crafted."""


def own_and_others(p: float, others: int, q: float) -> Frequencies:
    """Return the law of Bern(p) + Bin(others, q): the chance of 0, 1, ..., others + 1."""
    chances = np.zeros(others + 2)
    chances[:-1] = (1 - p) * binomial(others, q)
    chances[1:] += p * binomial(others, q)
    return chances


def binomial(trials: int, q: float) -> Frequencies:
    """Return the chances of 0 to all, each from the one before, in logarithms: no power of q is too small."""
    index = np.arange(trials)
    ratios = np.log((trials - index) / (index + 1)) + np.log(q) - np.log1p(-q)
    logarithms: Frequencies = trials * np.log1p(-q) + np.concatenate([[0.0], np.cumsum(ratios)])
    return np.exp(logarithms)


def max_of(law: Frequencies, tail: float) -> int:
    """Return the smallest number whose excess has at most that chance."""
    return len(law) - 1 - int(np.searchsorted(np.cumsum(law[::-1]), tail, side="right"))
