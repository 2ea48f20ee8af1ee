"""How many prefixes a level keeps (section 5.4 of the paper, Eqs. 9 and 10).

Frequencies come in falling order: f_1 is `frequencies[0]`.
"""

from dataclasses import dataclass
from itertools import accumulate
from math import erfc
from typing import Literal

import numpy as np

from treetop.oracles.frequency_oracle import Frequencies

Extension = Literal["floor", "printed", "worst_case", "fixed"]
DriftRange = Literal["positive", "printed"]


@dataclass(frozen=True)
class ExtensionRule:
    """How t is chosen, and two details of it."""

    extension: Extension = "floor"
    factor: float = 1.0
    drift_range: DriftRange = "positive"


def anchor(frequencies: Frequencies, k: int) -> int:
    """Return k*, 1 < k* <= k, by Eq. 9; the smallest one on a tie, and 1 if k is 1.

    argmax of  (sum over 1 < j <= k* of f_j) / k*  -  (sum over k* < s <= k + 1 of f_s) / (k + 1 - k*).
    """
    if k == 1:
        return 1
    up_to: list[float] = list(accumulate(frequencies[: k + 1].tolist()))

    def contrast(k_star: int) -> float:
        leading = (up_to[k_star - 1] - up_to[0]) / k_star
        return leading - (up_to[k] - up_to[k_star - 1]) / (k + 1 - k_star)

    return max(range(2, k + 1), key=contrast)


def drift(frequencies: Frequencies, k: int, k_star: int, sigma: float, drift_range: DriftRange) -> int:
    """Return eta = round(min(k, E(x))), not below 0, by Eq. 10.

    E(x) is the sum over x of x Pr(X_k* <= X_k*+x). The printed range of x starts below zero and ends at an
    undefined pi: `positive` is x = 1 .. min(k, d - k*); `printed` takes pi for d and the ranks that exist.
    """
    d = len(frequencies)
    first = 1 if drift_range == "positive" else max(k_star - k + 1, 1 - k_star)
    last = d - k_star if drift_range == "positive" else d - k
    f = frequencies[: k_star + k].tolist()
    ranks = range(first, min(k, last) + 1)
    expected = sum(x * overtaking(f[k_star - 1] - f[k_star + x - 1], sigma) for x in ranks)
    return max(0, round(min(k, expected)))


def overtaking(gap: float, sigma: float) -> float:
    """Return Pr(X_k* <= X_k*+x) = Phi(-(f_k* - f_k*+x) / (sqrt(2) sigma))."""
    return 0.5 if sigma == np.inf else 0.5 * erfc(gap / (2 * sigma))


def extension_number(frequencies: Frequencies, k: int, sigma: float, rule: ExtensionRule) -> int:
    """Return t: how many prefixes are extended to the next level.

    With fewer than k + 1 candidates all are. The printed t = k* + eta falls to 2 or 3 on skewed levels, so the
    default `floor` never keeps fewer than k.
    """
    d = len(frequencies)
    if d < k + 1:
        return d
    if rule.extension == "fixed":
        return min(d, fixed_extension(k, rule.factor))
    k_star = anchor(frequencies, k)
    if rule.extension == "worst_case":
        return min(d, k_star + k)
    t = k_star + drift(frequencies, k, k_star, sigma, rule.drift_range)
    return min(d, max(k, t) if rule.extension == "floor" else t)


def fixed_extension(k: int, factor: float) -> int:
    """Return t = floor(factor k), at least 1: the same at every level."""
    return max(1, int(factor * k))
