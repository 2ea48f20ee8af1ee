"""How many fake users an answer stands."""

from math import ceil


def fakes_needed(count_of_kth: float, p: float, q: float) -> int:
    """Return how many crafted reports, spread over all levels, lift an item that nobody holds to the k-th count.

    A crafted report supports its target always, an honest one of somebody else with probability q: it weighs
    (1 - q) / (p - q) users.
    """
    return ceil(max(count_of_kth, 0.0) * (p - q) / (1 - q))
