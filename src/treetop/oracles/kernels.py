"""The compiled loops of counting: one core each, no Python objects, and the interpreter's lock let go meanwhile.

numba compiles them on first use and keeps the machine code on disk. Every loop is written so that LLVM turns it
into vectors; the tests hold each against plain numpy.
"""

from typing import Any

import numpy as np
from numba import njit, uint32
from numba.core import config
from numba.core.codegen import get_host_cpu_features

from treetop.oracles.hash_family import FIRST, SECOND, THIRD

# LLVM prefers 256-bit vectors even where there are 512-bit ones; numba reads this when it first compiles anything.
HOST = get_host_cpu_features().replace("+avx512f", "+avx512f,-prefer-256-bit")
config.CPU_FEATURES = config.CPU_FEATURES or HOST  # type: ignore[attr-defined]

FIFTEEN, THIRTEEN, SIXTEEN, ONE = np.uint32(15), np.uint32(13), np.uint32(16), np.uint32(1)
TABLES = 4
"""Histograms side by side, so that equal reports in a row do not wait for each other's store."""
AT_ONCE = 8
"""Blocks of bits that one pass of the adder takes in."""

compiled = njit(nogil=True, cache=True)
inlined = njit(inline="always", cache=True)


@compiled
def add_slots(reports: Any, tables: Any) -> None:
    """Add one for every report to its slot in one of the four tables; slots must be in range."""
    whole = len(reports) // TABLES * TABLES
    for i in range(0, whole, TABLES):
        tables[0, reports[i]] += ONE
        tables[1, reports[i + 1]] += ONE
        tables[2, reports[i + 2]] += ONE
        tables[3, reports[i + 3]] += ONE
    for i in range(whole, len(reports)):
        tables[0, reports[i]] += ONE


@inlined
def supports(seed: Any, start: Any, width: Any, low: Any, high: Any) -> Any:
    """Return 1 if the hash of a premixed key lies in the report's bucket [start, start + width), else 0.

    The hash is that of `hash_family.buckets`; every step is cast because numba would widen it to 64 bits.
    """
    mixed = uint32(uint32(seed ^ low) * FIRST)
    mixed = uint32(uint32(uint32(mixed ^ uint32(mixed >> FIFTEEN)) + high) * SECOND)
    mixed = uint32(uint32(mixed ^ uint32(mixed >> THIRTEEN)) * THIRD)
    mixed = uint32(mixed ^ uint32(mixed >> SIXTEEN))
    return uint32(uint32(mixed - start) < width)


@compiled
def add_support(seeds: Any, starts: Any, widths: Any, low: Any, high: Any, support: Any) -> None:
    """Add one to every candidate for every report whose bucket it falls into; candidates fit the first cache."""
    for i in range(len(seeds)):
        seed, start, width = seeds[i], starts[i], widths[i]
        for c in range(len(low)):
            support[c] += supports(seed, start, width, low[c], high[c])


@inlined
def odd(a: Any, b: Any, c: Any) -> Any:
    """Return the sum bits of 64 one-bit additions of three numbers."""
    return a ^ b ^ c


@inlined
def most(a: Any, b: Any, c: Any) -> Any:
    """Return their carry bits."""
    return (a & b) | ((a ^ b) & c)


@compiled
def add_eight_blocks(blocks: Any, ones: Any, twos: Any, fours: Any, carry: Any) -> None:
    """Add eight blocks of bits to counters of three bits, 64 side by side in a word; what overflows is the carry."""
    for j in range(len(ones)):
        one, two, four = ones[j], twos[j], fours[j]
        a, one = most(one, blocks[0, j], blocks[1, j]), odd(one, blocks[0, j], blocks[1, j])
        b, one = most(one, blocks[2, j], blocks[3, j]), odd(one, blocks[2, j], blocks[3, j])
        c, two = most(two, a, b), odd(two, a, b)
        a, one = most(one, blocks[4, j], blocks[5, j]), odd(one, blocks[4, j], blocks[5, j])
        b, one = most(one, blocks[6, j], blocks[7, j]), odd(one, blocks[6, j], blocks[7, j])
        d, two = most(two, a, b), odd(two, a, b)
        carry[j] = most(four, c, d)
        ones[j], twos[j], fours[j] = one, two, odd(four, c, d)


@compiled
def add_carry(plane: Any, carry: Any) -> None:
    """Add a carry to the next bit of all counters; the carry becomes what overflows there."""
    for j in range(len(plane)):
        bits, more = plane[j], carry[j]
        plane[j], carry[j] = bits ^ more, bits & more


@compiled
def add_bits(blocks: Any, planes: Any) -> None:
    """Add blocks of bits to counters whose k-th bits are in the k-th plane; needs log2(blocks) + 1 planes."""
    carry = np.empty_like(planes[0])
    for group in range(len(blocks) // AT_ONCE):
        eight = blocks[group * AT_ONCE : (group + 1) * AT_ONCE]
        add_eight_blocks(eight, planes[0], planes[1], planes[2], carry)
        depth, largest = 3, group + 1
        while largest:
            add_carry(planes[depth], carry)
            depth, largest = depth + 1, largest >> 1
