"""What one report gives away, as data; and the rule that a user answers once."""

from collections.abc import Hashable
from dataclasses import dataclass

from treetop.errors import PromiseBroken
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
        return self.about("item")

    def about(self, what: str) -> str:
        """Say what is claimed, for one of what a user holds against another."""
        times = "once" if self.reports_per_user == 1 else f"{self.reports_per_user} times"
        return (
            f"every user answers {times}; no report is more than e^{self.epsilon:g} = {self.epsilon.written_odds} "
            f"times likelier for one {what} than for another ({self.oracle})"
        )


class OncePerUser:
    """Run where reports are collected: remember which groups of a partition have answered."""

    def __init__(self, groups: frozenset[Hashable] = frozenset()) -> None:
        self._waiting: set[Hashable] = set(groups)
        self._answered: set[Hashable] = set()

    def admit(self, group: Hashable) -> None:
        """Name a group whose users are in no other one, or refuse a name that is taken."""
        if group in self._waiting or group in self._answered:
            raise PromiseBroken("group_taken", group=group)
        self._waiting.add(group)

    def spend(self, group: Hashable) -> None:
        """Let a group answer, or refuse one that is unknown or has answered before."""
        if group in self._answered:
            raise PromiseBroken("group_answered", group=group)
        if group not in self._waiting:
            raise PromiseBroken("group_unknown", group=group)
        self._waiting.remove(group)
        self._answered.add(group)
