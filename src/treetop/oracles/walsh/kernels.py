"""The compiled loops of walsh: scattering reports into partial sums, the transform, and pairs of report and key."""

from typing import Any

import numpy as np
from numba import uint32, uint64
from numba.extending import intrinsic

from treetop.oracles.compiling import compiled, inlined
from treetop.oracles.walsh.hashing import FIRST, GOLDEN, SECOND

LOW_BITS = 15
"""Of a cell's number, `0x7FFF`: with its sign they fit two bytes, and 2^15 cells of four bytes fit the second cache."""
THIRTY = np.uint64(30)
TWENTY_SEVEN = np.uint64(27)
THIRTY_ONE = np.uint64(31)


def _ones(_typing: Any, number: Any) -> Any:
    """Tell numba the type of `ones`, and how LLVM computes it."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return number(number), generate


ones: Any = intrinsic(_ones)
"""How many bits of a number are set: one instruction where the machine has it."""


@inlined
def mixed_word(seed: Any, place: Any) -> Any:
    """Return the word at a place of a seed's generator: `hashing.mixed_words`."""
    mixed = uint64(uint64(seed) + uint64(uint64(place) * GOLDEN))
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
    """Transform every block of so many cells in place: sums and differences of cells that differ in one low bit."""
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
    """Transform the 4^i rows of a table in place, in tiles of so many columns that stay in the second cache.

    Two bits of a row's number at once: cells are loaded half as often.
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
            odd = (target >> uint64(j)) & uint64(1)
            for c in range(len(keys)):
                wrong[c] |= ones(mask & keys[c]) ^ odd
        for c in range(len(keys)):
            support[c] += uint32(1) - (uint32(wrong[c]) & uint32(1))
