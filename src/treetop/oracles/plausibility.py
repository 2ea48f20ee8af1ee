"""Reports that honest devices do not send, or not so often: they do not break the count, they show an attack.

OUE: an honest device sets its own bit with p and every other with q, so that its ones follow Bern(p) + Bin(d - 1, q).
A report of more ones, or fewer, than all but 10^-12 of that law was crafted.

OLH: any pair of seed and bucket is one that an honest device might send, and there are only 2^32 d' of them: the best
that an attacker finds is hardly rarer than 10^-12. What shows is how many reports support more of some K keys than
chance. An honest device's own key is supported with p and every other with 1 / d', so the keys that its report supports
are Bern(p) + Bin(K - 1, 1 / d') at most (fewer where its own is not among them). A report in the upper 10^-4 of that
law is rare; rare reports are told of only if so many come from n honest devices once in 10^12. Three limits: with few
keys or few buckets even all K together are not rare; a few crafted reports among many honest ones do not stand out; and
keys that were found in the same reports are a little likelier than chance to be supported by each of them.

k-RR: a report is one slot, and every slot is as honest as another.
"""

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Keys
from treetop.oracles.hash_family import Words32, buckets, premixed
from treetop.oracles.tallies import Frequencies

TAIL = 1e-12
RARE = 1e-4
"""The tail of one OLH report; their number is then held against `TAIL`."""
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
    return slots - _most(law[::-1], TAIL / 2), _most(law, TAIL / 2)


def _most(law: Frequencies, tail: float) -> int:
    """Return the smallest number whose excess has at most that chance."""
    return len(law) - 1 - int(np.searchsorted(np.cumsum(law[::-1]), tail, side="right"))


def most_supported(keys: int, p: float, q: float) -> tuple[int, float]:
    """Return how many of so many keys an OLH report supports without being rare, and the chance of a rare one."""
    law = own_and_others(p, keys - 1, q)
    most = _most(law, RARE)
    return most, float(law[most + 1 :].sum())


def implausible_bits(packed: NDArray[np.uint8], slots: int, p: float, q: float) -> int:
    """Run by the party: how many OUE reports, rows of packed bits, have too many ones or too few."""
    fewest, most = plausible_ones(slots, p, q)
    ones = _ONES[packed].sum(axis=1)
    return int(np.count_nonzero((ones < fewest) | (ones > most)))


def rare_hashes(seeds: Words32, reported: Words32, keys: Keys, count: int, p: float) -> int:
    """Run by the party: how many OLH reports, seeds and one of `count` buckets, support rarely many of the keys."""
    if not len(keys):
        return 0
    supported = np.zeros(len(seeds), dtype=np.int32)
    for low, high in zip(*premixed(keys), strict=True):
        supported += buckets(seeds, low, high, count) == reported
    return int(np.count_nonzero(supported > most_supported(len(keys), p, 1 / count)[0]))


def beyond_chance(rare: int, reports: int, keys: int, count: int, p: float) -> int:
    """Return the number of rare OLH reports if honest devices would hardly send so many, otherwise 0."""
    if not rare:
        return 0
    chance = most_supported(keys, p, 1 / count)[1]
    return rare if rare > _most(_binomial(reports, chance), TAIL) else 0
