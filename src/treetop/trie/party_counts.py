"""What a party of Canopy knows of a level: the count of every candidate, in the candidates' order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.trie.global_ranking import CountedPrefixes
from treetop.trie.level_estimates import LevelEstimates

FINEST = 2.0**-30
"""Smallest standard deviation that a party states, as a share of its users: about 2^31 steps reach all of them."""


@dataclass(frozen=True, eq=False)
class PartyCounts:
    """Unbiased signed frequencies of the candidates, in ascending order of prefixes, and the users they stand for."""

    length: int
    prefixes: Codes
    frequencies: Frequencies
    reports: int
    oracle: FrequencyOracle[Any]
    users: int

    @property
    def counts(self) -> Frequencies:
        """Return c_i(x), scaled to the party's n_i users."""
        return self.frequencies * self.users

    @property
    def deviation(self) -> float:
        """Return s_i, the standard deviation of the count of a candidate that nobody holds, as 32 bits hold it."""
        if self.reports == 0:
            return np.inf
        s = self.users * np.sqrt(self.oracle.variance(0.0, self.reports))
        return float(np.float32(max(s, FINEST * self.users)))

    def top(self, number: int) -> Codes:
        """Return the party's own most frequent candidates with a positive estimate."""
        number = min(number, len(self.prefixes))
        least = np.partition(self.frequencies, len(self.prefixes) - number)[len(self.prefixes) - number]
        places = np.flatnonzero((self.frequencies >= least) & (self.frequencies > 0))
        return self.prefixes[places[np.argsort(-self.frequencies[places], kind="stable")[:number]]]

    def of(self, prefixes: Codes) -> CountedPrefixes:
        """Return the signed counts of prefixes that the server asks for, the party's own most frequent one first."""
        places = np.searchsorted(self.prefixes, np.sort(prefixes if self.reports else prefixes[:0]))
        places = places[np.argsort(-self.frequencies[places], kind="stable")]
        asked = LevelEstimates(self.length, self.prefixes[places], self.frequencies[places], self.reports, self.oracle)
        return CountedPrefixes.of(asked, self.users, asked_for=True)
