"""Constants of every statistical test, stated once.

Seeds are fixed, so a test that passes goes on passing; the false-alarm rate is what a fresh seed would risk.
"""

from scipy.stats import chi2, norm

FALSE_ALARM = 1e-9
Z = float(norm.isf(FALSE_ALARM / 2))
"""6.1: a deviation of so many standard errors is an alarm."""


def chi_square_limit(degrees: int) -> float:
    return float(chi2.isf(FALSE_ALARM, degrees))
