"""OLH on a device, and its seeded hash in Python integers: bit for bit the one that a party counts with.

Both hashes are pinned to the same vectors (tests/vectors/olh_hash.json).
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from treetop.oracles.hashed_reports import (
    FIRST_PRIME,
    SECOND_PRIME,
    SEED_BYTES,
    THIRD_PRIME,
    HashedFace,
    HashedReport,
    mixed_words,
)
from treetop.oracles.krr.device import SlotFace
from treetop.oracles.protocol import Randomness, Seed

MAX_BUCKETS = 1 << 16
"""A bucket takes two bytes at most; from epsilon 11 on this keeps d' below ceil(e^eps + 1), at no loss."""
_LOW_32 = (1 << 32) - 1


def bucket_count(odds: Fraction) -> int:
    """Return d' = ceil(e^eps + 1), 2^16 at most; e^eps is never a whole number, so its lower bound decides."""
    # d' = e^eps + 1 gives local hashing its least variance (Wang et al. 2017); the floor plus 2 is the ceiling of that.
    return min(odds.numerator // odds.denominator + 2, MAX_BUCKETS)


def premixed(key: int) -> tuple[int, int]:
    """Return the low and the high half of the word that splitmix64 makes of a key."""
    (mixed,) = mixed_words(key, 1)
    return mixed & _LOW_32, mixed >> 32


def bucket_of(seed: int, key: int, count: int) -> int:
    """Return the bucket of a key under a 32-bit seed, out of `count`."""
    low, high = premixed(key)
    mixed = ((seed ^ low) * FIRST_PRIME) & _LOW_32
    mixed = (((mixed ^ (mixed >> 15)) + high) * SECOND_PRIME) & _LOW_32
    mixed = ((mixed ^ (mixed >> 13)) * THIRD_PRIME) & _LOW_32
    mixed ^= mixed >> 16
    return (mixed * count) >> 32


class HashFace(HashedFace):
    """Run by the device: k-RR over the d' buckets of a hash whose seed is drawn afresh."""

    def __init__(self, odds: Fraction, slots: int) -> None:
        super().__init__(odds, slots)
        self._buckets = SlotFace(odds, slots)

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        """Return the seed, then what k-RR draws."""
        return Seed(SEED_BYTES), *self._buckets.randomness

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Return that of k-RR."""
        return self._buckets.thresholds

    def hashed(self, seed: int, value: int) -> int:
        """Return the bucket of a key under a seed."""
        return bucket_of(seed, value, self.slots)

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        """Return the seed and the perturbed bucket of a key."""
        seed, word, other = drawn
        return HashedReport(seed, self._buckets.report((word, other), self.hashed(seed, value)))

    def task_thresholds(self) -> Mapping[str, int]:
        """Return `keep` and `buckets`: a task without lists says all."""
        return {"keep": self._buckets.keep, "buckets": self.slots}
