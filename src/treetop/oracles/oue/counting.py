"""OUE for many devices, counting their reports, and those that no honest device sends.

An honest device sets its own bit with p and every other with q, so that its ones follow Bern(p) + Bin(d - 1, q).
A report of more ones, or fewer, than all but 10^-12 of that law was crafted.
"""

from math import gcd
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import (
    TAIL,
    Columns,
    Counts,
    FrequencyOracle,
    Keys,
    Tally,
    independent_support,
    max_of,
    own_and_others,
    refuse_many,
)
from treetop.oracles.oue.device import flip_threshold
from treetop.oracles.random_words import RandomWords
from treetop.privacy.randomness import HALF

BLOCK_BYTES = 4096
"""Rows are added in blocks of about this size: the eight of one pass take 32 kB."""
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.int32)


class BitsCounting(FrequencyOracle[Columns]):
    """OUE over d positions, the dummy being one of them (section 7.3 of the paper)."""

    name = "oue"
    listed = True
    screens = True

    def probabilities(self) -> tuple[float, float]:
        """Return p = 1 / 2 and q = 1 / (e^eps + 1)."""
        return 0.5, 1 / (self.epsilon.odds + 1)

    @property
    def report_cells(self) -> int:
        """Return d: a word for each position."""
        return self.size

    @property
    def report_bits(self) -> int:
        """Return d."""
        return self.size

    def perturbed(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: one row of d bits for each value, packed."""
        drawn = words.words64(len(values) * self.size).reshape(-1, self.size)
        bits = drawn < np.uint64(flip_threshold(self.odds))
        own = np.arange(len(values))
        bits[own, values] = drawn[own, values] < np.uint64(HALF)
        return (np.packbits(bits, axis=1),)

    @classmethod
    def layout(cls, report_slots: int) -> np.dtype[Any]:
        """Return one column of rows of bytes, the first slot in the highest bit."""
        return np.dtype([("bits", np.uint8, ((report_slots + 7) // 8,))])

    @classmethod
    def in_range(cls, columns: Columns, report_slots: int) -> bool:
        """Return whether no bit is set behind the last slot."""
        return not (columns[0][:, -1] & ((1 << -report_slots % 8) - 1)).any()

    @classmethod
    def support(cls, columns: Columns, report_slots: int, keys: Keys) -> Counts:  # noqa: ARG003  slots, not keys
        """Run by the party: how often every bit was set.

        Rows are cut into blocks of whole words; the k-th bits of all the adder's counters lie in the k-th plane.
        """
        from treetop.oracles.kernels import AT_ONCE, add_bits, add_rows  # noqa: PLC0415  numba, where one counts

        (packed,) = columns
        reports, width = packed.shape
        refuse_many(reports)
        whole = 8 // gcd(width, 8)
        rows = whole * max(1, BLOCK_BYTES // (whole * width))
        groups = reports // (rows * AT_ONCE)
        counted = groups * AT_ONCE * rows
        blocks = packed[:counted].reshape(groups * AT_ONCE, rows * width).view(np.uint64)
        planes = np.zeros((4 + groups.bit_length(), blocks.shape[1]), dtype=np.uint64)
        add_bits(blocks, planes)
        support: Counts = np.zeros(8 * width, dtype=np.int64)
        add_rows(packed[counted:], 0, support)
        for weight, plane in enumerate(planes):
            add_rows(plane.view(np.uint8).reshape(-1, width), weight, support)
        if support[report_slots:].any():
            raise InvalidInput("report_bits_set", report_slots=report_slots)
        return support[:report_slots]

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw Bin(n_v, p) + Bin(n - n_v, q) for each of the d positions."""
        return independent_support(holders, self.size, self.p, self.q, randomness)

    def as_reports(self, columns: Columns) -> NDArray[np.bool_]:
        """Return a matrix of reports x d bits."""
        return np.unpackbits(columns[0], axis=1, count=self.size).view(np.bool_)

    @property
    def plausible_ones(self) -> tuple[int, int]:
        """Return the fewest and the most ones of a report that is no surprise, half of the tail on either side."""
        law = own_and_others(self.p, self.size - 1, self.q)
        return self.size - max_of(law[::-1], TAIL / 2), max_of(law, TAIL / 2)

    def surprising(self, columns: Columns, keys: Keys) -> int:  # noqa: ARG002  slots, not keys
        """Run by the party: how many reports have too many ones or too few."""
        fewest, most = self.plausible_ones
        ones = _ONES[columns[0]].sum(axis=1)
        return int(np.count_nonzero((ones < fewest) | (ones > most)))
