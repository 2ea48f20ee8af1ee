"""Walsh for many devices, counting their reports, and how many support more than chance allows.

Reports have the law of OLH's, so what OLH knows of them holds here: a report supports its own key with p and any other
with 1 / g. The hash is an affine map over bits, though: names are supported independently of each other in pairs, and
any number of them if no even number of these have bits that cancel (in the XOR). Reports are therefore screened by
such keys alone.
"""

from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import TAIL, Columns, Counts, Keys, binomial, max_of, refuse_large, refuse_many
from treetop.oracles.hashing import outcomes
from treetop.oracles.olh.counting import RARE, HashCounting
from treetop.oracles.random_words import RandomWords
from treetop.oracles.walsh.device import keep_threshold, parity_count
from treetop.oracles.walsh.spectrum import Spectrum
from treetop.privacy.epsilon import Epsilon

MAX_BITS_OF_KEYS = 24
"""Longer keys are counted by pairs: the cells for all names would take more than 200 MB."""
KEYS_AT_ONCE = 1024
"""20 bytes for each key stay in the first cache."""
# What steps of counting cost, in nanoseconds or so; their ratios choose between pairs and the transform.
PAIR = 0.15
"""One parity of one pair of report and key."""
SIGN = 5.0
"""One of the g signs of a report."""
CELL = 0.45
"""One step of the transform in one cell."""

_ONE_AT_A_TIME = Lock()
"""Cells for all names take the memory that they take, and not once more for each thread that counts a file."""


class ParityCounting(HashCounting):
    """Walsh: devices hash the key of their true prefix by parities; there is no candidate list and no dummy slot."""

    name = "walsh"

    @classmethod
    def over_list(cls, epsilon: Epsilon, size: int) -> "ListedParityCounting":
        """Return the oracle that also counts one agreed key, for all that is not on the list."""
        return ListedParityCounting(epsilon, size)

    @cached_property
    def report_slots(self) -> int:
        """Return g."""
        return 1 << parity_count(self.odds)

    def perturbed(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: a fresh seed, and the key's outcome, or any of them where it is not kept."""
        g = self.report_slots
        seeds = words.words32(len(values))
        kept = words.words64(len(values)) < np.uint64(keep_threshold(self.odds, g))
        return seeds, np.where(kept, outcomes(seeds, values, g), words.below(g, len(values)))

    @classmethod
    def support(cls, columns: Columns, report_slots: int, keys: Keys) -> Counts:
        """Run by the party: how many reports have the outcome of each key, by the transform or by pairs."""
        reports = len(columns[0])
        bits = max(1, int(keys.max(initial=0)).bit_length())
        by_pairs = PAIR * reports * len(keys) * (report_slots.bit_length() - 1)
        if bits <= MAX_BITS_OF_KEYS and SIGN * reports * report_slots + CELL * bits * (1 << bits) < by_pairs:
            with _ONE_AT_A_TIME:
                spectrum = Spectrum(bits, report_slots)
                spectrum.add(columns)
                return spectrum.tally().support[keys].astype(np.int64)
        return supported_pairs(columns, report_slots, keys)

    @classmethod
    def every_name(cls, bits: int, report_slots: int) -> Spectrum:
        """Return where reports are added up for all names of b bits."""
        return Spectrum(bits, report_slots)

    def surprising(self, columns: Columns, keys: Keys) -> int:
        """Run by the party: how many reports support rarely many of the keys, of those that are independent."""
        telling = affinely_independent(keys)
        if not len(telling):
            return 0
        seeds, reported = columns
        supported = np.zeros(len(seeds), dtype=np.int32)
        for key in telling:
            supported += outcomes(seeds, key, self.report_slots) == reported
        return int(np.count_nonzero(supported > self._max_supported(len(telling))[0]))

    def beyond_chance(self, surprising: int, reports: int, keys: int) -> int:  # noqa: ARG002  not how many are independent
        """Return the number of rare reports if honest devices, who send one in 10^4 at most, would hardly send as many.

        How rare they are exactly depends on which keys are independent, which is not known here.
        """
        return surprising if surprising > max_of(binomial(reports, RARE), TAIL) else 0


class ListedParityCounting(ParityCounting):
    """Walsh over a list that devices know: a value that is not on it becomes one agreed key, which is also counted."""

    @property
    def slots(self) -> int:
        """Return d: the agreed key is the dummy's."""
        return self.size


def supported_pairs(columns: Columns, report_slots: int, keys: Keys) -> Counts:
    """Run by the party: the support of every key, from each pair of a report and a key."""
    from treetop.oracles.kernels import add_pairs  # noqa: PLC0415  numba loads only where one counts

    seeds, reported = columns
    refuse_many(len(seeds))
    refuse_large("reported outcome", reported, report_slots)
    support = np.zeros(len(keys), dtype=np.uint32)
    for first in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[first : first + KEYS_AT_ONCE]
        add_pairs(seeds, reported, report_slots.bit_length() - 1, some, np.empty_like(some), support[first:])
    return support.astype(np.int64)


def affinely_independent(keys: Keys) -> Keys:
    """Return the first keys, one after the other, no even number of which cancel: 65 at most."""
    reduced: dict[int, int] = {}  # by its highest bit, the sum of the first key and another, and perhaps of others
    chosen: list[int] = []
    for key in keys.tolist():
        rest = key ^ chosen[0] if chosen else 0
        while rest and rest.bit_length() in reduced:
            rest ^= reduced[rest.bit_length()]
        if rest:
            reduced[rest.bit_length()] = rest
        if rest or not chosen:
            chosen.append(key)
    return np.array(chosen, dtype=np.uint64)
