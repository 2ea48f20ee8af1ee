"""Exact binomial confidence bounds (Clopper and Pearson 1934), without a statistics library."""

from collections.abc import Callable
from math import exp, lgamma, log, log1p

_STEPS = 500
_TINY = 1e-300


def binomial_lower(successes: int, trials: int, risk: float) -> float:
    """Return the p below which so many successes would be seen with a probability under `risk`."""
    if successes == 0:
        return 0.0
    return _solved(lambda p: _beta_cdf(p, successes, trials - successes + 1), risk)


def binomial_upper(successes: int, trials: int, risk: float) -> float:
    """Return the p above which so few successes would be seen with a probability under `risk`."""
    return 1 - binomial_lower(trials - successes, trials, risk)


def _solved(rising: Callable[[float], float], level: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return low


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _beta_cdf(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of I_x(a, b) by Lentz's method (DLMF 8.17.22)."""
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
