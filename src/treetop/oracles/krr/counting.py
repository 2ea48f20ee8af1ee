"""k-RR for many devices, and counting their reports."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import (
    Columns,
    Counts,
    Frequencies,
    FrequencyOracle,
    Keys,
    Tally,
    refuse_large,
    refuse_many,
)
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.random_words import RandomWords, Words32


def perturbed_slots(truths: NDArray[Any], slots: int, keep: int, words: RandomWords) -> Words32:
    """Run by simulated devices: keep each slot if its word is below the threshold, else name one of the others."""
    kept = words.words64(len(truths)) < np.uint64(keep)
    truths = truths.astype(np.uint32, copy=False)
    others = words.below(slots - 1, len(truths))
    others += others >= truths
    return np.where(kept, truths, others)


class SlotCounting(FrequencyOracle[Columns]):
    """k-RR over d slots, the dummy being one of them (Eq. 2 of the paper)."""

    name = "krr"
    listed = True
    one_slot = True

    def probabilities(self) -> tuple[float, float]:
        """Return p = e^eps / (d - 1 + e^eps) and q = 1 / (d - 1 + e^eps)."""
        total = self.size - 1 + self.epsilon.odds
        return self.epsilon.odds / total, 1 / total

    @property
    def report_bits(self) -> int:
        """Return ceil(log2 d)."""
        return (self.size - 1).bit_length()

    @cached_property
    def _uniform(self) -> Frequencies:
        return np.full(self.size, 1 / self.size)

    def perturbed(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: the slot or another one."""
        return (perturbed_slots(values, self.size, keep_threshold(self.odds, self.size), words),)

    @classmethod
    def layout(cls, report_slots: int) -> np.dtype[Any]:
        """Return one column, of the smallest unsigned integer that holds every slot."""
        return np.dtype([("slot", np.min_scalar_type(report_slots - 1))])

    @classmethod
    def support(cls, columns: Columns, report_slots: int, keys: Keys) -> Counts:  # noqa: ARG003  slots, not keys
        """Run by the party: how often every slot was reported."""
        from treetop.oracles.kernels import TABLES, add_slots  # noqa: PLC0415  numba loads only where one counts

        (slots,) = columns
        refuse_many(len(slots))
        refuse_large("slot", slots, report_slots)
        tables = np.zeros((TABLES, report_slots), dtype=np.uint32)
        add_slots(slots, tables)
        support: Counts = tables.sum(axis=0, dtype=np.int64)
        return support

    def as_reports(self, columns: Columns) -> Words32:
        """Return the slots, in integers that a caller may add up."""
        return columns[0].astype(np.uint32)

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw kept ~ Bin(n_v, p - q) for each slot; the other reports fall on all d slots uniformly.

        The law of Eq. 2, since p = (p - q) + 1 / d * (1 - (p - q)).
        """
        reports = int(holders.sum())
        kept = randomness.binomial(holders, self.p - self.q)
        strayed = randomness.multinomial(reports - int(kept.sum()), self._uniform)
        return Tally(kept + strayed, reports)
