"""Names that are on no list: which of all 2^b a party sees above the noise, and which of them all parties count."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import e, erfc, exp, log, log2, pi, sqrt

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array
from treetop.errors import PeerViolation
from treetop.oracles.frequency_oracle import Counts, Frequencies
from treetop.trie.quantised_counts import COUNT_BITS
from treetop.trie.unary_code import packed, plain, read_plain, read_unary, unary, unpacked

STEP = 0.5
"""Standard deviations of one step of a count that is sent."""
LOWEST, HIGHEST = 2.0, 8.0
"""Bounds that a party may be given, in standard deviations."""


def expected_bits(names: int, tau: float) -> float:
    """Return the expected length of the conspicuous ones among so many names that nobody holds."""
    share = erfc(tau / sqrt(2)) / 2
    steps = (exp(-tau * tau / 2) / sqrt(2 * pi) / share - tau) / STEP
    gap = log2(e / share)  # of geometric gaps in their best code, which a Rice code nearly is
    return names * share * (gap + 1 + steps)


def tau_within(names: int, bits: float) -> float:
    """Return the lowest bound whose conspicuous names are expected to take so many bits at most, or the highest."""
    low, high = LOWEST, HIGHEST
    if expected_bits(names, low) <= bits:
        return low
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if expected_bits(names, middle) <= bits else (middle, high)
    return high


def rice_shift(space: int, names: int) -> int:
    """Return about log2 of the median gap between so many names: these low bits of a gap are sent as they are."""
    return int(log2(max(log(2) * space / max(names, 1), 1)))


@dataclass(frozen=True, eq=False)
class ConspicuousNames:
    """Party to server: the names that lie tau or more standard deviations above the noise, and how far above tau.

    Ascending names are sent as their gaps in a Rice code, the steps above the bound in unary.
    """

    names: Codes
    steps: Counts
    space: int
    """2^b."""

    @classmethod
    def of(cls, names: Codes, scores: Frequencies, tau: float, space: int) -> "ConspicuousNames":
        """Run by a party: round how far names lie above the bound."""
        return cls(names, np.rint((scores - tau) / STEP).astype(np.int64).clip(0), space)

    @classmethod
    def none(cls, bits: int) -> "ConspicuousNames":
        """Return no names."""
        return cls(code_array([], bits), np.empty(0, dtype=np.int64), 1 << bits)

    @property
    def shift(self) -> int:
        """Return the low bits of a gap that are sent as they are."""
        return rice_shift(self.space, len(self.names))

    @cached_property
    def _gaps(self) -> Counts:
        """Return how many names lie between each and the one before."""
        names: Counts = np.append(-1, self.names.astype(np.int64))
        return names[1:] - names[:-1] - 1

    @cached_property
    def bits(self) -> int:
        """Return the real length: quotients and steps in unary, low bits, and how many there are."""
        ones = int((self._gaps >> self.shift).sum() + self.steps.sum())
        return COUNT_BITS + ones + len(self.names) * (self.shift + 2)

    def to_bytes(self) -> bytes:
        """Return all of it as `bits` counts it, but for how many there are."""
        low = self._gaps & ((1 << self.shift) - 1)
        return packed(unary(self._gaps >> self.shift), unary(self.steps), plain(low, self.shift))

    @classmethod
    def from_bytes(cls, data: bytes, number: int, bits: int) -> "ConspicuousNames":
        """Run by the server: read so many names of b bits, written as they are written here, or refuse."""
        shift = rice_shift(1 << bits, number)
        quotients, rest = read_unary(unpacked(data), number)
        steps, rest = read_unary(rest, number)
        low, _ = read_plain(rest, number, shift)
        if len(quotients) == len(steps) == len(low) == number:
            names = ((quotients << shift | low) + 1).cumsum() - 1
            found = cls(names.astype(np.uint64), steps, 1 << bits)
            if (not number or names[-1] < found.space) and found.to_bytes() == data:
                return found
        raise PeerViolation("packed names", f"{number} as Treetop writes them", f"{len(data)} other bytes")


def most_conspicuous(
    sent: Mapping[str, ConspicuousNames], deviations: Mapping[str, float], tau: float, zeta: float, number: int
) -> Codes:
    """Run by the server: the names that the parties who saw them lift highest together, ascending.

    Whoever did not send a name is taken to count nothing: the score is the lower bound over those who did.
    """
    every = np.concatenate([each.names for each in sent.values()])
    order = every.argsort(kind="stable")  # ascending runs are merged, faster than `np.unique`
    every = every[order]
    new = np.append(True, every[1:] != every[:-1])[: len(every)]
    names, place = every[new], new.cumsum() - 1
    counts = np.concatenate([(tau + STEP * each.steps) * deviations[party] for party, each in sent.items()])[order]
    variances = np.concatenate([np.full(len(each.names), deviations[party] ** 2) for party, each in sent.items()])[
        order
    ]
    scores = np.bincount(place, counts, len(names)) - zeta * np.sqrt(np.bincount(place, variances, len(names)))
    return names if len(names) <= number else np.sort(names[np.argpartition(-scores, number)[:number]])
