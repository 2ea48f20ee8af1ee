"""Ratios of probabilities in integers and rationals, and how they are judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log1p

from treetop.audit.audit_report import Check
from treetop.privacy.budget import Budget, exponential_bounds

TIGHT = Fraction(1, 1 << 40)


@dataclass(frozen=True)
class Odds:
    """The largest ratio of two probabilities of one output: larger / smaller, which may be zero."""

    larger: Fraction | int
    smaller: Fraction | int

    @property
    def infinite(self) -> bool:
        """Return whether an output is possible for one value and impossible for another."""
        return self.smaller == 0 and self.larger > 0

    def within(self, budget: Budget) -> bool:
        """Return whether the ratio is at most a rational lower bound of e^epsilon."""
        return self.larger <= self.smaller * budget.odds_below

    def tight(self, budget: Budget) -> bool:
        """Return whether the ratio is at least (1 - 2^-40) e^epsilon: nothing is wasted."""
        return self.larger >= self.smaller * (1 - TIGHT) * exponential_bounds(budget.amount)[1]

    def excess(self, budget: Budget) -> float:
        """Return ln(ratio) - epsilon; negative where the promise is kept."""
        if self.infinite:
            return inf
        return log1p(float(Fraction(self.larger) / Fraction(self.smaller) / budget.odds_below - 1))


NO_DIFFERENCE = Odds(1, 1)


def largest_odds(columns: Iterable[Iterable[Fraction]], worst: Odds = NO_DIFFERENCE) -> Odds:
    """Return the largest ratio within any column, the probabilities of one output for all values.

    One that was found before counts, too.
    """
    for column in columns:
        probabilities = list(column)
        found = Odds(max(probabilities), min(probabilities))
        if found.larger * worst.smaller > worst.larger * found.smaller or found.infinite:
            worst = found
    return worst


Cases = Sequence[tuple[Budget, Odds]]


def within(name: str, claim: str, cases: Cases) -> Check:
    """Check that no ratio exceeds e^epsilon; the number is the largest ln(ratio) - epsilon."""
    excess = max(odds.excess(budget) for budget, odds in cases)
    kept = all(odds.within(budget) for budget, odds in cases)
    return Check(name, kept, f"{claim} (number: ln of the largest ratio, less epsilon)", excess, 0.0)


def tight(name: str, cases: Cases) -> Check:
    """Check that every ratio comes within 2^-40 of e^epsilon: the noise is no larger than promised."""
    gap = max(-odds.excess(budget) for budget, odds in cases)
    claim = f"largest ratios found: {len(cases)}, each at least (1 - 2^-40) e^epsilon"
    return Check(name, all(odds.tight(budget) for budget, odds in cases), claim, gap, float(TIGHT))
