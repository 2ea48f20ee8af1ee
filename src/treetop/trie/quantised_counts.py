"""A party's counts of all candidates in steps of half a standard deviation, in unary."""

from dataclasses import dataclass

import numpy as np

from treetop.oracles.frequency_oracle import Counts, Frequencies
from treetop.trie.global_ranking import COUNT_BITS

LARGEST_UNARY = 20
"""Above it: 21 ones and the value in 32 bits."""
LARGEST_VALUE = (1 << COUNT_BITS) - 1
UNARY_BITS = {False: 1.8, True: 3.4}
"""Expected bits for a candidate that nobody holds, by whether negative values are sent: E[1 + max(0, round(2 Z))],
or E[1 + |round(2 Z)|] and a sign where it is not zero, for a standard normal Z."""


@dataclass(frozen=True, eq=False)
class QuantisedCounts:
    """What party i sends of a level: v = max(0, round(2 c_i / s_i)) for every candidate, and s_i.

    A negative count can never enter a lower-confidence score. Plain sums need the sign: one more bit where v is not 0.
    """

    values: Counts
    deviation: float
    """s_i, sent in 32 bits; infinite where the party has no report, and nothing else is sent."""
    signed: bool = False

    @classmethod
    def of(cls, counts: Frequencies, deviation: float, signed: bool = False) -> "QuantisedCounts":
        """Run by the party: round to the nearest half standard deviation."""
        if deviation == np.inf:
            return cls(np.empty(0, dtype=np.int64), deviation, signed)
        least = -LARGEST_VALUE if signed else 0
        values = np.clip(np.rint(2 * counts / deviation), least, LARGEST_VALUE).astype(np.int64)
        return cls(values, deviation, signed)

    @property
    def missing(self) -> bool:
        """Return whether the party had no report."""
        return self.deviation == np.inf

    @property
    def counts(self) -> Frequencies:
        """Run by the server: c_i = v s_i / 2."""
        return self.values.astype(np.float64) * (self.deviation / 2)

    @property
    def variance(self) -> float:
        """Run by the server: s_i^2 (1 + 1/48), the second part for the rounding."""
        return self.deviation**2 * (1 + 1 / 48)

    @property
    def bits(self) -> int:
        """Return the real length: v ones and a zero, or 21 ones and 32 bits; the signs; 32 bits for s_i."""
        sizes = np.abs(self.values)
        ones = np.where(sizes <= LARGEST_UNARY, sizes + 1, LARGEST_UNARY + 1 + COUNT_BITS)
        signs = int(np.count_nonzero(sizes)) if self.signed else 0
        return int(ones.sum()) + signs + COUNT_BITS
