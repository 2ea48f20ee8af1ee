"""The compiled loops of the oracles: one core each, no Python objects, the interpreter's lock released.

numba compiles a loop on first use and keeps the machine code on disk. Every loop is written so that LLVM turns it into
vectors; the tests compare each with plain numpy. The counting faces import this module inside the functions that count,
because loading numba would slow down every command that counts nothing.
"""

from typing import Any

import numpy as np
from numba import njit, uint32, uint64
from numba.core import config
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

from treetop.oracles.hashing import FIRST, FIRST_PRIME, GOLDEN, SECOND, SECOND_PRIME, THIRD_PRIME

# LLVM prefers 256-bit vectors even where there are 512-bit ones; numba reads this when it first compiles anything.
HOST = get_host_cpu_features().replace("+avx512f", "+avx512f,-prefer-256-bit")
config.CPU_FEATURES = config.CPU_FEATURES or HOST  # type: ignore[attr-defined]

compiled = njit(nogil=True, cache=True)
inlined = njit(inline="always", cache=True)

# Shifts of the hashes and the one that counts, in the width of what they meet: numba widens `uint32 >> int` to 64 bits,
# and a vector then holds half as many candidates.
ONE = np.uint32(1)
THIRTEEN = np.uint32(13)
FIFTEEN = np.uint32(15)
SIXTEEN = np.uint32(16)
TWENTY_SEVEN = np.uint64(27)
THIRTY = np.uint64(30)
THIRTY_ONE = np.uint64(31)


# k-RR

TABLES = 4
"""Histograms side by side, so that equal reports in a row do not wait for each other's store."""


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


# OUE: an adder whose counters lie side by side in words, bit by bit. A report's d bits are d counters' next input, so
# one word operation counts for 64 slots; unpacking every bit first would cost an addition for each of the n d bits.

AT_ONCE = 8
"""Blocks of bits that one pass of the adder takes in: eight inputs need three sum bits and leave one carry."""


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
    """Add eight blocks of bits to counters of three bits, 64 side by side in a word; the overflow is the carry."""
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
    """Add a carry to the next bit of all counters; the overflow of that bit becomes the carry."""
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
        # After this group a counter is at most 8 (group + 1): the carry goes no higher than the bits of that number.
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


# OLH


@inlined
def supports(seed: Any, start: Any, width: Any, low: Any, high: Any) -> Any:
    """Return 1 if the hash of a premixed key lies in the report's bucket [start, start + width), else 0.

    The hash is that of `hashing.buckets`; every step is cast because numba would widen it to 64 bits. Comparing the
    hash with the edges of the bucket saves the 64-bit multiplication that would compute the bucket.
    """
    mixed = uint32(uint32(seed ^ low) * FIRST_PRIME)
    mixed = uint32(uint32(uint32(mixed ^ uint32(mixed >> FIFTEEN)) + high) * SECOND_PRIME)
    mixed = uint32(uint32(mixed ^ uint32(mixed >> THIRTEEN)) * THIRD_PRIME)
    mixed = uint32(mixed ^ uint32(mixed >> SIXTEEN))
    # Unsigned: a hash below the start wraps around to a number that is not below the width.
    return uint32(uint32(mixed - start) < width)


@compiled
def add_support(seeds: Any, starts: Any, widths: Any, low: Any, high: Any, support: Any) -> None:
    """Add one to every candidate for every report whose bucket it falls into; candidates fit the first cache."""
    for i in range(len(seeds)):
        seed = seeds[i]
        start = starts[i]
        width = widths[i]
        for c in range(len(low)):
            support[c] += supports(seed, start, width, low[c], high[c])


# Sets


@compiled
def reported_buckets(starts: Any, buckets: Any, words: Any, own: Any, others: Any, reported: Any) -> None:
    """Write the bucket that every user reports, as `set_reports.SetFace.bucket` computes it.

    `own` has h A for every h, and `others` for every h the first word of each bucket that is not one of her own.
    """
    found = np.empty(len(own), dtype=np.int64)
    for user in range(len(starts) - 1):
        h = 0
        for entry in range(starts[user], starts[user + 1]):  # her distinct buckets, ascending
            index = h
            while index > 0 and found[index - 1] > buckets[entry]:
                index -= 1
            if index > 0 and found[index - 1] == buckets[entry]:
                continue
            for i in range(h, index, -1):
                found[i] = found[i - 1]
            found[index] = buckets[entry]
            h += 1
        word = words[user]
        if word < own[h]:
            number = 0
            while word >= own[number + 1]:
                number += 1
            reported[user] = found[number]
            continue
        # The device divides integers of more than 64 bits here; the table of first words gives the same quotient.
        bucket = np.searchsorted(others[h, : others.shape[1] - h], word, side="right") - 1
        for i in range(h):
            bucket += bucket >= found[i]
        reported[user] = bucket


# Walsh: scattering reports into partial sums, the transform, and pairs of report and key

LOW_BITS = 15
"""Of a cell's number, `0x7FFF`: with its sign they fit two bytes, and 2^15 cells of four bytes fit the second cache."""


