"""The kernels of the graphics card: their text runs anywhere as C++, the card itself where there is one."""

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
from tests.support.refusals import refused
from tests.support.report_batches import KEYS, KINDS, asking, random_reports, written

import treetop
from treetop.adapters.report_files.counting import Candidates, EmbeddedEngine
from treetop.adapters.report_files.sealed_file import ReportKind
from treetop.errors import InvalidInput
from treetop.oracles.olh.counting import HashCounting
from treetop.oracles.walsh.spectrum import Spectrum

FOLDER = Path(treetop.__file__).parent / "adapters" / "cupy"
MODULES = ("olh_support", "walsh_spectrum", "report_counting")
TWIN = """
#define __global__
#define __device__
#define __shared__
#define __launch_bounds__(threads)
#define __syncthreads()
struct uint4 { unsigned x, y, z, w; };
struct place { unsigned x, y; };
static place blockIdx, blockDim = {1, 1}, threadIdx = {0, 0};
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4{x, y, z, w}; }
template <class Number> static void atomicAdd(Number *sum, Number more) { *sum += more; }
extern "C" void at(unsigned x, unsigned y) { blockIdx = place{x, y}; }
"""


def why_no_card() -> str:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (treetop-ldp[gpu])"
    import cupy

    return "" if cupy.is_available() else "there is no graphics card"


NO_CARD = why_no_card()


class TwinKernel:
    """What CuPy's RawKernel does, for blocks of one thread that this processor runs in turn."""

    folder: Path

    def __init__(self, source: str, name: str, options: tuple[str, ...]) -> None:
        code, library = self.folder / f"{name}.cpp", self.folder / f"{name}{len(list(self.folder.iterdir()))}.so"
        code.write_text(TWIN + source)
        subprocess.run(["g++", "-O1", "-w", "-shared", "-fPIC", *options, code, "-o", library], check=True)
        self.library, self.name = ctypes.CDLL(str(library)), name

    def __call__(self, grid: tuple[int, ...], block: tuple[int], arguments: tuple[Any, ...]) -> None:
        assert block == (1,)
        for place in np.ndindex(grid):
            self.library.at(place[0], sum(place[1:]))
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
    names = ("asarray", "zeros", "int32", "int64", "uint64")
    cupy = SimpleNamespace(**{name: getattr(np, name) for name in names}, asnumpy=np.asarray, RawKernel=TwinKernel)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"treetop.adapters.cupy.{name}", raising=False)
    monkeypatch.setattr(importlib.import_module("treetop.adapters.cupy.walsh_spectrum"), "THREADS", 1)
    module = importlib.import_module("treetop.adapters.cupy.olh_support")
    monkeypatch.setattr(module, "SHAPE", module.Shape(threads=1, per_thread=8, tile=512))
    yield module
    for name in MODULES:
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


@pytest.mark.parametrize(("slots", "reports"), [(2, 0), (8, 0), (64, 1 << 25), (256, 1 << 23)])
def test_the_text_of_the_spectrum_counts_like_the_processor(twin: Any, slots: int, reports: int) -> None:
    """With cells of 32 bits, and of 64 where so many reports might not fit them."""
    randomness = np.random.default_rng(3)
    seeds = randomness.integers(2**32, size=3000, dtype=np.uint32)
    reported = randomness.integers(slots, size=3000).astype(np.uint8)
    card, own = walsh_module().CardSpectrum(9, slots, reports), Spectrum(9, slots)
    for cut in (slice(0, 1000), slice(1000, 1000), slice(1000, None)):
        card.add(seeds[cut], reported[cut])
    own.add((seeds, reported))
    tally = card.tally()
    assert tally.support.itemsize == (8 if reports else 4)
    np.testing.assert_array_equal(tally.support.astype(np.int64), own.tally().support)
    assert tally.reports == 3000
    with refused("value_too_large", InvalidInput, what="reported outcome"):
        card.add(seeds[:1], np.array([slots]))


def walsh_module() -> Any:
    return importlib.import_module("treetop.adapters.cupy.walsh_spectrum")


def test_the_engine_around_the_kernels_counts_files(twin: Any, tmp_path: Path) -> None:
    same_as_embedded(KINDS["olh"], tmp_path)
    with refused("spectrum_bits", InvalidInput, max_bits=28, bits=35):
        same_as_embedded(KINDS["walsh"], tmp_path)
    names_as_embedded(tmp_path)
    with refused("names_not_counted", InvalidInput, name="olh", bits=9):
        names_as_embedded(tmp_path, KINDS["olh"])


def names_as_embedded(folder: Path, kind: ReportKind = KINDS["walsh"]) -> None:
    from treetop.adapters.cupy.report_counting import CupyEngine

    files = [written(folder / f"{place}.parquet", kind, random_reports(kind, 900, seed=place)) for place in range(2)]
    for asked in (Candidates(kind, bits=9), Candidates(kind, np.arange(0, 300, 7, dtype=np.uint64))):
        card, processor = CupyEngine().count(files, asked), EmbeddedEngine().count(files, asked)
        assert card.reports == processor.reports
        np.testing.assert_array_equal(card.support, processor.support)


def same_as_embedded(kind: ReportKind, folder: Path) -> None:
    from treetop.adapters.cupy.report_counting import CupyEngine

    files = [written(folder / f"{place}.parquet", kind, random_reports(kind, 3000, seed=place)) for place in range(3)]
    card, processor = CupyEngine().count(files, asking(kind)), EmbeddedEngine().count(files, asking(kind))
    assert card.reports == processor.reports
    np.testing.assert_array_equal(card.support, processor.support)
    with refused("gpu_oracle", InvalidInput, oracle="krr"):
        CupyEngine().count([], asking(KINDS["krr"]))


def test_the_kernels_module_needs_numpy_and_cupy_alone() -> None:
    for name in ("olh_support.py", "walsh_spectrum.py"):
        modules = re.findall(r"^(?:import|from) (\w+)", (FOLDER / name).read_text(), re.MULTILINE)
        assert set(modules) == {"pathlib", "typing", "numpy", "cupy", "treetop"}


@pytest.mark.skipif(bool(NO_CARD), reason=NO_CARD or "-")
@pytest.mark.parametrize("name", ["olh", "olh wide"])
def test_the_card_counts_like_the_embedded_engine(name: str, tmp_path: Path) -> None:
    same_as_embedded(KINDS[name], tmp_path)
    names_as_embedded(tmp_path)
