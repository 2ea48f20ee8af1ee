"""The privacy budget: finite and positive, or no object at all."""

import math
from fractions import Fraction
from typing import Self

from treetop.errors import InvalidInput
from treetop.privacy.budget import LARGEST as LARGEST_OF_A_DEVICE
from treetop.privacy.budget import SMALLEST, exponential_bounds

LARGEST = 700.0
"""e^epsilon is still a finite double here; beyond about 20 a report hides nothing anyway."""
WHOLE_ODDS = 1e3
"""From here on three digits would be a power of ten, so the whole number is written."""
LONG_ODDS = 1e7
"""From here on the whole number is too long to read."""


class Epsilon(float):
    """The budget of one report, in the definition of epsilon-LDP."""

    _decimals: str
    """As it was written: many decimals are no double, and the nearest one may be larger."""

    def __new__(cls, value: float | str) -> Self:
        """Refuse what is not a finite positive number."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise InvalidInput("epsilon_not_number", value=value) from None
        if not math.isfinite(number) or not 0 < number <= LARGEST:
            raise InvalidInput("epsilon_range", largest=LARGEST, value=value)
        epsilon = super().__new__(cls, number)
        epsilon._decimals = value if isinstance(value, str) else repr(number)
        return epsilon

    @property
    def odds(self) -> float:
        """Return e^epsilon: how much likelier one value may make a report than another."""
        return math.exp(self)

    @property
    def written_odds(self) -> str:
        """Return e^epsilon for people to read: three digits, or the whole number while that is short."""
        return f"{self.odds:,.0f}" if WHOLE_ODDS <= self.odds < LONG_ODDS else f"{self.odds:.3g}"

    @property
    def odds_below(self) -> Fraction:
        """Return the rational just below e^epsilon that a device's thresholds are computed from."""
        written = Fraction(self._decimals)
        if SMALLEST <= written <= LARGEST_OF_A_DEVICE:
            return exponential_bounds(written)[0]
        return Fraction(self.odds)
