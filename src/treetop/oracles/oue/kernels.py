"""The compiled loops of OUE: an adder whose counters lie side by side in words, bit by bit."""

from typing import Any

import numpy as np

from treetop.oracles.compiling import compiled, inlined

AT_ONCE = 8
"""Blocks of bits that one pass of the adder takes in."""


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
        one = ones[j]
        two = twos[j]
        four = fours[j]
        a = most(one, blocks[0, j], blocks[1, j])
        one = odd(one, blocks[0, j], blocks[1, j])
        b = most(one, blocks[2, j], blocks[3, j])
        one = odd(one, blocks[2, j], blocks[3, j])
        c = most(two, a, b)
        two = odd(two, a, b)
        a = most(one, blocks[4, j], blocks[5, j])
        one = odd(one, blocks[4, j], blocks[5, j])
        b = most(one, blocks[6, j], blocks[7, j])
        one = odd(one, blocks[6, j], blocks[7, j])
        d = most(two, a, b)
        two = odd(two, a, b)
        carry[j] = most(four, c, d)
        ones[j], twos[j], fours[j] = one, two, odd(four, c, d)


@compiled
def add_carry(plane: Any, carry: Any) -> None:
    """Add a carry to the next bit of all counters; the carry becomes what overflows there."""
    for j in range(len(plane)):
        bits = plane[j]
        more = carry[j]
        plane[j], carry[j] = bits ^ more, bits & more


@compiled
def add_bits(blocks: Any, planes: Any) -> None:
    """Add blocks of bits to counters whose k-th bits are in the k-th plane; needs log2(blocks) + 1 planes."""
    carry = np.empty_like(planes[0])
    for group in range(len(blocks) // AT_ONCE):
        eight = blocks[group * AT_ONCE : (group + 1) * AT_ONCE]
        add_eight_blocks(eight, planes[0], planes[1], planes[2], carry)
        depth = 3
        largest = group + 1
        while largest:
            add_carry(planes[depth], carry)
            depth = depth + 1
            largest = largest >> 1


@compiled
def add_rows(rows: Any, weight: int, support: Any) -> None:
    """Add 2^weight to the support of every bit that is set; the first slot is the highest bit of the first byte."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            byte = np.int64(rows[i, j])
            for bit in range(8):
                support[8 * j + bit] += ((byte >> (7 - bit)) & 1) << weight
