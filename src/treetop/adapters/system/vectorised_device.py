"""Many simulated devices at once, with the operating system's randomness and a device's own thresholds.

The law is that of `treetop.federation.samplers`, word for word; only the way from random bytes to a uniform lie
differs: a 32-bit word is multiplied by the bound and the high half taken, with the few words that would make it
uneven drawn again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.adapters.system.entropy import SystemEntropy
from treetop.errors import InvalidInput, UnknownName
from treetop.federation.ports import Entropy
from treetop.federation.task import ORACLE_NAMES
from treetop.federation.thresholds import HALF, bucket_count, checked_slots, flip_threshold, keep_threshold
from treetop.oracles.hash_family import Words32, buckets, premixed
from treetop.oracles.optimized_local_hashing import HashedReports
from treetop.privacy.budget import Budget

Slots = NDArray[np.uint32]
Words64 = NDArray[np.uint64]
AT_ONCE = 1 << 15
"""Reports in a stretch: small enough for the processor's cache."""


def perturb(oracle: str, value: int, d: int, epsilon: float | str, reports: int) -> Any:
    """Return that many independent device reports of one value, drawn with operating-system randomness.

    Slots 0 .. d - 2 are candidates and d - 1 is the dummy. k-RR gives an array of slots, OUE a matrix of
    reports x d bits, OLH seeds and buckets, with the value hashed as a key.
    """
    if oracle not in ORACLE_NAMES:
        raise UnknownName("oracle", oracle, ORACLE_NAMES)
    if not 0 <= value < checked_slots(d):
        raise InvalidInput(f"a value must be from 0 to d - 1 = {d - 1}, found {value}")
    if reports < 0:
        raise InvalidInput(f"reports must be 0 at least, found {reports}")
    return perturbed(oracle, value, d, Budget(str(epsilon)), reports, entropy=SystemEntropy())


def perturbed(oracle: str, value: int, d: int, budget: Budget, reports: int, *, entropy: Entropy) -> Any:
    """Run by simulated devices: as `perturb`, with the randomness passed in."""
    if oracle == "krr":
        return _in_stretches(SlotLaw.of(budget, d), value, reports, entropy)
    if oracle == "oue":
        return perturbed_bits(value, d, budget, reports, entropy)
    return perturbed_hashes(value, budget, reports, entropy)


def perturbed_bits(value: int, d: int, budget: Budget, reports: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Run by simulated devices: OUE, one word for each position."""
    thresholds = np.full(d, flip_threshold(budget), dtype=np.uint64)
    thresholds[value] = HALF
    bits = np.empty((reports, d), dtype=np.bool_)
    at_once = max(1, AT_ONCE // d)
    for start in range(0, reports, at_once):
        stretch = bits[start : start + at_once]
        np.less(_words64(entropy, stretch.size).reshape(stretch.shape), thresholds, out=stretch)
    return bits


def perturbed_hashes(value: int, budget: Budget, reports: int, entropy: Entropy) -> HashedReports:
    """Run by simulated devices: OLH, a fresh seed and a perturbed bucket for each report."""
    law = SlotLaw.of(budget, bucket_count(budget))
    low, high = (int(word[0]) for word in premixed(np.array([value], dtype=np.uint64)))
    seeds, reported = np.empty(reports, dtype=np.uint32), np.empty(reports, dtype=np.uint32)
    for start in range(0, reports, AT_ONCE):
        stretch = slice(start, min(start + AT_ONCE, reports))
        seeds[stretch] = _words32(entropy, stretch.stop - start)
        truths = buckets(seeds[stretch], np.uint32(low), np.uint32(high), law.slots)
        reported[stretch] = law.perturbed(truths, entropy)
    return HashedReports(seeds, reported)


def _in_stretches(law: "SlotLaw", value: int, reports: int, entropy: Entropy) -> Slots:
    slots = np.empty(reports, dtype=np.uint32)
    for start in range(0, reports, AT_ONCE):
        stretch = slots[start : start + AT_ONCE]
        stretch[:] = law.perturbed(np.full(len(stretch), value, dtype=np.uint32), entropy)
    return slots


@dataclass(frozen=True)
class SlotLaw:
    """k-RR over d slots with the device's threshold."""

    slots: int
    keep: int

    @classmethod
    def of(cls, budget: Budget, slots: int) -> "SlotLaw":
        """Take the threshold that a device takes."""
        return cls(slots, keep_threshold(budget, slots))

    def perturbed(self, truths: Slots, entropy: Entropy) -> Slots:
        """Keep each slot if its word is below the threshold, else name one of the others."""
        lies = _words64(entropy, len(truths)) >= np.uint64(self.keep)
        others = uniform_below(self.slots - 1, len(truths), entropy)
        others += others >= truths
        return np.where(lies, others, truths)


def uniform_below(bound: int, count: int, entropy: Entropy) -> Slots:
    """Return uniform integers below a bound of at most 2^32."""
    uneven = (1 << 32) - bound * ((1 << 32) // bound)
    products = _words32(entropy, count).astype(np.uint64) * np.uint64(bound)
    while (again := np.flatnonzero(products.astype(np.uint32) < uneven)).size:
        products[again] = _words32(entropy, again.size).astype(np.uint64) * np.uint64(bound)
    return (products >> np.uint64(32)).astype(np.uint32)


def _words64(entropy: Entropy, count: int) -> Words64:
    return np.frombuffer(entropy.read(8 * count), dtype=np.uint64)


def _words32(entropy: Entropy, count: int) -> Words32:
    return np.frombuffer(entropy.read(4 * count), dtype=np.uint32)
