"""Privacy budgets as exact rationals, and e^epsilon between two of them.

A budget is the decimal text that a person wrote, read as a fraction: no rounding stands between the number that
was agreed on and the thresholds that a device compares random words with.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from treetop.errors import InvalidInput

SMALLEST = Fraction(1, 1000)
"""Below it, 64-bit thresholds would no longer be tight to 2^-40."""
LARGEST = Fraction(16)
"""Above it, 64-bit thresholds would no longer be tight to 2^-40."""

_DECIMAL = re.compile(r"(0|[1-9][0-9]?)(\.[0-9]{1,20})?")
_GRID_BITS = 192
"""Bounds of e^epsilon are multiples of 2^-192: far finer than a threshold of 64 bits, and short to compute with."""


@dataclass(frozen=True)
class Budget:
    """The epsilon of one report, as it was written."""

    text: str
    """Decimal digits without needless zeros: equal budgets have equal texts."""

    def __post_init__(self) -> None:
        if not _DECIMAL.fullmatch(self.text):
            raise InvalidInput("epsilon_not_decimal", text=self.text)
        if not SMALLEST <= Fraction(self.text) <= LARGEST:
            raise InvalidInput("device_epsilon_range", text=self.text)
        if "." in self.text:
            object.__setattr__(self, "text", self.text.rstrip("0").rstrip("."))

    @property
    def amount(self) -> Fraction:
        """Return epsilon."""
        return Fraction(self.text)

    @property
    def odds_below(self) -> Fraction:
        """Return a rational just below e^epsilon; every threshold is computed from it."""
        return exponential_bounds(self.amount)[0]


@cache
def exponential_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^exponent, for 0 <= exponent <= 16, closer together than 2^-180.

    The Taylor series; past the term 2 * exponent every term is at most half the one before, so that twice the
    first term left out bounds all that were.
    """
    total = Fraction(0)
    term = Fraction(1)
    index = 0
    while index < 2 * exponent or term > Fraction(1, 1 << _GRID_BITS):
        total += term
        index += 1
        term *= exponent * Fraction(1, index)
    return _on_grid_below(total), -_on_grid_below(-(total + 2 * term))


def _on_grid_below(number: Fraction) -> Fraction:
    return Fraction((number.numerator << _GRID_BITS) // number.denominator, 1 << _GRID_BITS)