def _ones(_typing: Any, number: Any) -> Any:
    """Tell numba the type of `set_bits`, and how LLVM computes it."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return number(number), generate


set_bits: Any = intrinsic(_ones)
"""How many bits of a number are set: one instruction where the machine has it."""


@inlined
def mixed_word(seed: Any, index: Any) -> Any:
    """Return the word of a seed's generator at an index from 1 on: `hashing.mixed_words`."""
    mixed = uint64(uint64(seed) + uint64(uint64(index) * GOLDEN))
    mixed = uint64((mixed ^ (mixed >> THIRTY)) * FIRST)
    mixed = uint64((mixed ^ (mixed >> TWENTY_SEVEN)) * SECOND)
    return uint64(mixed ^ (mixed >> THIRTY_ONE))


@inlined
def flush(sums: Any, first: Any, waiting: Any, count: Any) -> None:
    """Add the signs of waiting cells to the sums that begin with a cell; all of these fit the second cache."""
    for i in range(count):
        sums[first + (waiting[i] & 0x7FFF)] += 1 - 2 * (waiting[i] >> 15)


@compiled
def scatter(seeds: Any, reported: Any, parities: Any, sums: Any, waiting: Any, filled: Any) -> None:
    """Add (-1)^(u . (v XOR r)) to cell XOR of w_j for j in u, for each report v and each subset u of its masks.

    Subsets come in Gray-code order, so that each costs one XOR, of the cell and its sign together. Cells are first
    gathered by their high bits, in as many rows as `waiting` has, and a row is added when it is full: otherwise
    nearly every addition would wait for memory.
    """
    inside = uint64(len(sums) - 1)
    room = waiting.shape[1]
    changed = np.empty(1 << parities, dtype=np.uint8)  # which mask the k-th subset takes in or leaves out
    for k in range(1, 1 << parities):
        changed[k] = 0
        while not (k >> changed[k]) & 1:
            changed[k] += 1
    masks = np.empty(parities, dtype=np.uint32)
    for i in range(len(seeds)):
        sums[0] += 1  # the empty subset
        target = mixed_word(seeds[i], 1) ^ uint64(reported[i])
        for j in range(parities):
            mask = mixed_word(seeds[i], j + 2) & inside
            sign = (target >> uint64(j)) & uint64(1)
            # high bits of the cell | sign | 15 low bits: the XOR of masks is again a cell with its sign
            masks[j] = uint32(mask >> uint64(15) << uint64(16) | sign << uint64(15) | mask & uint64(0x7FFF))
        cell = uint32(0)
        for k in range(1, 1 << parities):
            cell ^= masks[changed[k]]
            row = cell >> uint32(16)
            waiting[row, filled[row]] = cell
            filled[row] += 1
            if filled[row] == room:
                flush(sums, row << uint32(15), waiting[row], room)
                filled[row] = 0
    for row in range(len(filled)):
        flush(sums, row << 15, waiting[row], filled[row])
        filled[row] = 0


@compiled
def transform_blocks(sums: Any, block: Any) -> None:
    """Transform every block of cells in place: sums and differences of cells that differ in one low bit."""
    for first in range(0, len(sums), block):
        half = 1
        while half < block:
            for i in range(first, first + block, 2 * half):
                for j in range(i, i + half):
                    one, two = sums[j], sums[j + half]
                    sums[j], sums[j + half] = one + two, one - two
            half *= 2


@compiled
def transform_rows(table: Any, tile: Any) -> None:
    """Transform the 4^i rows of a table in place, in tiles of columns that stay in the second cache.

    Each pass covers two bits of a row's number: cells are loaded half as often.
    """
    rows, columns = table.shape
    for first in range(0, columns, tile):
        quarter = 1
        while quarter < rows:
            for i in range(0, rows, 4 * quarter):
                for j in range(i, i + quarter):
                    for c in range(first, first + tile):
                        one, two = table[j, c], table[j + quarter, c]
                        three = table[j + 2 * quarter, c]
                        four = table[j + 3 * quarter, c]
                        low = one + two
                        low_gap = one - two
                        high = three + four
                        high_gap = three - four
                        table[j, c], table[j + 2 * quarter, c] = low + high, low - high
                        table[j + quarter, c], table[j + 3 * quarter, c] = low_gap + high_gap, low_gap - high_gap
            quarter *= 4


@compiled
def add_pairs(seeds: Any, reported: Any, parities: Any, keys: Any, wrong: Any, support: Any) -> None:
    """Add one to every key that has the outcome of a report, for every report; keys fit the first cache.

    `wrong` has a number for every key: its low bit is set where a parity is not the reported one.
    """
    for i in range(len(seeds)):
        target = mixed_word(seeds[i], 1) ^ uint64(reported[i])
        wrong[:] = 0
        for j in range(parities):
            mask = mixed_word(seeds[i], j + 2)
            parity = (target >> uint64(j)) & uint64(1)
            for c in range(len(keys)):
                wrong[c] |= set_bits(mask & keys[c]) ^ parity
        for c in range(len(keys)):
            support[c] += uint32(1) - (uint32(wrong[c]) & uint32(1))
