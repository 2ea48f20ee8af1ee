"""Walsh hashing on a device: a seed gives s masks and a shift, and the hash is one parity for each mask.

h_j = parity(w_j AND x) XOR r_j, with 64-bit words that a splitmix64 generator makes of the seed. A name of b bits meets
the low b bits of each mask, so devices need not know b: it is the party that looks at all names of b bits at once. The
words are pinned to vectors (tests/vectors/walsh_hash.json), and a party computes the same.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from treetop.errors import InvalidInput
from treetop.oracles.olh.device import SEED_BYTES, HashedReport
from treetop.oracles.protocol import Below, DeviceFace, Randomness, Seed, Words, number_below, smallest_width
from treetop.privacy.randomness import WORD_BITS

MAX_PARITIES = 8
"""An outcome takes one byte; from epsilon 5.9 on a larger g would do better: at epsilon 8, 3.4 times."""
MAX_SET_PARITIES = 12
"""Reports of sets need more outcomes, and take two bytes for one above 256."""
_LOW_64 = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def parity_count(odds: Fraction) -> int:
    """Return s: that of 1 to 8 whose g = 2^s has the least variance q (1 - q) / (p - q)^2.

    This is (L + g - 1)^2 / ((g - 1) (L - 1)^2) with L for e^eps, and the last factor is the same for all.
    """
    return min(range(1, MAX_PARITIES + 1), key=lambda s: (odds + (1 << s) - 1) ** 2 * Fraction(1, (1 << s) - 1))


def keep_threshold(odds: Fraction, slots: int) -> int:
    """Return floor(2^64 (L - 1) / (L - 1 + g)), L below e^eps: rounded down, so that the ratio is at most e^eps."""
    over_one = odds.numerator - odds.denominator
    return (over_one << WORD_BITS) // (over_one + slots * odds.denominator)


def mixed_words(seed: int, count: int) -> list[int]:
    """Return the first words of splitmix64 started at a seed: 64 bits each."""
    words: list[int] = []
    for place in range(1, count + 1):
        word = (seed + place * _GOLDEN) & _LOW_64
        word = ((word ^ (word >> 30)) * _FIRST) & _LOW_64
        word = ((word ^ (word >> 27)) * _SECOND) & _LOW_64
        words.append(word ^ (word >> 31))
    return words


def no_name(bits: int) -> int:
    """Return the name of those who have none: all its bits are set."""
    return (1 << bits) - 1


def chunk_key(name: int, chunk: int, value: int, bits: int) -> int:
    """Return the b-bit key by which a device reports the value of one chunk of the text behind its name."""
    return mixed_words(((chunk + 1) << 8 | value) << bits | name, 1)[0] >> (64 - bits)


class ParityFace(DeviceFace):
    """Run by the device: k-RR over the g outcomes of s parities, whose seed is drawn afresh.

    A report is the true outcome if a word is below `keep`, and otherwise any of the g, the true one among them. As g is
    a power of two, that takes a byte that is never drawn again: every report reads 13 bytes.
    """

    def __init__(self, odds: Fraction, slots: int) -> None:
        super().__init__(odds, slots)
        if slots > 1 << MAX_SET_PARITIES or slots & (slots - 1):
            most = 1 << MAX_SET_PARITIES
            raise InvalidInput(f"walsh has a power of two from 2 to {most} as its slots, found {slots}")

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        """Return the seed, the word that is compared with `keep`, and one of the g outcomes."""
        return Seed(SEED_BYTES), Words(), Below(self.slots)

    @cached_property
    def keep(self) -> int:
        """Return the threshold of telling the true outcome for certain."""
        return keep_threshold(self.odds, self.slots)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Return `keep`."""
        return (self.keep,)

    def hashed(self, seed: int, value: int) -> int:
        """Return the outcome of a 64-bit key under a seed: bit j is the parity of mask j + 1, shifted by that of r."""
        shift, *masks = mixed_words(seed, self.slots.bit_length())
        parities = sum(((mask & value).bit_count() & 1) << place for place, mask in enumerate(masks))
        return parities ^ (shift & (self.slots - 1))

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        """Return the seed and the perturbed outcome of a key."""
        seed, (word,), other = drawn
        return HashedReport(seed, self.hashed(seed, value) if word < self.keep else other)

    def supports(self, report: HashedReport, value: int) -> bool:
        """Return whether the key has the reported outcome."""
        return self.hashed(report.seed, value) == report.bucket

    @cached_property
    def width(self) -> int:
        """Return 5, or 6 where sets need more than 256 outcomes."""
        return SEED_BYTES + smallest_width(self.slots)

    def encode(self, report: HashedReport) -> bytes:
        """Run by the device: the seed, then the outcome, both big-endian."""
        return report.seed.to_bytes(SEED_BYTES, "big") + report.bucket.to_bytes(self.width - SEED_BYTES, "big")

    def decode(self, body: bytes) -> HashedReport:
        """Run by the party."""
        outcome = number_below(self.slots, "outcome", body[SEED_BYTES:])
        return HashedReport(int.from_bytes(body[:SEED_BYTES], "big"), outcome)

    def readable(self, body: bytes) -> bool:
        """Run by the party for every report."""
        return int.from_bytes(body[SEED_BYTES:], "big") < self.slots

    def task_thresholds(self) -> Mapping[str, int]:
        """Return `keep` and `outcomes`: a task without lists says all."""
        return {"keep": self.keep, "outcomes": self.slots}
