"""The hashes of OLH and walsh for many reports at once, bit for bit those of the devices.

OLH: a 32-bit seed and a 64-bit key give a bucket. A key is first premixed into two 32-bit words, once for all seeds;
seed and words then go through three multiplications of 32 bits, of which a vector holds twice as many as of 64, and the
bucket is floor(hash * d' / 2^32), without a division. Walsh: a seed gives s masks and a shift, and the outcome is one
parity for each mask. Both are pinned by vectors (tests/vectors).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.oracles import hashed_reports
from treetop.oracles.frequency_oracle import Keys
from treetop.oracles.random_words import Words32, Words64

GOLDEN = np.uint64(hashed_reports.GOLDEN)
FIRST = np.uint64(hashed_reports.FIRST)
SECOND = np.uint64(hashed_reports.SECOND)
FIRST_PRIME = np.uint32(hashed_reports.FIRST_PRIME)
SECOND_PRIME = np.uint32(hashed_reports.SECOND_PRIME)
THIRD_PRIME = np.uint32(hashed_reports.THIRD_PRIME)


def mixed_words(seeds: Words32 | Words64, index: int) -> Words64:
    """Return the word at an index, from 1 on, of the splitmix64 generator that every seed starts."""
    mixed: Words64 = seeds.astype(np.uint64)
    mixed += np.uint64(index * hashed_reports.GOLDEN % (1 << 64))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def premixed(keys: Keys) -> tuple[Words32, Words32]:
    """Return the low and the high half of the first word that splitmix64 makes of each key."""
    mixed = mixed_words(keys, 1)
    return mixed.astype(np.uint32), (mixed >> np.uint64(32)).astype(np.uint32)


def buckets(seeds: Words32, low: Any, high: Any, count: int) -> Words32:
    """Return OLH's bucket of a premixed key under every seed."""
    mixed: Words32 = (seeds ^ low) * FIRST_PRIME
    mixed = ((mixed ^ (mixed >> np.uint32(15))) + high) * SECOND_PRIME
    mixed = (mixed ^ (mixed >> np.uint32(13))) * THIRD_PRIME
    mixed ^= mixed >> np.uint32(16)
    return ((mixed.astype(np.uint64) * np.uint64(count)) >> np.uint64(32)).astype(np.uint32)


def bucket_starts(count: int) -> NDArray[np.uint64]:
    """Return ceil(b 2^32 / d') for b from 0 to d': bucket b holds the hashes from its start to before the next."""
    return (np.arange(count + 1, dtype=np.uint64) * np.uint64(1 << 32) + np.uint64(count - 1)) // np.uint64(count)


def outcomes(seeds: Words32, keys: Any, slots: int) -> NDArray[Any]:
    """Return walsh's outcome, out of g, of a key under every seed: one key for all, or one for each."""
    form = np.min_scalar_type(slots - 1)
    # The first word is the shift. Without it the key 0 would have the outcome 0 under every seed.
    found = (mixed_words(seeds, 1) & np.uint64(slots - 1)).astype(form)
    for parity in range(slots.bit_length() - 1):
        odd = np.bitwise_count(mixed_words(seeds, parity + 2) & keys) & np.uint8(1)
        found ^= odd.astype(form) << form.type(parity)
    return found


def chunk_keys(names: Words64, chunk: int, values: Any, bits: int) -> Words64:
    """Return the keys of chunk values behind names, as `walsh.device.chunk_key` computes one; arrays broadcast."""
    starts = np.asarray(values, dtype=np.uint64) | np.uint64((chunk + 1) << 8)
    keys: Words64 = mixed_words((starts << np.uint64(bits)) | names, 1) >> np.uint64(64 - bits)
    return keys
