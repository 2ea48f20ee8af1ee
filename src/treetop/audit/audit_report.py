"""What an audit found: one line for each claim, with its number."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

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
"""Said with every result: what no check here can tell."""


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
