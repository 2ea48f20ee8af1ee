"""OLH for many devices, counting their reports, and how many support more than chance allows.

Any pair of seed and bucket is one that an honest device might send, and there are only 2^32 d' of them: the best that
an attacker finds is hardly rarer than 10^-12. What shows is how many reports support more of some K keys than chance.
An honest device's own key is supported with p and every other with 1 / d', so the keys that its report supports are
Bern(p) + Bin(K - 1, 1 / d') at most (fewer where its own is not among them). A report in the upper 10^-4 of that law
is rare; rare reports are flagged only if n honest devices send as many once in 10^12. Three limits: with few keys
or few buckets even all K together are not rare; a few crafted reports among many honest ones do not stand out; and keys
that were found in the same reports are a little likelier than chance to be supported by each of them.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import (
    TAIL,
    Columns,
    Counts,
    FrequencyOracle,
    Keys,
    Tally,
    binomial,
    independent_support,
    max_of,
    own_and_others,
    refuse_large,
    refuse_many,
)
from treetop.oracles.hashed_reports import SEED_BYTES
from treetop.oracles.hashing import bucket_starts, buckets, premixed
from treetop.oracles.krr.counting import perturbed_slots
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.olh.device import bucket_count
from treetop.oracles.random_words import RandomWords, Words32
from treetop.privacy.epsilon import Epsilon

CANDIDATES_AT_ONCE = 1024
"""12 bytes for each candidate stay in the first cache."""
VECTOR = 16
"""Candidates are padded to whole vectors: 16 words of 32 bits fill one of 512 bits."""
RARE = 1e-4
"""The tail of one report; the number of such reports is then compared with `TAIL`."""


class HashedReports(NamedTuple):
    """One seed and one bucket for each report."""

    seeds: Words32
    buckets: NDArray[Any]


class HashCounting(FrequencyOracle[Columns]):
    """OLH: devices hash the key of their true prefix, so there is no candidate list and no dummy slot."""

    name = "olh"
    listed = False
    screens = True

    @classmethod
    def over_list(cls, epsilon: Epsilon, size: int) -> "HashCounting":
        """Return the oracle that also counts one agreed key, for all that is not on the list."""
        return ListedHashCounting(epsilon, size)

    @property
    def slots(self) -> int:
        """Return d - 1: nothing is counted for the dummy."""
        return self.size - 1

    @cached_property
    def report_slots(self) -> int:
        """Return d' = ceil(e^eps + 1)."""
        return bucket_count(self.odds)

    def probabilities(self) -> tuple[float, float]:
        """Return p = e^eps / (d' - 1 + e^eps) and q* = 1 / d' (the printed q would bias the estimate)."""
        return self.epsilon.odds / (self.report_slots - 1 + self.epsilon.odds), 1 / self.report_slots

    @property
    def report_bits(self) -> int:
        """Return the bits of the seed and ceil(log2 d')."""
        return 8 * SEED_BYTES + (self.report_slots - 1).bit_length()

    def perturbed(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: a fresh seed, and the hashed key's bucket perturbed by k-RR."""
        seeds = words.words32(len(values))
        truths = buckets(seeds, *premixed(values), self.report_slots)
        return seeds, perturbed_slots(truths, self.report_slots, keep_threshold(self.odds, self.report_slots), words)

    @classmethod
    def layout(cls, report_slots: int) -> np.dtype[Any]:
        """Return the seed, and the bucket in the smallest unsigned integer that holds every one."""
        return np.dtype([("seed", np.uint32), ("bucket", np.min_scalar_type(report_slots - 1))])

    @classmethod
    def support(cls, columns: Columns, report_slots: int, keys: Keys) -> Counts:
        """Run by the party: how many reports hash each candidate's key into the reported one of d' buckets."""
        from treetop.oracles.kernels import add_support  # noqa: PLC0415  numba loads only where one counts

        seeds, reported = columns
        refuse_many(len(seeds))
        refuse_large("bucket", reported, report_slots)
        edges = bucket_starts(report_slots)  # the loop compares hashes with the edges of buckets, and divides nothing
        starts = edges[:-1].astype(np.uint32)[reported]
        widths = np.diff(edges).astype(np.uint32)[reported]
        low, high = (np.pad(words, (0, -len(words) % VECTOR)) for words in premixed(keys))
        support = np.zeros(len(low), dtype=np.uint32)
        for first in range(0, len(low), CANDIDATES_AT_ONCE):
            some = slice(first, first + CANDIDATES_AT_ONCE)
            add_support(seeds, starts, widths, low[some], high[some], support[some])
        return support[: len(keys)].astype(np.int64)

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw Bin(n_v, p) + Bin(n - n_v, 1 / d') for each candidate: exact for an ideal hash."""
        return independent_support(holders, self.slots, self.p, self.q, randomness)

    def as_reports(self, columns: Columns) -> HashedReports:
        """Return seeds and buckets."""
        return HashedReports(*columns)

    def _max_supported(self, keys: int) -> tuple[int, float]:
        """Return how many of the keys a report may support without being rare, and the chance of a rare one."""
        law = own_and_others(self.p, keys - 1, self.q)
        most = max_of(law, RARE)
        return most, float(law[most + 1 :].sum())

    def surprising(self, columns: Columns, keys: Keys) -> int:
        """Run by the party: how many reports support rarely many of the keys."""
        if not len(keys):
            return 0
        seeds, reported = columns
        supported = np.zeros(len(seeds), dtype=np.int32)
        for low, high in zip(*premixed(keys), strict=True):
            supported += buckets(seeds, low, high, self.report_slots) == reported
        return int(np.count_nonzero(supported > self._max_supported(len(keys))[0]))

    def beyond_chance(self, surprising: int, reports: int, keys: int) -> int:
        """Return the number of rare reports if honest devices would hardly send as many, otherwise 0."""
        if not surprising:
            return 0
        chance = self._max_supported(keys)[1]
        return surprising if surprising > max_of(binomial(reports, chance), TAIL) else 0


class ListedHashCounting(HashCounting):
    """OLH over a list that devices know: a value that is not on it becomes one agreed key, which is also counted."""

    @property
    def slots(self) -> int:
        """Return d: the agreed key is the dummy's."""
        return self.size
