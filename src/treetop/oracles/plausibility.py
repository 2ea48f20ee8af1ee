"""Reports that no honest device sends, except once in 10^12: they do not break the count, they show an attack.

OUE: an honest device sets its own bit with p and every other with q, so that its ones follow Bern(p) + Bin(d - 1, q).
A report of more ones, or fewer, than all but 10^-12 of that law was crafted.

OLH: any pair of seed and bucket is one that an honest device might send. What shows is a report that supports far more
of some K keys than chance. An honest device's own key is supported with p and every other with 1 / d', so the keys that
its report supports are at most Bern(p) + Bin(K - 1, 1 / d') (fewer where its key is not among them). Two limits:
with few keys or few buckets even all K together are no surprise, and then nothing can be told; and keys that
were found in the same reports are a little likelier than chance to be supported by each of them.

k-RR: a report is one slot, and every slot is as honest as another.
"""

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Keys
from treetop.oracles.hash_family import Words32, buckets, premixed
from treetop.oracles.tallies import Frequencies

TAIL = 1e-12
_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.int32)


def own_and_others(p: float, others: int, q: float) -> Frequencies:
    """Return the law of Bern(p) + Bin(others, q): the chance of 0, 1, ..., others + 1."""
    chances = np.zeros(others + 2)
    chances[:-1] = (1 - p) * _binomial(others, q)
    chances[1:] += p * _binomial(others, q)
    return chances


def _binomial(trials: int, q: float) -> Frequencies:
    """Return the chances of 0 to all, each from the one before, in logarithms: no power of q is too small."""
    place = np.arange(trials)
    ratios = np.log((trials - place) / (place + 1)) + np.log(q) - np.log1p(-q)
    logarithms: Frequencies = trials * np.log1p(-q) + np.concatenate([[0.0], np.cumsum(ratios)])
    return np.exp(logarithms)


def plausible_ones(slots: int, p: float, q: float) -> tuple[int, int]:
    """Return the fewest and the most ones of an OUE report that is no surprise, half of the tail on either side."""
    law = own_and_others(p, slots - 1, q)
    below = int(np.searchsorted(np.cumsum(law), TAIL / 2, side="right"))
    above = int(np.searchsorted(np.cumsum(law[::-1]), TAIL / 2, side="right"))
    return below, slots - above


def most_supported(keys: int, p: float, q: float) -> int:
    """Return the most of so many keys that an OLH report may support and be no surprise."""
    law = own_and_others(p, keys - 1, q)
    return keys - int(np.searchsorted(np.cumsum(law[::-1]), TAIL, side="right"))


def implausible_bits(packed: NDArray[np.uint8], slots: int, p: float, q: float) -> int:
    """Run by the party: how many OUE reports, rows of packed bits, have too many ones or too few."""
    fewest, most = plausible_ones(slots, p, q)
    ones = _ONES[packed].sum(axis=1)
    return int(np.count_nonzero((ones < fewest) | (ones > most)))


def implausible_hashes(seeds: Words32, reported: Words32, keys: Keys, count: int, p: float) -> int:
    """Run by the party: how many OLH reports, seeds and one of `count` buckets, support too many of the keys."""
    if not len(keys):
        return 0
    supported = np.zeros(len(seeds), dtype=np.int32)
    for low, high in zip(*premixed(keys), strict=True):
        supported += buckets(seeds, low, high, count) == reported
    return int(np.count_nonzero(supported > most_supported(len(keys), p, 1 / count)))
