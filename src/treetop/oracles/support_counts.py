"""Counting of reports held in arrays, in the machine's own loops: what the party does with a batch of reports."""

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Keys
from treetop.oracles.hash_family import Words32, bucket_starts, premixed
from treetop.oracles.kernels import AT_ONCE, TABLES, add_bits, add_slots, add_support
from treetop.oracles.tallies import Counts

MOST_REPORTS = 1 << 31
"""Counters have 32 bits; whoever has more reports adds tallies."""
CANDIDATES_AT_ONCE = 1024
"""12 bytes for each candidate stay in the first cache."""
VECTOR = 16
BLOCK_BYTES = 4096


def slot_support(reports: NDArray[Any], size: int) -> Counts:
    """Run by the party: how often every slot was reported (k-RR)."""
    _refuse_many(len(reports))
    _refuse_large("slot", reports, size)
    tables = np.zeros((TABLES, size), dtype=np.uint32)
    add_slots(reports, tables)
    support: Counts = tables.sum(axis=0, dtype=np.int64)
    return support


def bit_support(packed: NDArray[np.uint8], size: int) -> Counts:
    """Run by the party: how often every bit was set; a row is a report, its first slot in the highest bit (OUE)."""
    reports, width = packed.shape
    _refuse_many(reports)
    rows = _rows_of_a_block(width)
    groups = reports // (rows * AT_ONCE)
    counted = groups * AT_ONCE * rows
    blocks = packed[:counted].reshape(groups * AT_ONCE, rows * width).view(np.uint64)
    planes = np.zeros((4 + groups.bit_length(), blocks.shape[1]), dtype=np.uint64)
    add_bits(blocks, planes)
    support: Counts = _counters(planes, width) + _bits(packed[counted:]).sum(axis=0, dtype=np.int64)
    if support[size:].any():
        raise InvalidInput(f"a report of {size} bits has others set behind them")
    return support[:size]


def hash_support(seeds: Words32, buckets: NDArray[Any], keys: Keys, count: int) -> Counts:
    """Run by the party: how many reports hash each candidate's key into the reported one of d' buckets (OLH)."""
    _refuse_many(len(seeds))
    _refuse_large("bucket", buckets, count)
    edges = bucket_starts(count)
    starts, widths = edges[:-1].astype(np.uint32)[buckets], np.diff(edges).astype(np.uint32)[buckets]
    low, high = (_padded(words) for words in premixed(keys))
    support = np.zeros(len(low), dtype=np.uint32)
    for first in range(0, len(low), CANDIDATES_AT_ONCE):
        some = slice(first, first + CANDIDATES_AT_ONCE)
        add_support(seeds, starts, widths, low[some], high[some], support[some])
    return support[: len(keys)].astype(np.int64)


def _refuse_many(reports: int) -> None:
    if reports >= MOST_REPORTS:
        raise InvalidInput(f"at most {MOST_REPORTS - 1:,} reports are counted at once, found {reports:,}")


def _refuse_large(what: str, values: NDArray[Any], size: int) -> None:
    """A value outside its range would be written outside its table."""
    largest = int(values.max(initial=0))
    if largest >= size:
        raise InvalidInput(f"expected a {what} below {size}, found {largest}")


def _padded(words: Words32) -> Words32:
    """Return the words and as many zeros as fill the last vector."""
    return np.pad(words, (0, -len(words) % VECTOR))


def _rows_of_a_block(width: int) -> int:
    """Return how many rows make whole words, and enough of them that a pass over a block is long."""
    whole = 8 // gcd(width, 8)
    return whole * max(1, BLOCK_BYTES // (whole * width))


def _counters(planes: NDArray[np.uint64], width: int) -> Counts:
    """Return the counters whose bits the planes hold, summed over the rows of a block."""
    total = np.zeros(8 * width, dtype=np.int64)
    for weight, plane in enumerate(planes):
        total += _bits(plane.view(np.uint8).reshape(-1, width)).sum(axis=0, dtype=np.int64) << weight
    return total


def _bits(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.unpackbits(rows, axis=1)
