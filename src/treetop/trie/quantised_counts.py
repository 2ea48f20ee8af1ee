"""Counts as parties send those of a whole level: in steps of half a standard deviation, in unary.

A number in unary is that number of ones and a zero. Where numbers have a greatest one, that one needs no zero: a row of
ones of its length can be nothing else. Most candidates are held by nobody, so most numbers are 0 or 1; the large ones
are written in plain binary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.errors import PeerViolation
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle

Bits = NDArray[np.uint8]
UNBOUNDED = 1 << 62
"""Above every count: numbers in unary that have no greatest one."""
COUNT_BITS = 32
"""Of a count that is sent whole, as the paper prices uploads."""
LARGEST_UNARY = 20
"""Above it: 21 ones and the value in 32 bits."""
LARGEST_VALUE = (1 << COUNT_BITS) - 1
FINEST = 2.0**-30
"""Smallest standard deviation that a party states, as a share of its users: about 2^31 steps reach all of them."""
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
        # Rounding to steps of s / 2 adds an error that is about uniform over a step, of variance (s / 2)^2 / 12.
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
        """Run by the server: read the values of all candidates, or refuse bytes that `to_bytes` would not write."""
        sizes, rest = read_unary(unpacked(data), number, LARGEST_UNARY + 1)
        signs, rest = read_plain(rest, int(np.count_nonzero(sizes)) if signed else 0, 1)
        large, _ = read_plain(rest, int(np.count_nonzero(sizes > LARGEST_UNARY)), COUNT_BITS)
        if len(sizes) == number and len(large) == np.count_nonzero(sizes > LARGEST_UNARY):
            sizes[sizes > LARGEST_UNARY] = large
            if len(signs) == np.count_nonzero(sizes):
                sizes[np.flatnonzero(sizes)[signs > 0]] *= -1
            found = cls(sizes, deviation, signed)
            if found.to_bytes() == data:  # one spelling for each upload
                return found
        raise PeerViolation("packed counts", f"{number} values as Treetop writes them", f"{len(data)} other bytes")


def noise_deviation(users: int, reports: int, oracle: FrequencyOracle[Any]) -> float:
    """Return s_i, the standard deviation of the count of a candidate that nobody holds, as 32 bits hold it."""
    if reports == 0:
        return np.inf
    s = users * np.sqrt(oracle.variance(0.0, reports))
    return float(np.float32(max(s, FINEST * users)))


def unary(numbers: Counts, greatest: int = UNBOUNDED) -> Bits:
    """Return numbers up to the greatest one in unary, one after the other."""
    ends = numbers < greatest
    bits = np.ones(int(numbers.sum() + np.count_nonzero(ends)), dtype=np.uint8)
    bits[((numbers + ends).cumsum() - 1)[ends]] = 0
    return bits


def read_unary(bits: Bits, count: int, greatest: int = UNBOUNDED) -> tuple[Counts, Bits]:
    """Return `count` numbers and the bits behind them; fewer numbers where there are too few bits."""
    zeros = np.append(np.flatnonzero(bits == 0), len(bits))
    starts = np.append(0, zeros[:-1] + 1)
    greatest_ones, last = np.divmod(zeros - starts, greatest)
    in_all = (greatest_ones + 1).cumsum()
    index = min(int(in_all.searchsorted(count)), len(in_all) - 1) if count else 0
    numbers = np.full(in_all[index], greatest, dtype=np.int64)
    numbers[in_all[: index + 1] - 1] = last[: index + 1]
    beyond = int(in_all[index]) - count  # the last run went on with numbers that are not asked for
    end = starts[index] + greatest * (int(greatest_ones[index]) + 1 - beyond) if beyond > 0 else zeros[index] + 1
    return numbers[:count], bits[end:]


def plain(numbers: Counts, width: int) -> Bits:
    """Return numbers in `width` bits each, the highest bit first."""
    bits: NDArray[np.int64] = (numbers[:, None] >> np.arange(width)[::-1]) & 1
    return bits.astype(np.uint8).ravel()


def read_plain(bits: Bits, count: int, width: int) -> tuple[Counts, Bits]:
    """Return `count` numbers of `width` bits and the bits behind them; fewer numbers where there are too few bits."""
    count = min(count, len(bits) // width) if width else count
    rows = bits[: count * width].reshape(count, width).astype(np.int64)
    return rows @ (1 << np.arange(width, dtype=np.int64)[::-1]), bits[count * width :]


def packed(*parts: Bits) -> bytes:
    """Return bits as bytes, filled up with zeros."""
    return np.packbits(np.concatenate(parts)).tobytes()


def unpacked(data: bytes) -> Bits:
    """Return the bits of bytes."""
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8))
