"""The kernel of the graphics card: its text runs anywhere as C++, the card itself where there is one."""

import ctypes
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report_batches import KEYS, KINDS, asking, random_reports, written

import treetop
from treetop.adapters.report_files.embedded import EmbeddedEngine
from treetop.oracles import hash_family
from treetop.oracles.hash_family import bucket_starts, premixed
from treetop.oracles.support_counts import hash_support

FOLDER = Path(treetop.__file__).parent / "adapters" / "cupy"
TWIN = """
#define __global__
#define __shared__
#define __launch_bounds__(threads)
#define __syncthreads()
struct uint4 { unsigned x, y, z, w; };
struct place { unsigned x, y; };
static place blockIdx, blockDim = {1, 1}, threadIdx = {0, 0};
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4{x, y, z, w}; }
static void atomicAdd(unsigned long long *sum, unsigned long long more) { *sum += more; }
extern "C" void at(unsigned x, unsigned y) { blockIdx = place{x, y}; }
"""


def why_no_card() -> str:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (treetop[gpu])"
    import cupy

    return "" if cupy.is_available() else "there is no graphics card"


NO_CARD = why_no_card()


@pytest.fixture
def kernel(tmp_path: Path) -> Any:
    """The .cu file compiled for this processor, blocks of one thread that are run in turn."""
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    hashing = {name: f"{getattr(hash_family, name)}u" for name in ("FIRST", "SECOND", "THIRD")}
    sizes = {"THREADS": 1, "PER_THREAD": 4, "TILE": 32}
    constants = "".join(f"#define {name} {value}\n" for name, value in {**hashing, **sizes}.items())
    source, library = tmp_path / "kernel.cpp", tmp_path / "kernel.so"
    source.write_text(constants + TWIN + (FOLDER / "olh_support.cu").read_text())
    subprocess.run(["g++", "-O1", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("count", [2, 9, 1000])
def test_the_text_of_the_kernel_counts_like_the_processor(kernel: Any, count: int) -> None:
    randomness = np.random.default_rng(3)
    seeds = randomness.integers(2**32, size=333, dtype=np.uint32)
    buckets = randomness.integers(count, size=333)
    edges = bucket_starts(count).astype(np.uint32)
    starts = edges[buckets]
    arrays = [seeds, starts, edges[buckets + 1] - starts, *premixed(KEYS), np.zeros(len(KEYS), dtype=np.uint64)]
    seeds_at, starts_at, widths_at, low_at, high_at, support_at = (ctypes.c_void_p(a.ctypes.data) for a in arrays)
    per_block = 64
    for x in range(-(-len(KEYS) // 4)):
        for y in range(-(-333 // per_block)):
            kernel.at(x, y)
            kernel.olh_support(
                *(seeds_at, starts_at, widths_at, ctypes.c_ulonglong(333)),
                *(low_at, high_at, ctypes.c_uint(len(KEYS)), ctypes.c_uint(per_block), support_at),
            )
    np.testing.assert_array_equal(arrays[-1], hash_support(seeds, buckets, KEYS, count))


def test_the_kernels_module_needs_numpy_and_cupy_alone() -> None:
    text = (FOLDER / "olh_support.py").read_text()
    modules = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    assert set(modules) == {"pathlib", "typing", "numpy", "cupy", "treetop"}


@pytest.mark.skipif(bool(NO_CARD), reason=NO_CARD or "-")
@pytest.mark.parametrize("name", ["olh", "olh wide"])
def test_the_card_counts_like_the_embedded_engine(name: str, tmp_path: Path) -> None:
    from treetop.adapters.cupy.report_counting import CupyEngine

    kind = KINDS[name]
    files = [written(tmp_path / f"{place}.parquet", kind, random_reports(kind, 3000, seed=place)) for place in range(3)]
    card, processor = CupyEngine().count(files, asking(kind)), EmbeddedEngine().count(files, asking(kind))
    assert card.reports == processor.reports
    np.testing.assert_array_equal(card.support, processor.support)
