"""One report of a whole set: the set form of OLH and walsh, on a device.

A user holds many items, and her one report is epsilon-LDP for all of them together. The device takes T, at most m of
its items, hashes what it is asked about each into one of t buckets, and reports one bucket: each of the h that it found
with probability e^eps / Omega, Omega = m e^eps + t - m, while the t - h others share the rest evenly. For every T,
each bucket then has a probability from 1 / Omega to e^eps / Omega. For counting, this is OLH with another p and
1 / t for its q. Vectors: tests/vectors/set_reports.json.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.hashed_reports import SEED_BYTES, HashedFace, HashedReport
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.olh.device import MAX_BUCKETS, bucket_count
from treetop.oracles.protocol import DeviceFace, Oracle, Randomness, Seed, Words
from treetop.oracles.walsh import WalshHashing
from treetop.oracles.walsh.device import MAX_SET_PARITIES, parity_count
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS

if TYPE_CHECKING:
    from treetop.oracles.frequency_oracle import FrequencyOracle
    from treetop.privacy.epsilon import Epsilon

MAX_ITEMS = 64
"""The largest m: beyond it a report says too little of each item."""
DEFAULT_ITEMS = 8
"""m where nobody chose it."""
HOLDERS, SHARES, USE_SHARES = READINGS = ("holders", "shares", "use_shares")
"""What counts can estimate; see `SetQuestion.reading`."""
OCCURRENCES = "occurrences"
"""A reading that people ask for and that is refused with its reason."""
KEY_BYTES = 32
"""Of the key by which a device chooses among its items."""

Held = Mapping[bytes, int]
"""What a device holds: its items as bytes, and of each the 64-bit key of what it is asked about it."""


@dataclass(frozen=True)
class SetQuestion:
    """How many items of a user her one report speaks of at most, and what its counts estimate."""

    items_per_user: int
    """m."""
    reading: str
    """holders: users with an item, each weighing min(1, m / |S|); shares: every user 1 / |S| for each of her items;
    use_shares: every user, for each of her items, the share that it has of her uses."""

    def __post_init__(self) -> None:
        if self.reading == OCCURRENCES:
            raise InvalidInput("reading_occurrences", readings=", ".join(READINGS))
        if self.reading not in READINGS:
            raise UnknownName("reading", self.reading, READINGS)
        if not 1 <= self.items_per_user <= MAX_ITEMS:
            raise InvalidInput("items_per_user_range", max_items=MAX_ITEMS, items_per_user=self.items_per_user)
        if self.reading != HOLDERS and self.items_per_user != 1:
            raise InvalidInput("reading_of_one_item", reading=self.reading, items_per_user=self.items_per_user)

    @classmethod
    def asked(cls, items_per_user: int | None, reading: str | None) -> "SetQuestion | None":
        """Return the question, or None where neither is given: every user holds one item."""
        return None if items_per_user is None and reading is None else cls.of(items_per_user, reading)

    @classmethod
    def of(cls, items_per_user: int | None, reading: str | None) -> "SetQuestion":
        """Return the question with what was left open: 8 items, or one where every user weighs 1 in all."""
        one_item = reading in (SHARES, USE_SHARES)
        items = (1 if one_item else DEFAULT_ITEMS) if items_per_user is None else items_per_user
        return cls(items, reading or (SHARES if items == 1 else HOLDERS))


def own_weight(odds: Fraction, slots: int, items: int) -> int:
    """Return A: how many of 2^64 words report a bucket of one's own.

    The largest integer with A <= 2^64 L / Omega and A <= L floor((2^64 - m A) / (t - m)), L below e^eps: the second
    bound compares it with the words that the least likely bucket can get.
    """
    t = slots
    m = items
    L = odds
    A = 0
    too_many = WORDS * L.numerator // (m * L.numerator + (t - m) * L.denominator) + 1
    while too_many - A > 1:  # the more words own buckets have, the fewer are left for others
        middle = (A + too_many) // 2
        holds = middle * L.denominator <= L.numerator * ((WORDS - m * middle) // (t - m))
        A, too_many = (middle, too_many) if holds else (A, middle)
    return A


def set_buckets(odds: Fraction, items: int) -> int:
    """Return t = round(2 m - 1 + m e^eps), 2^16 at most; for one item the d' of OLH."""
    if items == 1:
        return bucket_count(odds)
    return min((2 * (2 * items - 1 + items * odds) + 1) // 2, MAX_BUCKETS)


def set_parities(odds: Fraction, items: int) -> int:
    """Return the s whose t = 2^s > m has the least variance, (t - 1) (m L + t - m)^2 / (t - m)^2 but for a factor."""
    if items == 1:
        return parity_count(odds)

    def variance(s: int) -> Fraction:
        t = 1 << s
        m = items
        return (m * odds + t - m) ** 2 * Fraction(t - 1, (t - m) ** 2)

    return min(range(items.bit_length(), MAX_SET_PARITIES + 1), key=variance)


class SetFace(DeviceFace):
    """Run by the device: one of t buckets for a set of items, of which at most m are spoken of.

    A key, a seed and a word are drawn before the set is read, always as many bytes. The key decides which items are T
    and is forgotten: the ledger keeps the bytes of the report, and nobody draws T again.
    """

    def __init__(self, single: HashedFace, items: int) -> None:
        super().__init__(single.odds, single.slots)
        if not 1 <= items < single.slots:
            raise InvalidInput("set_report_items", slots=single.slots - 1, items=items)
        self.single = single
        self.items = items

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        """Return the key that chooses T, the seed of the hash, and the word U."""
        return Seed(KEY_BYTES), Seed(SEED_BYTES), Words()

    @cached_property
    def own(self) -> int:
        """Return A."""
        return own_weight(self.odds, self.slots, self.items)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Return where the reported bucket can change: the multiples of A, and for every h the parts of the rest."""
        A = self.own
        t = self.slots
        found = {h * A for h in range(1, self.items + 1)}
        for h in range(self.items + 1):
            rest = WORDS - h * A
            found.update(h * A + -(-j * rest // (t - h)) for j in range(t - h))
        return tuple(sorted(found - {0}))

    def chosen(self, key: int, held: Held) -> list[bytes]:
        """Return T: the m items with the smallest SHA-256 of key and item, or all."""
        start = key.to_bytes(KEY_BYTES, "big")
        return sorted(held, key=lambda item: sha256(start + item).digest())[: self.items]

    def bucket(self, word: int, found: list[int]) -> int:
        """Return the reported bucket, given the h distinct ones of T in ascending order."""
        A = self.own
        h = len(found)
        t = self.slots
        if word < h * A:
            return found[word // A]
        bucket = (word - h * A) * (t - h) // (WORDS - h * A)
        for own in found:  # the others are counted without those of T
            bucket += bucket >= own
        return bucket

    def report(self, drawn: tuple[int, int, tuple[int]], value: Held) -> HashedReport:
        """Return the seed and the reported bucket of a set: of T, then of the distinct buckets of its distinct keys."""
        key, seed, (word,) = drawn
        T = self.chosen(key, value)
        H = sorted({self.single.hashed(seed, value[item]) for item in T})
        return HashedReport(seed, self.bucket(word, H))

    def supports(self, report: HashedReport, value: int) -> bool:
        """Return whether a key falls into the reported bucket."""
        return self.single.supports(report, value)

    @property
    def width(self) -> int:
        """Return the width of a report of one item with as many buckets."""
        return self.single.width

    def encode(self, report: HashedReport) -> bytes:
        """Run by the device: as a report of one item."""
        return self.single.encode(report)

    def decode(self, body: bytes) -> HashedReport:
        """Run by the party."""
        return self.single.decode(body)

    def readable(self, body: bytes) -> bool:
        """Run by the party for every report."""
        return self.single.readable(body)

    def task_thresholds(self) -> Mapping[str, int]:
        """Return A, t and m: a task without lists says all."""
        return {"own": self.own, "buckets": self.slots, "items": self.items}


class SetOracle(Oracle):
    """The set form of an oracle that hashes: reports look like those of its single form, with t buckets."""

    def __init__(self, items: int) -> None:
        if not 1 <= items <= MAX_ITEMS:
            raise InvalidInput("items_per_user_invalid", max_items=MAX_ITEMS, items=items)
        self.items = items

    def set_face(self, odds: Fraction) -> SetFace:
        """Return the device's face for a budget's lower bound of e^eps."""
        single = self.device_face(odds, self.slots_for(odds))
        assert isinstance(single, HashedFace)  # noqa: S101  for types: both of its classes say so
        return SetFace(single, self.items)

    def device(self, budget: Budget, slots: int | None = None) -> SetFace:  # noqa: ARG002  there is never a list
        """Return the device's face."""
        return self.set_face(budget.odds_below)

    def over(self, epsilon: "Epsilon", size: int) -> "FrequencyOracle[Any]":
        """Return the counting face for d slots, the dummy counted."""
        counting: Callable[[Epsilon, int, int], FrequencyOracle[Any]] = self.counting
        return counting(epsilon, size, self.items)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.items == getattr(other, "items", None)

    def __hash__(self) -> int:
        return hash((type(self), self.items))


class SetLocalHashing(SetOracle, OptimizedLocalHashing):
    """OLH for sets."""

    counting_face = "treetop.oracles.set_counting:SetHashCounting"

    def slots_for(self, odds: Fraction) -> int:
        """Return t."""
        return set_buckets(odds, self.items)


class SetWalshHashing(SetOracle, WalshHashing):
    """Walsh for sets."""

    counting_face = "treetop.oracles.set_counting:SetParityCounting"

    def slots_for(self, odds: Fraction) -> int:
        """Return t, a power of two."""
        return 1 << set_parities(odds, self.items)
