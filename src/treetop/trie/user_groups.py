"""Which users answer at which level: divided once, each into exactly one group, or drawn level by level (Canopy)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Literal


class Role(StrEnum):
    """What the users of a group are asked."""

    ESTIMATE = "estimate"
    VALIDATE_INFREQUENT = "validate infrequent"
    VALIDATE_FREQUENT = "validate frequent"


VALIDATING = (Role.VALIDATE_INFREQUENT, Role.VALIDATE_FREQUENT)


@dataclass(frozen=True)
class Group:
    """The users of one level with one role: U_h, or the validation sets U^_{h,0} and U^_{h,1} of TAPS."""

    level: int
    role: Role = Role.ESTIMATE

    def __str__(self) -> str:
        return f"the group of level {self.level} ({self.role.value})"


GroupSizes = dict[Group, int]


def floor_of_share(share: float, whole: int) -> int:
    """Return floor(share * whole) for the share as it is written: 0.29 of 100 is 29."""
    return int(Fraction(str(share)) * whole)


def even_split(users: int, parts: int) -> list[int]:
    """Return sizes that differ by one at most; the first parts get the remainder."""
    return [users // parts + (part < users % parts) for part in range(parts)]


def equal_groups(users: int, levels: int) -> GroupSizes:
    """FedPEM: g groups of equal size."""
    return {Group(h): size for h, size in enumerate(even_split(users, levels), start=1)}


def two_phase_groups(users: int, levels: int, shared_levels: int, phase_one_share: float) -> GroupSizes:
    """TAP: round(share n) users over the g_s levels of phase I, the rest over the levels of phase II."""
    phase_one = round(phase_one_share * users) if shared_levels else 0
    sizes = even_split(phase_one, shared_levels) if shared_levels else []
    sizes += even_split(users - phase_one, levels - shared_levels)
    return {Group(h): size for h, size in enumerate(sizes, start=1)}


def with_validation_sets(sizes: GroupSizes, pruned_levels: Sequence[int], beta: float) -> GroupSizes:
    """TAPS: at a pruned level floor(beta n), floor(beta n) and the rest, disjoint."""
    divided: GroupSizes = {}
    for group, size in sizes.items():
        validating = floor_of_share(beta, size) if group.level in pruned_levels else 0
        if group.level in pruned_levels:
            divided[Group(group.level, Role.VALIDATE_INFREQUENT)] = validating
            divided[Group(group.level, Role.VALIDATE_FREQUENT)] = validating
        divided[group] = size - 2 * validating
    return divided


def ramped_groups(users: int, levels: int) -> GroupSizes:
    """GTF: level i from 0 gets floor(n / 2g + i n / (g (g + 1))) users, the last one also the remainder."""
    n = users
    g = levels
    sizes = [n * (g + 1 + 2 * i) // (2 * g * (g + 1)) for i in range(g)]
    sizes[-1] += n - sum(sizes)
    return {Group(h): size for h, size in enumerate(sizes, start=1)}


Weights = Literal["adaptive", "ramp", "equal"]
SEEDED_LAST = Fraction(13, 20)
"""Share of users for the last level where earlier weeks found names that it counts again."""


def level_weights(levels: int, rule: Weights, uncovered: float) -> list[float]:
    """Return w_1 .. w_L: w_L = 2, w_1 = 1/2, w_j = max(j / (L - 1), uncovered) otherwise.

    `ramp` is the same with nothing uncovered; `equal` weighs all levels 1, the last one 2. Both are known before the
    first report, so a device can draw its level and answer at any time.
    """
    if rule == "equal":
        return [1.0] * (levels - 1) + [2.0]
    least = uncovered if rule == "adaptive" else 0.0
    middle = [max(j / (levels - 1), least) for j in range(2, levels)]
    return [0.5, *middle, 2.0][-levels:]


def seeded_weights(weights: list[float]) -> list[float]:
    """Return the weights with which the last level gets 65 % of the users, and the others their parts of the rest."""
    last = float(SEEDED_LAST / (1 - SEEDED_LAST)) * sum(weights[:-1])
    return [*weights[:-1], last or weights[-1]]


def joining_share(weights: list[float], level: int) -> float:
    """Return w_h / (w_h + .. + w_L): the probability that a user not asked yet joins level h."""
    return weights[level - 1] / sum(weights[level - 1 :])
