"""A device's perturbation: randomness first, the private value last.

A draw takes everything random that a report will need, the lie as well as the decision to tell the truth, before
the value is looked at. `report` is then a plain function of draw and value: how many random bytes are read cannot
depend on the value.
"""

from dataclasses import dataclass
from struct import unpack
from typing import NamedTuple

from treetop.federation.bucket_hash import bucket_of
from treetop.federation.ports import Entropy
from treetop.federation.thresholds import (
    HALF,
    WORD_BITS,
    bucket_count,
    checked_slots,
    flip_threshold,
    keep_threshold,
)
from treetop.privacy.budget import Budget

SEED_BYTES = 4
WORD_BYTES = WORD_BITS >> 3


def uniform_word(entropy: Entropy) -> int:
    """Return a uniform 64-bit integer."""
    return int.from_bytes(entropy.read(WORD_BYTES), "big")


def uniform_below(bound: int, entropy: Entropy) -> int:
    """Return a uniform integer below a bound: as many bits as it needs, drawn again while they are too large."""
    bits = (bound - 1).bit_length()
    length, mask = (bits + 7) >> 3, (1 << bits) - 1
    while True:
        drawn = int.from_bytes(entropy.read(length), "big") & mask
        if drawn < bound:
            return drawn


@dataclass(frozen=True, slots=True, repr=False)
class SlotDraw:
    """The randomness of one k-RR report."""

    kept: bool
    other: int
    """Which of the d - 1 other slots a lie names, counted without the true one."""

    def report(self, slot: int) -> int:
        """Return the reported slot."""
        return slot if self.kept else self.other + (self.other >= slot)


class SlotSampler:
    """k-RR over d slots, the dummy counted."""

    def __init__(self, budget: Budget, slots: int) -> None:
        self.slots = checked_slots(slots)
        self.keep = keep_threshold(budget, slots)

    def draw(self, entropy: Entropy) -> SlotDraw:
        """Run by the device: keep with probability keep / 2^64; the lie is drawn in any case."""
        kept = uniform_word(entropy) < self.keep
        return SlotDraw(kept, uniform_below(self.slots - 1, entropy))


@dataclass(frozen=True, slots=True, repr=False)
class BitsDraw:
    """The randomness of one OUE report: a word for each position."""

    words: tuple[int, ...]
    flip: int

    def report(self, slot: int) -> tuple[bool, ...]:
        """Return the reported bits: the true one set with 1/2, the others with flip / 2^64."""
        bits = [word < self.flip for word in self.words]
        bits[slot] = self.words[slot] < HALF
        return tuple(bits)


class BitsSampler:
    """OUE over d positions, the dummy counted."""

    def __init__(self, budget: Budget, slots: int) -> None:
        self.slots = checked_slots(slots)
        self.flip = flip_threshold(budget)

    def draw(self, entropy: Entropy) -> BitsDraw:
        """Run by the device: one word for each position."""
        return BitsDraw(unpack(f">{self.slots}Q", entropy.read(WORD_BYTES * self.slots)), self.flip)


class HashedReport(NamedTuple):
    """A seed, and the bucket reported for it."""

    seed: int
    bucket: int


@dataclass(frozen=True, slots=True, repr=False)
class HashDraw:
    """The randomness of one OLH report."""

    seed: int
    bucket: SlotDraw
    count: int

    def report(self, key: int) -> HashedReport:
        """Return the seed and the perturbed bucket of the key."""
        return HashedReport(self.seed, self.bucket.report(bucket_of(self.seed, key, self.count)))


class HashSampler:
    """OLH: k-RR over the d' buckets of a hash whose seed is drawn afresh."""

    def __init__(self, budget: Budget) -> None:
        self.slots = bucket_count(budget)
        self.buckets = SlotSampler(budget, self.slots)

    def draw(self, entropy: Entropy) -> HashDraw:
        """Run by the device: a uniform 32-bit seed, then a k-RR draw."""
        seed = int.from_bytes(entropy.read(SEED_BYTES), "big")
        return HashDraw(seed, self.buckets.draw(entropy), self.slots)
