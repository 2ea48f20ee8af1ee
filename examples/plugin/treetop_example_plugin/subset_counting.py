"""Subset selection for many devices at once, and what counting their reports says of frequencies."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Columns, FrequencyOracle
from treetop.oracles.oue.counting import BitsCounting
from treetop.oracles.random_words import RandomWords
from treetop_example_plugin.subset import keep_threshold, subset_size

SMALLEST, LARGEST = np.uint64(0), np.uint64(2**64 - 1)


class SubsetCounting(BitsCounting):
    """Reports are rows of packed bits, as in OUE: its columns and its compiled loop are inherited."""

    name = "subset"
    sample_tally = FrequencyOracle.sample_tally  # not OUE's law: here bits depend on each other, so draw reports

    @property
    def w(self) -> int:
        return subset_size(self.odds, self.size)

    def probabilities(self) -> tuple[float, float]:
        """Return p, and q: the chance of a slot to be among the w - 1 beside the true one, or the w without it."""
        d, w, odds = self.size, self.w, self.epsilon.odds
        p = w * odds / (w * odds + d - w)
        return p, (p * (w - 1) + (1 - p) * w) / (d - 1)

    def perturbed(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: the slots of the w smallest words, where the true slot's is the first or last."""
        kept = words.words64(len(values)) < np.uint64(keep_threshold(self.odds, self.size))
        drawn = words.words64(len(values) * self.size).reshape(-1, self.size).copy()
        drawn[np.arange(len(values)), values] = np.where(kept, SMALLEST, LARGEST)
        chosen = np.argpartition(drawn, self.w - 1, axis=1)[:, : self.w]
        bits = np.zeros(drawn.shape, dtype=np.bool_)
        np.put_along_axis(bits, chosen, values=True, axis=1)
        return (np.packbits(bits, axis=1),)

    @property
    def plausible_ones(self) -> tuple[int, int]:
        """Return w twice: a report with another number of ones was crafted."""
        return self.w, self.w
