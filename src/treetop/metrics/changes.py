"""What changed from one week's answer to the next, beyond what noise and the choice of users explain.

Each week other users answer. So an item's share of all users is known as well as a sample of n of them tells it, with
the noise of their reports on top: c / n, of variance (stderr^2 + c (1 - c / n)) / n^2. The two shares of an item that
both weeks found differ if

    |c_t - c_(t-1)| / sqrt(v_t + v_(t-1)) > z_(1 - alpha / (4 k)),

with c and v in shares of users, so that a week in which fewer answered does not look like a fall of everything. Two
weeks name 2 k items at most and each may rise or fall: noise marks any of them in 5 % of weeks at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal

from treetop.trie.significance import FALSE_ALARMS

Mark = Literal["up", "down", "new", "gone"]


@dataclass(frozen=True)
class WeeklyCount:
    """An item in the answer of one week: its estimated holders among the users who answered."""

    item: str
    count: float
    stderr: float
    users: int
    sampled: bool = False
    """Whether the error includes the choice of users, as it does where each reports some of her items."""

    @property
    def share(self) -> float:
        """Return c / n."""
        return self.count / self.users

    @property
    def variance(self) -> float:
        """Return v, the variance of the share: noise of the reports, and the choice of the users who answered."""
        noise = (self.stderr / self.users) ** 2
        held = min(max(self.share, 0.0), 1.0)
        return noise if self.sampled else noise + held * (1 - held) / self.users


@dataclass(frozen=True)
class Change:
    """What became of an item since the week before."""

    item: str
    mark: Mark | None
    """`up` or `down`: its share changed. `new`, `gone`: the other week's answer does not count it, so nothing can be
    said of how much it changed. None: what differs may be noise."""
    score: float | None = None
    """By how many standard deviations the shares differ; None where one week has no estimate."""


def change_threshold(k: int) -> float:
    """Return z_(1 - alpha / (4 k))."""
    return NormalDist().inv_cdf(1 - FALSE_ALARMS / (4 * k))


def changes(before: Sequence[WeeklyCount], after: Sequence[WeeklyCount], k: int) -> tuple[Change, ...]:
    """Compare two weeks: the items of the later one in their order, then those that are gone."""
    earlier = {row.item: row for row in before}
    later = {row.item for row in after}
    z = change_threshold(k)
    found = [
        Change(row.item, "new") if row.item not in earlier else _compared(earlier[row.item], row, z) for row in after
    ]
    return (*found, *(Change(row.item, "gone") for row in before if row.item not in later))


def _compared(before: WeeklyCount, after: WeeklyCount, z: float) -> Change:
    difference = after.share - before.share
    deviation = sqrt(after.variance + before.variance)
    score = difference / deviation if deviation else None  # None: no noise at all, any difference is one
    differs = difference != 0 if score is None else abs(score) > z
    mark: Mark | None = None if not differs else "up" if difference > 0 else "down"
    return Change(after.item, mark, score)
