"""Names that are on no list: which of all 2^b a party sees above the noise, and which of these all parties count."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import erfc, exp, log2, pi, sqrt

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.oracles.frequency_oracle import Counts, Frequencies
from treetop.trie.global_ranking import COUNT_BITS

STEP = 0.5
"""Standard deviations of one step in a count that is sent."""


def normal_tail(z: float) -> float:
    """Return P(Z >= z)."""
    return erfc(z / sqrt(2)) / 2


def expected_bits(names: int, tau: float) -> float:
    """Return the expected length of a party's conspicuous names, where nobody holds any."""
    share = normal_tail(tau)
    excess = exp(-tau * tau / 2) / sqrt(2 * pi) / share - tau
    gap = 1.05 * (log2(1 / share) + 1 / log2(2.718281828))
    return names * share * (gap + 1 + max(excess / STEP, 0.0))


def tau_within(names: int, bits: float) -> float:
    """Return the lowest bound whose conspicuous names are expected to take so many bits at most."""
    low, high = 2.0, 8.0
    if expected_bits(names, low) <= bits:
        return low
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if expected_bits(names, middle) <= bits else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class ConspicuousNames:
    """Party to server: the names that lie tau standard deviations or more above the noise, and by how much.

    Names are sent as gaps in a Rice code, steps of half a deviation above the bound in unary.
    """

    names: Codes
    steps: Counts
    space: int
    """2^b."""

    @cached_property
    def bits(self) -> int:
        """Return the real length."""
        if not len(self.names):
            return COUNT_BITS
        gaps = np.diff(self.names.astype(np.int64), prepend=-1) - 1
        shift = max(0, int(log2(max(self.space / len(self.names) * 0.69, 1))))
        return COUNT_BITS + int((gaps >> shift).sum()) + len(gaps) * (1 + shift) + int(self.steps.sum()) + len(self.steps)


def most_conspicuous(
    sent: Mapping[str, ConspicuousNames], deviations: Mapping[str, float], tau: float, number: int
) -> Codes:
    """Run by the server: the names that the parties' counts together lift highest, ascending.

    A party that did not send a name is taken to count nothing. Ranked by the sum over root of the variance of those that
    sent it, the best that these parties alone could say.
    """
    if not sent:
        return np.empty(0, dtype=np.uint64)
    names, place = np.unique(np.concatenate([each.names for each in sent.values()]), return_inverse=True)
    z = np.concatenate([tau + STEP * each.steps for each in sent.values()])
    s = np.concatenate([np.full(len(each.names), deviations[party]) for party, each in sent.items()])
    counts = np.bincount(place, z * s, len(names))
    variances = np.bincount(place, s * s, len(names))
    score: Frequencies = counts - 2.66 * np.sqrt(variances)
    if len(names) > number:
        names = np.sort(names[np.argpartition(-score, number)[:number]])
    return names
