"""What a party knows of a level once its reports are counted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle, Tally
from treetop.trie.candidate_domain import CandidateDomain


@dataclass(frozen=True, eq=False)
class LevelEstimates:
    """The candidates of a level in falling order of estimated frequency; equal ones by the smaller prefix."""

    length: int
    prefixes: Codes
    frequencies: Frequencies
    reports: int
    oracle: FrequencyOracle[Any]

    @classmethod
    def of(cls, domain: CandidateDomain, oracle: FrequencyOracle[Any], tally: Tally) -> "LevelEstimates":
        """Estimate every candidate; the dummy is estimated with them but never extended or reported."""
        frequencies = oracle.estimate(tally)[: len(domain)]
        order = np.argsort(-frequencies, kind="stable")
        return cls(domain.length, domain.prefixes[order], frequencies[order], tally.reports, oracle)

    def __len__(self) -> int:
        return len(self.prefixes)

    @property
    def sigma(self) -> float:
        """Return the standard deviation of an estimate at f = 0, as Eqs. 9 and 10 use it."""
        return float(np.sqrt(self.oracle.variance(0.0, self.reports)))

    def top(self, number: int) -> "LevelEstimates":
        """Return the most frequent ones."""
        return self._at(slice(number))

    def positive(self) -> "LevelEstimates":
        """Return those with a positive estimate."""
        return self._at(slice(int(np.count_nonzero(self.frequencies > 0))))

    def _at(self, places: slice) -> "LevelEstimates":
        prefixes, frequencies = self.prefixes[places], self.frequencies[places]
        return LevelEstimates(self.length, prefixes, frequencies, self.reports, self.oracle)
