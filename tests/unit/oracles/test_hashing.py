import json
from pathlib import Path

import numpy as np

from treetop.oracles.hashing import buckets, premixed

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "olh_hash.json").read_text())
MASK = 2**32 - 1


def by_hand(seed: int, key: int, count: int) -> int:
    """The hash with Python integers, as its docstring tells it."""
    mixed = (key + 0x9E3779B97F4A7C15) % 2**64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
    mixed ^= mixed >> 31
    low, high = mixed & MASK, mixed >> 32
    value = ((seed ^ low) * 0x9E3779B1) & MASK
    value = (((value ^ (value >> 15)) + high) * 0x85EBCA77) & MASK
    value = ((value ^ (value >> 13)) * 0xC2B2AE3D) & MASK
    value ^= value >> 16
    return (value * count) >> 32


def test_the_hash_is_pinned_by_vectors() -> None:
    for vector in VECTORS:
        low, high = premixed(np.array([int(vector["key"])], dtype=np.uint64))
        seeds = np.array([vector["seed"]], dtype=np.uint32)
        assert buckets(seeds, low, high, vector["buckets"]).tolist() == [vector["bucket"]], vector


def test_vectors_and_arrays_agree_with_plain_integers() -> None:
    for vector in VECTORS:
        assert by_hand(vector["seed"], int(vector["key"]), vector["buckets"]) == vector["bucket"]
