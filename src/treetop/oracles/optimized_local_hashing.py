"""Optimized local hashing: hash the value into d' buckets with a random seed, report the bucket by k-RR.

Privacy: the seed is independent of the value, and k-RR over the buckets gives p / q = e^epsilon whatever the
hash. Unbiasedness needs the hash: any other value falls into the reported bucket with probability 1 / d'.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import FrequencyOracle, Keys, independent_support
from treetop.oracles.hash_family import Words32, buckets, premixed
from treetop.oracles.tallies import Counts, Tally

MOST_BUCKETS = 1 << 16
"""A bucket takes two bytes at most; from epsilon 11 on this keeps d' below ceil(e^eps + 1), at no loss."""


class HashedReports(NamedTuple):
    """One seed and one bucket for each report."""

    seeds: Words32
    buckets: Words32


class OptimizedLocalHashing(FrequencyOracle[HashedReports]):
    """OLH: devices hash the key of their true prefix, so there is no candidate list and no dummy slot."""

    name = "olh"
    needs_candidates = False

    @property
    def slots(self) -> int:
        """Return d - 1: nothing is counted for the dummy."""
        return self.size - 1

    @property
    def bucket_count(self) -> int:
        """Return d' = ceil(e^eps + 1)."""
        return int(min(np.ceil(self.epsilon.odds + 1), MOST_BUCKETS))

    def probabilities(self) -> tuple[float, float]:
        """Return p = e^eps / (d' - 1 + e^eps) and q* = 1 / d' (the printed q would bias the estimate)."""
        return self.epsilon.odds / (self.bucket_count - 1 + self.epsilon.odds), 1 / self.bucket_count

    def perturb(self, values: NDArray[Any], randomness: Generator) -> HashedReports:
        """Run by simulated devices: a fresh seed, and the hashed key's bucket kept as in k-RR."""
        seeds = randomness.integers(1 << 32, size=len(values), dtype=np.uint32)
        truths = buckets(seeds, *premixed(values), self.bucket_count)
        stray = (1 - self.p) * self.bucket_count / (self.bucket_count - 1)
        lies = randomness.random(len(values)) < stray
        fresh = randomness.integers(self.bucket_count, size=len(values), dtype=np.uint32)
        return HashedReports(seeds, np.where(lies, fresh, truths))

    def tally(self, reports: HashedReports, keys: Keys) -> Tally:
        """Run by the party: how many reports hash each candidate into the reported bucket."""
        from treetop.oracles.support_counts import hash_support  # noqa: PLC0415  numba loads only where one counts

        return Tally(hash_support(*reports, keys, self.bucket_count), len(reports.seeds))

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw Bin(n_v, p) + Bin(n - n_v, 1 / d') for each candidate: exact for an ideal hash."""
        return independent_support(holders, self.slots, self.p, self.q, randomness)


class ListedLocalHashing(OptimizedLocalHashing):
    """OLH over a list that devices know: a value that is not on it becomes one agreed key, which is counted, too."""

    @property
    def slots(self) -> int:
        """Return d: the agreed key is the dummy's."""
        return self.size
