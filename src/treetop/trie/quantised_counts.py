"""Counts as parties send those of a whole level: in steps of half a standard deviation, in unary."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.errors import PeerViolation
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle
from treetop.trie.unary_code import packed, plain, read_plain, read_unary, unary, unpacked

COUNT_BITS = 32
"""Of a count that is sent whole, as the paper prices uploads."""
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

    def to_bytes(self) -> bytes:
        """Return the values as `bits` counts them: in unary up to 20, then the signs, then the large ones in 32 bits.

        s_i is not among them where the server knows it from the number of reports.
        """
        sizes = np.abs(self.values)
        signs = (self.values < 0)[sizes > 0].astype(np.int64) if self.signed else sizes[:0]
        large = sizes[sizes > LARGEST_UNARY]
        first = unary(np.minimum(sizes, LARGEST_UNARY + 1), LARGEST_UNARY + 1)
        return packed(first, plain(signs, 1), plain(large, COUNT_BITS))

    @classmethod
    def from_bytes(cls, data: bytes, number: int, deviation: float, signed: bool = False) -> "QuantisedCounts":
        """Run by the server: read the values of so many candidates, written as they are written here, or refuse."""
        sizes, rest = read_unary(unpacked(data), number, LARGEST_UNARY + 1)
        signs, rest = read_plain(rest, int(np.count_nonzero(sizes)) if signed else 0, 1)
        large, _ = read_plain(rest, int(np.count_nonzero(sizes > LARGEST_UNARY)), COUNT_BITS)
        if len(sizes) == number and len(large) == np.count_nonzero(sizes > LARGEST_UNARY):
            sizes[sizes > LARGEST_UNARY] = large
            if len(signs) == np.count_nonzero(sizes):
                sizes[np.flatnonzero(sizes)[signs > 0]] *= -1
            found = cls(sizes, deviation, signed)
            if found.to_bytes() == data:
                return found
        raise PeerViolation("packed counts", f"{number} values as Treetop writes them", f"{len(data)} other bytes")


FINEST = 2.0**-30
"""Smallest standard deviation that a party states, as a share of its users: about 2^31 steps reach all of them."""


def noise_deviation(users: int, reports: int, oracle: FrequencyOracle[Any]) -> float:
    """Return s_i, the standard deviation of the count of a candidate that nobody holds, as 32 bits hold it."""
    if reports == 0:
        return np.inf
    s = users * np.sqrt(oracle.variance(0.0, reports))
    return float(np.float32(max(s, FINEST * users)))
