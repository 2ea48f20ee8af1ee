"""The hash of walsh for many reports at once: the words of a seed and the parities that they give (see `device`)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.random_words import Words32, Words64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def mixed_words(seeds: Words32 | Words64, place: int) -> Words64:
    """Return the word at a place, from 1 on, of the generator that every seed starts: the first one is the shift."""
    mixed: Words64 = seeds.astype(np.uint64)
    mixed += np.uint64(place * int(GOLDEN) % (1 << 64))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def outcomes(seeds: Words32, keys: Any, slots: int) -> NDArray[Any]:
    """Return the outcome, out of g, of a key under every seed: one key for all, or one for each."""
    parities = slots.bit_length() - 1
    form = np.min_scalar_type(slots - 1)
    found = (mixed_words(seeds, 1) & np.uint64(slots - 1)).astype(form)
    for place in range(parities):
        odd = np.bitwise_count(mixed_words(seeds, place + 2) & keys) & np.uint8(1)
        found ^= odd.astype(form) << form.type(place)
    return found


def chunk_keys(names: Words64, chunk: int, values: Any, bits: int) -> Words64:
    """Return the keys of chunk values behind names, as `device.chunk_key` has them: arrays that fit each other."""
    starts = np.asarray(values, dtype=np.uint64) | np.uint64((chunk + 1) << 8)
    keys: Words64 = mixed_words((starts << np.uint64(bits)) | names, 1) >> np.uint64(64 - bits)
    return keys
