"""How many of the users not asked yet a level of Canopy asks."""

from typing import Literal

Weights = Literal["adaptive", "ramp", "equal"]


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


def joining_share(weights: list[float], level: int) -> float:
    """Return w_h / (w_h + .. + w_L): the probability that a user not asked yet joins level h."""
    return weights[level - 1] / sum(weights[level - 1 :])
