"""Every name of b bits at once: the spectrum of walsh reports, which adds up, and the support of all names from it.

A report (seed, v) supports a name x if all s parities agree, and as a sum over the subsets u of its masks

    [h(x) = v]  =  1/g  sum over u of  (-1)^(u . (v XOR r))  (-1)^(x . XOR of w_j for j in u).

So each report adds g signs to an array of 2^b cells, and the Walsh-Hadamard transform of the array is g times the
support of every name: n g additions and b 2^b for the transform, instead of n 2^b hashes.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Columns, Counts, Tally, refuse_large, refuse_many

MAX_BITS = 28
"""Of a name: the cells then take 1 GB, or 2 GB where there are many reports."""
WAITING = 1 << 24
"""Cells that wait to be added, two bytes each, at most."""
WAITING_TOGETHER = 1 << 15
"""Cells of one row that wait at most."""
BLOCK_BITS = 12
"""Low bits that are transformed block by block: 2^12 cells of four bytes fit the first cache."""
TILE = 64
"""Columns that are transformed together: at 24 bits the 2^12 rows of a tile take 1 MB and fit the second cache."""


def refuse_bits(bits: int) -> None:
    """Refuse names so long that there is no memory for all of them."""
    if not 1 <= bits <= MAX_BITS:
        raise InvalidInput("spectrum_bits", max_bits=MAX_BITS, bits=bits)


class Spectrum:
    """The partial sums of some reports: those of disjoint reports add up, in any order."""

    def __init__(self, bits: int, slots: int) -> None:
        refuse_bits(bits)
        self.bits = bits
        self.slots = slots
        self.reports = 0
        self.sums: NDArray[Any] = np.zeros(1 << bits, dtype=np.int32)

    def _make_room(self, more: int) -> None:
        """Count more reports; a cell holds n g at most, and from 2^31 on takes 64 bits."""
        refuse_many(self.reports + more)
        self.reports += more
        if self.reports * self.slots > np.iinfo(self.sums.dtype).max:
            self.sums = self.sums.astype(np.int64)

    def add(self, columns: Columns) -> None:
        """Run by the party: add the signs of some reports."""
        from treetop.oracles.kernels import LOW_BITS, scatter  # noqa: PLC0415  numba, where one counts

        seeds, reported = columns
        refuse_large("reported outcome", reported, self.slots)
        self._make_room(len(seeds))
        rows = 1 << max(0, self.bits - LOW_BITS)
        waiting = np.empty((rows, min(WAITING_TOGETHER, WAITING // rows)), dtype=np.uint16)
        parities = self.slots.bit_length() - 1
        scatter(seeds, reported, parities, self.sums, waiting, np.zeros(rows, dtype=np.int64))

    def __iadd__(self, other: "Spectrum") -> Self:
        if (self.bits, self.slots) != (other.bits, other.slots):
            expected, found = ((each.bits, each.slots) for each in (self, other))
            raise InvalidInput("spectra_differ", expected=expected, found=found)
        self._make_room(other.reports)
        self.sums += other.sums
        return self

    def tally(self) -> Tally:
        """Return the support of every name; the spectrum may go on growing."""
        support = self.sums.copy()
        transform(support)
        # The transform of the sums is g times the support: a shift is exact.
        support >>= self.slots.bit_length() - 1
        return Tally(support, self.reports)


def transform(sums: NDArray[Any]) -> None:
    """Transform 2^b integers in place after Walsh and Hadamard: their low bits in blocks, then the others in tiles."""
    from treetop.oracles.kernels import transform_blocks, transform_rows  # noqa: PLC0415  numba, where one counts

    bits = len(sums).bit_length() - 1
    low = min(bits, BLOCK_BITS + (bits - BLOCK_BITS) % 2)  # an even number of bits is left
    transform_blocks(sums, 1 << low)
    transform_rows(sums.reshape(-1, 1 << low), min(TILE, 1 << low))


def names_above(tally: Tally, slots: int, z: float) -> Counts:
    """Return the names whose support is more than z standard deviations above that of a name that nobody holds."""
    n = tally.reports
    q = 1 / slots
    return np.flatnonzero(tally.support > n * q + z * np.sqrt(n * q * (1 - q)))
