"""Reports of a hash: a seed that is drawn afresh, and one of the numbers that the hash can have under it.

The constants of both hashes stand here once, as Python integers: device faces, arrays and compiled loops use the same.
"""

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar, NamedTuple

from treetop.oracles.protocol import DeviceFace, number_below, smallest_width

SEED_BYTES = 4
_LOW_64 = (1 << 64) - 1

# splitmix64 (Steele, Lea and Flood 2014): the step is 2^64 divided by the golden ratio, made odd.
GOLDEN = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
# OLH's hash multiplies by the first three 32-bit primes of xxHash, and shifts as the end of XXH32 does.
FIRST_PRIME = 0x9E3779B1
SECOND_PRIME = 0x85EBCA77
THIRD_PRIME = 0xC2B2AE3D


def mixed_words(seed: int, count: int) -> list[int]:
    """Return the first words of splitmix64 started at a seed: 64 bits each."""
    words: list[int] = []
    for index in range(1, count + 1):
        word = (seed + index * GOLDEN) & _LOW_64
        word = ((word ^ (word >> 30)) * FIRST) & _LOW_64
        word = ((word ^ (word >> 27)) * SECOND) & _LOW_64
        words.append(word ^ (word >> 31))
    return words


class HashedReport(NamedTuple):
    """A seed, and the bucket reported for it."""

    seed: int
    bucket: int


class HashedFace(DeviceFace):
    """What the device faces of OLH and walsh share: how keys are supported, and the bytes of a report."""

    bucket_word: ClassVar[str] = "bucket"
    """What a bucket is called where one is refused."""

    @abstractmethod
    def hashed(self, seed: int, value: int) -> int:
        """Return the bucket of a 64-bit key under a seed."""

    def supports(self, report: HashedReport, value: int) -> bool:
        """Return whether the key falls into the reported bucket."""
        return self.hashed(report.seed, value) == report.bucket

    @cached_property
    def width(self) -> int:
        """Return 5, or 6 where there are more than 256 buckets."""
        return SEED_BYTES + smallest_width(self.slots)

    def encode(self, report: HashedReport) -> bytes:
        """Run by the device: the seed, then the bucket, both big-endian."""
        return report.seed.to_bytes(SEED_BYTES, "big") + report.bucket.to_bytes(self.width - SEED_BYTES, "big")

    def decode(self, body: bytes) -> HashedReport:
        """Run by the party."""
        bucket = number_below(self.slots, self.bucket_word, body[SEED_BYTES:])
        return HashedReport(int.from_bytes(body[:SEED_BYTES], "big"), bucket)

    def readable(self, body: bytes) -> bool:
        """Run by the party for every report."""
        return int.from_bytes(body[SEED_BYTES:], "big") < self.slots
