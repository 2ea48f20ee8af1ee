"""k-ary randomized response: report the true slot with probability p, else one of the others.

Privacy: a report y has probability p if the value is y and q otherwise, and p / q = e^epsilon.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import FrequencyOracle, Keys
from treetop.oracles.tallies import Counts, Frequencies, Tally


class KRandomizedResponse(FrequencyOracle[NDArray[np.int64]]):
    """k-RR over d slots, the dummy being one of them (Eq. 2 of the paper)."""

    name = "krr"
    needs_candidates = True

    def probabilities(self) -> tuple[float, float]:
        """Return p = e^eps / (d - 1 + e^eps) and q = 1 / (d - 1 + e^eps)."""
        total = self.size - 1 + self.epsilon.odds
        return self.epsilon.odds / total, 1 / total

    @cached_property
    def _uniform(self) -> Frequencies:
        return np.full(self.size, 1 / self.size)

    def perturb(self, values: NDArray[Any], randomness: Generator) -> NDArray[np.int64]:
        """Run by simulated devices: keep the slot with probability p - q, else any of the d, uniformly.

        The same law as Eq. 2, since p = (p - q) + 1 / d * (1 - (p - q)).
        """
        kept = randomness.random(len(values)) < self.p - self.q
        reports = randomness.integers(self.size, size=len(values))
        np.copyto(reports, values, where=kept)
        return reports

    def tally(self, reports: NDArray[np.int64], keys: Keys) -> Tally:  # noqa: ARG002  slots, not keys
        """Run by the party: how often every slot was reported."""
        return Tally(np.bincount(reports, minlength=self.size).astype(np.int64), len(reports))

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw kept ~ Bin(n_v, p - q) for each slot; the other reports fall on all d slots uniformly."""
        reports = int(holders.sum())
        kept = randomness.binomial(holders, self.p - self.q)
        strayed = randomness.multinomial(reports - int(kept.sum()), self._uniform)
        return Tally(kept + strayed, reports)
