"""Optimized unary encoding: one bit per slot, the true one set with 1/2, every other with 1 / (e^eps + 1).

Privacy: two values differ in two bits, and (p / q) ((1 - q) / (1 - p)) = (1 - q) / q = e^epsilon.
"""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import FrequencyOracle, Keys, independent_support
from treetop.oracles.tallies import Counts, Tally


class OptimizedUnaryEncoding(FrequencyOracle[NDArray[np.bool_]]):
    """OUE over d positions, the dummy being one of them (section 7.3 of the paper)."""

    name = "oue"
    needs_candidates = True

    def probabilities(self) -> tuple[float, float]:
        """Return p = 1 / 2 and q = 1 / (e^eps + 1)."""
        return 0.5, 1 / (self.epsilon.odds + 1)

    @property
    def report_cells(self) -> int:
        """Return d: a report is a row of bits."""
        return self.size

    def perturb(self, values: NDArray[Any], randomness: Generator) -> NDArray[np.bool_]:
        """Run by simulated devices: one row of d bits for each value."""
        bits = randomness.random((len(values), self.size)) < self.q
        bits[np.arange(len(values)), values] = randomness.random(len(values)) < self.p
        return bits

    def tally(self, reports: NDArray[np.bool_], keys: Keys) -> Tally:  # noqa: ARG002  slots, not keys
        """Run by the party: how often every bit was set."""
        return Tally(reports.sum(axis=0, dtype=np.int64), len(reports))

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw Bin(n_v, p) + Bin(n - n_v, q) for each of the d positions."""
        return independent_support(holders, self.size, self.p, self.q, randomness)
