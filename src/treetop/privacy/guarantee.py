"""What one report gives away, as data."""

from dataclasses import dataclass

from treetop.privacy.epsilon import Epsilon

NOT_COVERED = "docs/explanation/privacy_guarantee.md"
"""What the guarantee does not cover is said there."""


@dataclass(frozen=True)
class Guarantee:
    """The claim that an oracle makes for the one report of one user."""

    epsilon: Epsilon
    oracle: str
    reports_per_user: int = 1

    def __str__(self) -> str:
        times = "once" if self.reports_per_user == 1 else f"{self.reports_per_user} times"
        return (
            f"every user answers {times}; no report is more than e^{self.epsilon:g} = {self.epsilon.odds:.3g} "
            f"times likelier for one item than for another ({self.oracle})"
        )
