"""The kernel of the graphics card: its text runs anywhere as C++, the card itself where there is one."""

import ctypes
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.report_batches import KEYS, KINDS, asking, random_reports, written

import treetop
from treetop.adapters.report_files.counting import EmbeddedEngine
from treetop.adapters.report_files.report_kind import ReportKind
from treetop.errors import InvalidInput
from treetop.oracles.olh.counting import HashCounting

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


class TwinKernel:
    """What CuPy's RawKernel does, for blocks of one thread that this processor runs in turn."""

    folder: Path

    def __init__(self, source: str, name: str, options: tuple[str, ...]) -> None:
        code, library = self.folder / "kernel.cpp", self.folder / "kernel.so"
        code.write_text(TWIN + source)
        subprocess.run(["g++", "-O1", "-w", "-shared", "-fPIC", *options, code, "-o", library], check=True)
        self.library, self.name = ctypes.CDLL(str(library)), name

    def __call__(self, grid: tuple[int, int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
        assert block == (1,)
        for x, y in np.ndindex(grid):
            self.library.at(x, y)
            getattr(self.library, self.name)(*map(as_c, arguments))


def as_c(argument: Any) -> Any:
    kinds: dict[type, Any] = {np.uint32: ctypes.c_uint, np.uint64: ctypes.c_ulonglong}
    kind = kinds.get(type(argument))
    return ctypes.c_void_p(argument.ctypes.data) if kind is None else kind(int(argument))


@pytest.fixture
def twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the card on numpy arrays, with the .cu file compiled for this processor."""
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.setattr(TwinKernel, "folder", tmp_path, raising=False)
    names = ("asarray", "zeros", "int32", "uint64")
    cupy = SimpleNamespace(**{name: getattr(np, name) for name in names}, asnumpy=np.asarray, RawKernel=TwinKernel)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for name in ("olh_support", "report_counting"):
        monkeypatch.delitem(sys.modules, f"treetop.adapters.cupy.{name}", raising=False)
    module = importlib.import_module("treetop.adapters.cupy.olh_support")
    monkeypatch.setattr(module, "SHAPE", module.Shape(threads=1, per_thread=8, tile=512))
    yield module
    for name in ("olh_support", "report_counting"):
        sys.modules.pop(f"treetop.adapters.cupy.{name}", None)


@pytest.mark.parametrize("count", [2, 9, 1000])
def test_the_text_of_the_kernel_counts_like_the_processor(twin: Any, count: int) -> None:
    randomness = np.random.default_rng(3)
    seeds = randomness.integers(2**32, size=70_000, dtype=np.uint32)
    buckets = randomness.integers(count, size=70_000).astype(np.uint16)
    counter = twin.SupportCounter(KEYS)
    counter.add(twin.ResidentReports(seeds, buckets, count))
    counter.add(twin.ResidentReports(seeds[:0], buckets[:0], count))
    np.testing.assert_array_equal(counter.counts(), HashCounting.support((seeds, buckets), count, KEYS))


def test_the_engine_around_the_kernel_counts_files(twin: Any, tmp_path: Path) -> None:
    same_as_embedded(KINDS["olh"], tmp_path)


def same_as_embedded(kind: ReportKind, folder: Path) -> None:
    from treetop.adapters.cupy.report_counting import CupyEngine

    files = [written(folder / f"{place}.parquet", kind, random_reports(kind, 3000, seed=place)) for place in range(3)]
    card, processor = CupyEngine().count(files, asking(kind)), EmbeddedEngine().count(files, asking(kind))
    assert card.reports == processor.reports
    np.testing.assert_array_equal(card.support, processor.support)
    with pytest.raises(InvalidInput, match="the gpu engine counts olh alone, found krr"):
        CupyEngine().count([], asking(KINDS["krr"]))


def test_the_kernels_module_needs_numpy_and_cupy_alone() -> None:
    text = (FOLDER / "olh_support.py").read_text()
    modules = re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)
    assert set(modules) == {"pathlib", "typing", "numpy", "cupy", "treetop"}


@pytest.mark.skipif(bool(NO_CARD), reason=NO_CARD or "-")
@pytest.mark.parametrize("name", ["olh", "olh wide"])
def test_the_card_counts_like_the_embedded_engine(name: str, tmp_path: Path) -> None:
    same_as_embedded(KINDS[name], tmp_path)
