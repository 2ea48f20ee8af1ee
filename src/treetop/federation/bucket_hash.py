"""The seeded hash of OLH in Python integers: bit for bit the one that a party counts with.

Both are pinned to the same vectors (tests/vectors/olh_hash.json).
"""

from hashlib import blake2b

_LOW_32, _LOW_64 = (1 << 32) - 1, (1 << 64) - 1
LONGEST_PREFIX_BYTES = 32
NO_CODE_KEY = _LOW_64
"""What a device without a code hashes."""


def key_of(prefix: int) -> int:
    """Return the 64-bit key of a prefix: itself, or a digest where it is longer."""
    if prefix <= _LOW_64:
        return prefix
    digest = blake2b(prefix.to_bytes(LONGEST_PREFIX_BYTES, "big"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def premixed(key: int) -> tuple[int, int]:
    """Return the low and the high half of a 64-bit finalizer of a key."""
    mixed = (key + 0x9E3779B97F4A7C15) & _LOW_64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _LOW_64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _LOW_64
    mixed ^= mixed >> 31
    return mixed & _LOW_32, mixed >> 32


def bucket_of(seed: int, key: int, count: int) -> int:
    """Return the bucket of a key under a 32-bit seed, out of `count`."""
    low, high = premixed(key)
    mixed = ((seed ^ low) * 0x9E3779B1) & _LOW_32
    mixed = (((mixed ^ (mixed >> 15)) + high) * 0x85EBCA77) & _LOW_32
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE3D) & _LOW_32
    mixed ^= mixed >> 16
    return (mixed * count) >> 32
