"""What would be needed to see an item through the noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon

CLEAR = 3.0
"""An item of fewer standard errors is hard to tell from the best of what noise alone would show."""
STEP = 0.25


@dataclass(frozen=True)
class LastLevel:
    """All that the noise of a party's last level depends on."""

    users: int
    reports: int
    domain: int


@dataclass(frozen=True)
class Advice:
    """How many times the users, or which epsilon, would lift an item to so many standard errors."""

    users_factor: float | None
    """None where nobody holds the item: noise invented it, and nothing would show it."""
    epsilon: float | None
    """None where no epsilon that devices accept would do."""
    clear: float = CLEAR
    """The standard errors it takes."""


def advice(
    count: float,
    stderr: float,
    levels: Sequence[LastLevel],
    oracle: str | Oracle,
    epsilon: Epsilon,
    *,
    true_count: float,
    largest: float,
    clear: float = CLEAR,
) -> Advice | None:
    """Return what would do for an item of that true count, or None where its estimate is clear already.

    Frequencies stay as they are when users are added, so standard errors shrink with the square root of the users. No
    epsilon above the `largest` is named: devices would refuse it.
    """
    if count >= clear * stderr:
        return None
    if true_count <= 0:
        return Advice(None, None, clear)
    factor = max((clear * stderr / true_count) ** 2, 1.0)
    return Advice(factor, _epsilon_for(factor, levels, oracle, epsilon, largest), clear)


def _epsilon_for(
    factor: float, levels: Sequence[LastLevel], oracle: str | Oracle, epsilon: Epsilon, largest: float
) -> float | None:
    """Return the smallest larger epsilon, in steps, whose noise is that many times smaller in variance."""
    wanted = _noise(levels, oracle, epsilon) / factor
    tried = epsilon + STEP - epsilon % STEP
    while tried <= largest:
        if _noise(levels, oracle, Epsilon(tried)) <= wanted:
            return tried
        tried += STEP
    return None


def _noise(levels: Sequence[LastLevel], oracle: str | Oracle, epsilon: Epsilon) -> float:
    """Return the variance of the summed count of an item that nobody holds."""
    oracles = [oracle_named(oracle, epsilon, level.domain - 1) for level in levels]
    return sum(
        float(level.users**2 * known.variance(0.0, level.reports)) for level, known in zip(levels, oracles, strict=True)
    )
