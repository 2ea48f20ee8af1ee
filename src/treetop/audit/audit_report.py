"""What an audit found: one line for each claim, with its number."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any


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
        """Return verdict and checks as `treetop audit --json` prints them."""
        return {"verdict": "pass" if self.passed else "fail", "checks": [check.as_json() for check in self.checks]}
