"""The seeded hash of OLH: a 32-bit seed and a 64-bit key give a bucket. Pinned by vectors in the tests.

A key is first premixed into two 32-bit words, once for all seeds; seed and words then go through three
multiplications of 32 bits, and the bucket is floor(hash * d' / 2^32), without a division.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Keys
from treetop.oracles.random_words import Words32

FIRST = np.uint32(0x9E3779B1)
SECOND = np.uint32(0x85EBCA77)
THIRD = np.uint32(0xC2B2AE3D)


def premixed(keys: Keys) -> tuple[Words32, Words32]:
    """Return the two halves of a 64-bit finalizer of each key (the constants of splitmix64)."""
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed.astype(np.uint32), (mixed >> np.uint64(32)).astype(np.uint32)


def buckets(seeds: Words32, low: Any, high: Any, count: int) -> Words32:
    """Return the bucket of a premixed key under every seed."""
    mixed: Words32 = (seeds ^ low) * FIRST
    mixed = ((mixed ^ (mixed >> np.uint32(15))) + high) * SECOND
    mixed = (mixed ^ (mixed >> np.uint32(13))) * THIRD
    mixed ^= mixed >> np.uint32(16)
    return ((mixed.astype(np.uint64) * np.uint64(count)) >> np.uint64(32)).astype(np.uint32)


def bucket_starts(count: int) -> NDArray[np.uint64]:
    """Return ceil(b 2^32 / d') for b from 0 to d': bucket b holds the hashes from its start to before the next."""
    return (np.arange(count + 1, dtype=np.uint64) * np.uint64(1 << 32) + np.uint64(count - 1)) // np.uint64(count)
