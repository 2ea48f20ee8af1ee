"""The compiled loops against plain numpy, and their Python text against both."""

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit, types
from tests.support.report_batches import support_by_numpy

from treetop.errors import InvalidInput
from treetop.oracles import kernels, support_counts
from treetop.oracles.hash_family import bucket_starts, buckets, premixed
from treetop.oracles.optimized_local_hashing import OptimizedLocalHashing
from treetop.oracles.support_counts import bit_support, hash_support, slot_support
from treetop.privacy.epsilon import Epsilon


@pytest.fixture
def randomness() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize(("size", "dtype"), [(2, np.uint8), (256, np.uint8), (300, np.uint16), (70_000, np.uint32)])
@pytest.mark.parametrize("reports", [0, 1, 6, 10_001])
def test_slots_are_counted_like_bincount(size: int, dtype: Any, reports: int, randomness: np.random.Generator) -> None:
    slots = randomness.integers(size, size=reports).astype(dtype)
    np.testing.assert_array_equal(slot_support(slots, size), np.bincount(slots, minlength=size))


@pytest.mark.parametrize("size", [1, 8, 17, 41, 256, 263, 5000])
@pytest.mark.parametrize("reports", [0, 5, 9_000])
def test_bits_are_counted_like_unpacked_ones(size: int, reports: int, randomness: np.random.Generator) -> None:
    bits = randomness.random((reports, size)) < 0.3
    packed = np.packbits(bits, axis=1)
    np.testing.assert_array_equal(bit_support(packed, size), bits.sum(axis=0))


def test_bits_that_are_always_set_carry_through_every_plane() -> None:
    reports = 70_000
    assert bit_support(np.full((reports, 32), 255, dtype=np.uint8), 256).tolist() == [reports] * 256


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 12.0])
@pytest.mark.parametrize("candidates", [1, 16, 77, 1025])
def test_support_is_that_of_the_hash_itself(epsilon: float, candidates: int, randomness: np.random.Generator) -> None:
    oracle = OptimizedLocalHashing(Epsilon(epsilon), candidates + 1)
    keys = randomness.integers(2**64, size=candidates, dtype=np.uint64)
    reports = oracle.perturb(randomness.choice(keys, size=300), randomness)
    expected = support_by_numpy(*reports, keys, oracle.bucket_count)
    np.testing.assert_array_equal(hash_support(*reports, keys, oracle.bucket_count), expected)
    np.testing.assert_array_equal(oracle.tally(reports, keys).support, expected)


@pytest.mark.parametrize("count", [2, 3, 9, 56, 1000, 65_535, 65_536])
def test_a_bucket_is_an_interval_of_hashes(count: int) -> None:
    starts = bucket_starts(count)
    assert starts[0] == 0
    assert starts[-1] == 1 << 32
    for bucket, (start, after) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        assert (start * count) >> 32 == bucket
        assert ((after - 1) * count) >> 32 == bucket


def test_values_out_of_range_are_refused_and_not_written() -> None:
    seeds, keys = np.zeros(2, dtype=np.uint32), np.zeros(1, dtype=np.uint64)
    with pytest.raises(InvalidInput, match="expected a slot below 3, found 3"):
        slot_support(np.array([0, 3], dtype=np.uint8), 3)
    with pytest.raises(InvalidInput, match="expected a bucket below 9, found 9"):
        hash_support(seeds, np.array([0, 9], dtype=np.uint8), keys, 9)
    with pytest.raises(InvalidInput, match="3 bits has others set"):
        bit_support(np.array([[16]], dtype=np.uint8), 3)


def test_more_reports_than_a_counter_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support_counts, "MOST_REPORTS", 3)
    with pytest.raises(InvalidInput, match="at most 2 reports are counted at once, found 3"):
        slot_support(np.zeros(3, dtype=np.uint8), 2)


def test_the_text_of_the_loops_counts_like_their_machine_code(randomness: np.random.Generator) -> None:
    slots = randomness.integers(5, size=11).astype(np.uint8)
    tables = np.zeros((kernels.TABLES, 5), dtype=np.uint32)
    kernels.add_slots.py_func(slots, tables)
    assert tables.sum(axis=0).tolist() == np.bincount(slots, minlength=5).tolist()


def test_the_text_of_the_adder_adds_like_its_machine_code(randomness: np.random.Generator) -> None:
    blocks = randomness.integers(2**64, size=(16, 3), dtype=np.uint64)
    text, machine = np.zeros((6, 3), dtype=np.uint64), np.zeros((6, 3), dtype=np.uint64)
    kernels.add_bits(blocks, machine)
    kernels.add_bits.py_func(blocks, text)
    np.testing.assert_array_equal(text, machine)
    a, b, c = (np.uint64(word) for word in (0b1100, 0b1010, 0b1001))
    assert kernels.odd.py_func(a, b, c) == 0b1111
    assert kernels.most.py_func(a, b, c) == 0b1000
    carries, ones = np.empty(3, dtype=np.uint64), np.zeros((3, 3), dtype=np.uint64)
    kernels.add_eight_blocks.py_func(np.full((8, 3), 1, dtype=np.uint64), ones[0], ones[1], ones[2], carries)
    assert carries.tolist() == [1, 1, 1]
    plane = np.ones(3, dtype=np.uint64)
    kernels.add_carry.py_func(plane, carries)
    assert (plane.tolist(), carries.tolist()) == ([0, 0, 0], [1, 1, 1])


def test_the_text_of_the_hash_loop_supports_like_the_hash(randomness: np.random.Generator) -> None:
    seeds = randomness.integers(2**32, size=20, dtype=np.uint32)
    low, high = premixed(np.arange(16, dtype=np.uint64))
    start, width = np.uint32(1 << 30), np.uint32(1 << 30)  # bucket 1 of 4
    support = np.zeros(16, dtype=np.uint32)
    every = np.full(20, start), np.full(20, width)
    kernels.add_support.py_func(seeds, *every, low, high, support)
    expected = [np.count_nonzero(buckets(seeds, *words, 4) == 1) for words in zip(low, high, strict=True)]
    assert support.tolist() == expected
    with np.errstate(over="ignore"):
        texts = [bool(kernels.supports.py_func(seed, start, width, low[0], high[0]) == 1) for seed in seeds]
    assert texts == (buckets(seeds, low[0], high[0], 4) == 1).tolist()


SMALL = """
import numpy as np
from treetop.oracles.support_counts import bit_support, hash_support
seeds, keys = np.arange(500, dtype=np.uint32), np.arange(70, dtype=np.uint64)
print(hash_support(seeds, seeds % 9, keys, 9).tolist(), bit_support(seeds.view(np.uint8).reshape(-1, 4), 32).tolist())
"""


def counted_with(features: dict[str, str], cache: Path) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | features
    return subprocess.run(
        [sys.executable, "-c", SMALL], env=environment, check=True, capture_output=True
    ).stdout.decode()


def test_machines_with_short_vectors_count_the_same(tmp_path: Path) -> None:
    old = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2" if platform.machine() == "x86_64" else "+neon"}
    assert counted_with(old, tmp_path) == counted_with({}, tmp_path)


def test_512_bit_vectors_are_used_where_the_machine_has_them() -> None:
    if "+avx512f" not in kernels.HOST:
        pytest.skip("this machine has no 512-bit vectors")
    words = types.Array(types.uint32, 1, "C")
    fresh = njit([types.void(*[words] * 6)])(kernels.add_support.py_func)  # cached code cannot be looked at
    assert all("zmm" in text for text in fresh.inspect_asm().values())
