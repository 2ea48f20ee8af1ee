import json
from pathlib import Path

import numpy as np
import pytest

from treetop.encoding.bit_strings import code_array, keys_of
from treetop.federation.bucket_hash import NO_CODE_KEY, bucket_of, key_of
from treetop.oracles.hash_family import buckets, premixed
from treetop.simulation.device_by_device import NO_CODE_KEY as SIMULATED_NO_CODE_KEY

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "olh_hash.json").read_text())


def test_devices_hash_as_the_vectors_say() -> None:
    for vector in VECTORS:
        assert bucket_of(vector["seed"], vector["key"], vector["buckets"]) == vector["bucket"]


@pytest.mark.parametrize("count", [2, 4, 9, 2982, 65536])
def test_devices_and_parties_hash_alike(count: int) -> None:
    stream = np.random.default_rng(7)
    seeds = stream.integers(1 << 32, size=500, dtype=np.uint32)
    for key in stream.integers(1 << 63, size=20, dtype=np.uint64):
        low, high = premixed(np.array([key]))
        counted = buckets(seeds, low, high, count)
        assert [bucket_of(int(seed), int(key), count) for seed in seeds] == counted.tolist()


@pytest.mark.parametrize("bits", [48, 64, 128, 256])
def test_devices_and_parties_take_the_same_key(bits: int) -> None:
    prefixes = [0, 1, (1 << 40) + 7, (1 << bits) - 1, (1 << (bits - 1)) + 3]
    assert [key_of(prefix) for prefix in prefixes] == keys_of(code_array(prefixes, bits)).tolist()


def test_an_item_without_a_code_hashes_as_in_the_simulation() -> None:
    assert int(SIMULATED_NO_CODE_KEY) == NO_CODE_KEY
