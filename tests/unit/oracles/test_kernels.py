"""The compiled loops count the same on every machine, and use the vectors it has."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit, types

from treetop.oracles import kernels
from treetop.oracles.kernels import HOST

SMALL = """
import numpy as np
from treetop.oracles.olh.counting import HashCounting
from treetop.oracles.oue.counting import BitsCounting
from treetop.oracles.walsh.counting import supported_pairs
seeds, keys = np.arange(500, dtype=np.uint32), np.arange(70, dtype=np.uint64)
print(HashCounting.support((seeds, seeds % 9), 9, keys).tolist())
print(supported_pairs((seeds, seeds % 8), 8, keys).tolist())
print(BitsCounting.support((seeds.view(np.uint8).reshape(-1, 4),), 32, keys[:0]).tolist())
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
    if "+avx512f" not in HOST:
        pytest.skip("this machine has no 512-bit vectors")
    words = types.Array(types.uint32, 1, "C")
    fresh = njit([types.void(*[words] * 6)])(kernels.add_support.py_func)  # cached code cannot be looked at
    assert all("zmm" in text for text in fresh.inspect_asm().values())
