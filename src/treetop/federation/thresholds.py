"""The integers that a device compares random 64-bit words with.

All are rounded so that the ratio of two output probabilities never exceeds e^epsilon: "keep" down, "flip" up.
"""

from functools import cache

from treetop.errors import InvalidInput
from treetop.privacy.budget import Budget

WORD_BITS = 64
WORDS = 1 << WORD_BITS
HALF = WORDS >> 1
MOST_SLOTS = (1 << 22) + 1
MOST_BUCKETS = 1 << 16


def checked_slots(slots: int) -> int:
    """Return d, or refuse a domain without a candidate or larger than any that is asked about."""
    if not 2 <= slots <= MOST_SLOTS:
        raise InvalidInput(f"a domain has from 2 to {MOST_SLOTS} slots, the dummy counted, found {slots}")
    return slots


@cache
def keep_threshold(budget: Budget, slots: int) -> int:
    """Return floor(2^64 p) for p = e^eps / (d - 1 + e^eps), from a lower bound of e^eps."""
    odds = budget.odds_below
    return (odds.numerator << WORD_BITS) // ((checked_slots(slots) - 1) * odds.denominator + odds.numerator)


@cache
def flip_threshold(budget: Budget) -> int:
    """Return ceil(2^64 q) for q = 1 / (e^eps + 1), from a lower bound of e^eps."""
    odds = budget.odds_below
    return -((-odds.denominator << WORD_BITS) // (odds.numerator + odds.denominator))


@cache
def bucket_count(budget: Budget) -> int:
    """Return d' = ceil(e^eps + 1), 2^16 at most; e^eps is never a whole number, so its lower bound decides."""
    odds = budget.odds_below
    return min(odds.numerator // odds.denominator + 2, MOST_BUCKETS)
