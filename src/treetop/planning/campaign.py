"""What a campaign could find every week, and how long devices would answer it: `treetop plan --campaign`.

A campaign of T weeks in cycles of W has T / W cycles. Each user answers in one week of each cycle, so a report may cost
the lifetime epsilon divided by the number of cycles, and one in W users answers a week. With W = 1 all answer weekly.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from treetop.errors import InvalidInput
from treetop.federation.device.ledger import Caps
from treetop.mechanisms.defaults import DEFAULT_K
from treetop.planning.plan import DEFAULT_CATALOGUE, DEFAULT_WORD_LIST, PlanRow, plan

WEEK = 7 * 24 * 60 * 60
DEFAULT_WEEKS = 12
MIN_WEEKS = 2
MAX_WEEKS = 520
MAX_EPSILON = 100
Cap = Literal["task", "window", "lifetime"]


@dataclass(frozen=True)
class Shipped:
    """What devices allow whose owners changed nothing."""

    epsilon: float
    """The largest epsilon, up to the one asked for, at which devices answer in all weeks."""
    silent_from: int | None
    """The first week in which no device answers at the epsilon asked for; None if they answer to the end."""
    refused_by: Cap | None
    """The cap that is reached there."""


@dataclass(frozen=True)
class Rotation:
    """One length of a cycle."""

    cycle: int
    """W."""
    cycles: int
    epsilon: float
    """Of a report."""
    answering: tuple[int, ...]
    """Users of every party who are expected to answer a week."""
    shipped: Shipped
    modes: tuple[PlanRow, ...]
    """What a week could find."""
    shipped_modes: tuple[PlanRow, ...]
    """The same with what devices allow as they are shipped."""


@dataclass(frozen=True)
class CampaignPlan:
    """Cycles of several lengths side by side."""

    users: tuple[int, ...]
    k: int
    weeks: int
    lifetime_epsilon: Fraction
    caps: Caps
    rotations: tuple[Rotation, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `treetop plan --campaign --json` prints."""
        shown = ("mode", "found", "marked", "stderr")
        rotations = [
            {
                "cycle": each.cycle,
                "cycles": each.cycles,
                "epsilon": each.epsilon,
                "answering": list(each.answering),
                "as_shipped": asdict(each.shipped),
                "modes": [{name: getattr(row, name) for name in shown} for row in each.modes],
                "modes_as_shipped": [{name: getattr(row, name) for name in shown} for row in each.shipped_modes],
            }
            for each in self.rotations
        ]
        caps = {
            "per_task": float(self.caps.per_task),
            "window": float(self.caps.window),
            "window_days": self.caps.window_seconds / (WEEK / 7),
            "lifetime": float(self.caps.lifetime),
        }
        return {
            "users": list(self.users),
            "k": self.k,
            "weeks": self.weeks,
            "lifetime_epsilon": float(self.lifetime_epsilon),
            "caps": caps,
            "rotations": rotations,
        }


def plan_campaign(
    users: Sequence[int],
    *,
    weeks: int = DEFAULT_WEEKS,
    lifetime_epsilon: float | str | Fraction | None = None,
    k: int = DEFAULT_K,
    catalogue_size: int = DEFAULT_CATALOGUE,
    word_list_size: int = DEFAULT_WORD_LIST,
    items_per_user: int = 1,
    caps: Caps | None = None,
) -> CampaignPlan:
    """Return what a campaign could find, for every length of a cycle that divides its weeks.

    >>> from treetop.planning.campaign import plan_campaign
    >>> [each.cycle for each in plan_campaign([1_000_000], weeks=12).rotations]
    [1, 2, 3, 4, 6, 12]
    """
    caps = caps or Caps()
    if isinstance(weeks, bool) or not isinstance(weeks, int) or not MIN_WEEKS <= weeks <= MAX_WEEKS:
        raise InvalidInput("campaign_weeks", min_weeks=MIN_WEEKS, max_weeks=MAX_WEEKS, weeks=weeks)
    lifetime = _epsilon(caps.lifetime if lifetime_epsilon is None else lifetime_epsilon)
    sizes = plan(users, k=k, catalogue_size=catalogue_size, word_list_size=word_list_size).users
    if min(sizes) < weeks:
        raise InvalidInput("campaign_users", weeks=weeks, sizes=min(sizes))

    def found(epsilon: Fraction, answering: tuple[int, ...]) -> tuple[PlanRow, ...]:
        return plan(
            answering,
            k=k,
            epsilon=float(epsilon),
            catalogue_size=catalogue_size,
            word_list_size=word_list_size,
            items_per_user=items_per_user,
        ).rows

    rotations = []
    for cycle in (each for each in range(1, weeks + 1) if weeks % each == 0):
        cycles = weeks // cycle
        answering = tuple(size // cycle for size in sizes)
        epsilon = lifetime / cycles
        silent = silence(epsilon, cycle, cycles, caps)
        allowed = min(epsilon, allowed_epsilon(cycle, cycles, caps))
        modes = found(epsilon, answering)
        shipped = Shipped(float(allowed), *(silent or (None, None)))
        # The same plan, not computed twice, where devices allow what was asked for.
        within = modes if allowed == epsilon else found(allowed, answering)
        rotations.append(Rotation(cycle, cycles, float(epsilon), answering, shipped, modes, within))
    return CampaignPlan(sizes, k, weeks, lifetime, caps, tuple(rotations))


def _epsilon(given: float | str | Fraction) -> Fraction:
    """Return a lifetime epsilon exactly as it was written, so that 0.1 is a tenth."""
    try:
        found = Fraction(str(given)) if isinstance(given, float) else Fraction(given)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        found = Fraction(0)
    if not 0 < found <= MAX_EPSILON or isinstance(given, bool):
        raise InvalidInput("lifetime_epsilon_invalid", max_epsilon=MAX_EPSILON, given=given)
    return found


def begun_in_window(cycle: int, cycles: int, caps: Caps) -> int:
    """Return the most cycles that a device pays for within one window; it pays when a cycle begins."""
    # A window is half open: a cycle that begins exactly one window after another is outside it, hence the - 1.
    return min(cycles, 1 + (caps.window_seconds - 1) // (cycle * WEEK))


def allowed_epsilon(cycle: int, cycles: int, caps: Caps) -> Fraction:
    """Return the largest epsilon at which a device answers in every cycle."""
    return min(caps.per_task, caps.lifetime / cycles, caps.window / begun_in_window(cycle, cycles, caps))


def silence(epsilon: Fraction, cycle: int, cycles: int, caps: Caps) -> tuple[int, Cap] | None:
    """Return the first week of the first cycle that a device does not pay for, and the cap that forbids it."""
    if epsilon > caps.per_task:
        return 1, "task"
    for paid in range(cycles):
        if (paid + 1) * epsilon > caps.lifetime:
            return 1 + paid * cycle, "lifetime"
        if begun_in_window(cycle, paid + 1, caps) * epsilon > caps.window:
            return 1 + paid * cycle, "window"
    return None
