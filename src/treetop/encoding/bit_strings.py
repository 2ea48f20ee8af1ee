"""Codes and prefixes of any length as arrays of unsigned integers, and the prefix length of every level.

A code is an item's m-bit string read as an integer; a prefix of length l is its first l bits. Up to 64 bits
they are machine words, above that arrays of Python integers: the same expressions work on both.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.errors import InvalidInput

Codes = NDArray[Any]

SHORTEST = 8
LONGEST = 256
MACHINE_WORD = 64
"""Bits of the longest codes that numpy holds as integers."""


def checked_bits(bits: int) -> int:
    """Return m, or refuse a code length that Treetop does not handle."""
    if not SHORTEST <= bits <= LONGEST:
        raise InvalidInput("bits_out_of_range", shortest=SHORTEST, longest=LONGEST, bits=bits)
    return bits


def code_array(values: Iterable[int], bits: int) -> Codes:
    """Return the values as an array that holds codes of m bits."""
    dtype = np.uint64 if bits <= MACHINE_WORD else object
    return np.array(list(values), dtype=dtype)


def root_prefix(bits: int) -> Codes:
    """Return level 0 of a trie over m-bit codes: the empty prefix."""
    return code_array([0], bits)


def prefixes_of(codes: Codes, bits: int, length: int) -> Codes:
    """Return the first `length` of the `bits` bits of every code."""
    return codes >> (bits - length) if length else codes * 0


def extended(prefixes: Codes, step: int) -> Codes:
    """Return every prefix followed by every `step`-bit string, in ascending order if the prefixes are."""
    endings = np.arange(1 << step).astype(prefixes.dtype)
    children: Codes = (prefixes[:, None] << step) | endings
    return children.ravel()


def first_and_last_code(prefixes: Codes, bits: int, length: int) -> tuple[Codes, Codes]:
    """Return the smallest and the largest code below each prefix."""
    if length == 0:
        return prefixes, prefixes * 0 + ((1 << bits) - 1)
    below = bits - length
    return prefixes << below, (prefixes << below) | ((1 << below) - 1)


def bit_lengths(codes: Iterable[int]) -> NDArray[np.int64]:
    """Return the number of bits of each code without its leading zeros."""
    return np.array([int(code).bit_length() for code in codes], dtype=np.int64)


def hamming_distances(code: Any, others: Codes) -> NDArray[np.int64]:
    """Return the number of bits in which each of the others differs from one code."""
    differing: Codes = np.bitwise_count(others ^ code)
    return differing.astype(np.int64)


def keys_of(prefixes: Codes) -> NDArray[np.uint64]:
    """Return 64-bit keys for hashing: the prefix itself, or a digest where it is longer."""
    if prefixes.dtype != object:
        return prefixes.astype(np.uint64)
    return np.array([_folded(int(prefix)) for prefix in prefixes], dtype=np.uint64)


def _folded(prefix: int) -> int:
    if prefix < 1 << MACHINE_WORD:
        return prefix
    # The digest of a fixed number of bytes: a prefix has the same key for codes of any length.
    return int.from_bytes(blake2b(prefix.to_bytes(LONGEST // 8, "big"), digest_size=8).digest(), "big")


def level_lengths(bits: int, levels: int) -> tuple[int, ...]:
    """Return l_0 .. l_g with l_h = ceil(h m / g); level 0 is the empty prefix."""
    return level_lengths_from(0, bits, levels)


def level_lengths_from(start: int, bits: int, levels: int) -> tuple[int, ...]:
    """Return l_0 .. l_g with l_h = s_0 + ceil(h (m - s_0) / g), as PEM grows its trie from s_0 bits."""
    if not 1 <= levels <= bits:
        raise InvalidInput("levels_out_of_range", bits=bits, levels=levels)
    # -(-a // b) is ceil(a / b), in integers.
    return tuple(start - (-h * (bits - start) // levels) for h in range(levels + 1))


def starting_bits(k: int) -> int:
    """Return s_0 = ceil(log2 k), the length at which PEM starts."""
    return (k - 1).bit_length()
