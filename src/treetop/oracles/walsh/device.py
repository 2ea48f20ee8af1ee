"""Walsh hashing on a device: a seed gives s masks and a shift, and the hash is one parity for each mask.

h_j = parity(w_j AND x) XOR r_j, with 64-bit words that a splitmix64 generator makes of the seed. A name of b bits meets
the low b bits of each mask, so devices need not know b: it is the party that looks at all names of b bits at once. The
words are pinned to vectors (tests/vectors/walsh_hash.json), and a party computes the same.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from treetop.errors import InvalidInput
from treetop.oracles.hashed_reports import SEED_BYTES, HashedFace, HashedReport, mixed_words
from treetop.oracles.protocol import Below, Randomness, Seed, Words
from treetop.privacy.randomness import WORD_BITS

MAX_PARITIES = 8
"""An outcome takes one byte; from epsilon 5.9 on a larger g would do better: at epsilon 8, 3.4 times."""
MAX_SET_PARITIES = 12
"""Reports of sets need more outcomes, and take two bytes for one above 256."""


def parity_count(odds: Fraction) -> int:
    """Return s: that of 1 to 8 whose g = 2^s has the least variance q (1 - q) / (p - q)^2.

    This is (L + g - 1)^2 / ((g - 1) (L - 1)^2) with L for e^eps, and the last factor is the same for all.
    """
    return min(range(1, MAX_PARITIES + 1), key=lambda s: (odds + (1 << s) - 1) ** 2 * Fraction(1, (1 << s) - 1))


def keep_threshold(odds: Fraction, slots: int) -> int:
    """Return floor(2^64 (L - 1) / (L - 1 + g)), L below e^eps: rounded down, so that the ratio is at most e^eps."""
    # p = t + (1 - t) / g and q = (1 - t) / g have p / q = 1 + g t / (1 - t), which rises in t (proof in
    # docs/explanation/privacy_guarantee.md, Walsh).
    over_one = odds.numerator - odds.denominator
    return (over_one << WORD_BITS) // (over_one + slots * odds.denominator)


def no_name(bits: int) -> int:
    """Return the name of those who have none: all its bits are set."""
    return (1 << bits) - 1


def chunk_key(name: int, chunk: int, value: int, bits: int) -> int:
    """Return the b-bit key by which a device reports the value of one chunk of the text behind its name."""
    return mixed_words(((chunk + 1) << 8 | value) << bits | name, 1)[0] >> (64 - bits)


class ParityFace(HashedFace):
    """Run by the device: k-RR over the g outcomes of s parities, whose seed is drawn afresh.

    A report is the true outcome if a word is below `keep`, and otherwise any of the g, the true one among them. As g is
    a power of two, that takes a byte that is never drawn again: every report reads 13 bytes.
    """

    bucket_word = "outcome"

    def __init__(self, odds: Fraction, slots: int) -> None:
        super().__init__(odds, slots)
        if slots > 1 << MAX_SET_PARITIES or slots & (slots - 1):
            most = 1 << MAX_SET_PARITIES
            raise InvalidInput("walsh_slots", most=most, slots=slots)

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
        parities = sum(((mask & value).bit_count() & 1) << j for j, mask in enumerate(masks))
        return parities ^ (shift & (self.slots - 1))

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        """Return the seed and the perturbed outcome of a key."""
        seed, (word,), other = drawn
        return HashedReport(seed, self.hashed(seed, value) if word < self.keep else other)

    def task_thresholds(self) -> Mapping[str, int]:
        """Return `keep` and `outcomes`: a task without lists says all."""
        return {"keep": self.keep, "outcomes": self.slots}
