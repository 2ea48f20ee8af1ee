"""What an audit found: claims with their numbers, and exact ratios of probabilities judged against e^epsilon."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import inf, log1p
from typing import Any

from treetop.privacy.budget import Budget, exponential_bounds

NOT_SEEN = (
    "disks that say they have flushed and have not, and whether SQLite flushes when it is told to",
    "a device's folder lost or put back to an earlier state as a whole: the ledger and its counter together",
    "how long computing and the network take: pauses are recorded, nothing is timed",
    "memory, swap and core dumps, and what the operating system, other programs or the terminal keep",
    "whether the operating system's random bytes are random",
    "TLS and signatures: the party of the audit is on this machine and signs with a key of its own",
    "what a party or a server does with reports that it was sent",
    "other installations than this one, and code that behaves otherwise while it is audited",
)
"""Printed with every result: what no check here can see."""


@dataclass(frozen=True)
class Check:
    """One claim, what was measured, and the limit that it must keep."""

    name: str
    passed: bool
    claim: str
    measured: float
    limit: float

    def as_json(self) -> dict[str, Any]:
        """Return the check as JSON holds it: an infinite loss is the text "infinite"."""
        return {**asdict(self), "measured": "infinite" if self.measured == inf else self.measured}


@dataclass(frozen=True)
class AuditReport:
    """All checks of one audit."""

    checks: Sequence[Check]

    @property
    def passed(self) -> bool:
        """Return whether every claim held."""
        return all(check.passed for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return verdict, checks and what they cannot see as `treetop audit --json` prints them."""
        return {
            "verdict": "pass" if self.passed else "fail",
            "checks": [check.as_json() for check in self.checks],
            "not_seen": list(NOT_SEEN),
        }


TIGHT = Fraction(1, 1 << 40)
"""Part of e^epsilon that rounding to 64-bit thresholds may lose; more would be noise beyond the promise."""


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
        """Return whether the ratio is at most a rational lower bound of e^epsilon: no rounding may hide an excess."""
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


def largest_odds(columns: Iterable[Iterable[Fraction | int]], worst: Odds = NO_DIFFERENCE) -> Odds:
    """Return the largest ratio within any column, the probabilities of one output for all values, or `worst`."""
    for column in columns:
        probabilities = list(column)
        found = Odds(max(probabilities), min(probabilities))
        # Cross-multiplied, because the smaller probability may be zero.
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
