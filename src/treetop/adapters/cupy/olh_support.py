"""Support counts of OLH on a graphics card; of third parties this module needs numpy and CuPy alone."""

from pathlib import Path
from typing import Any, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Counts
from treetop.oracles.hashing import FIRST_PRIME, SECOND_PRIME, THIRD_PRIME, bucket_starts, premixed
from treetop.oracles.random_words import Words32

SOURCE = Path(__file__).with_name("olh_support.cu")
REPORTS_PER_BLOCK = 1 << 16


class Shape(NamedTuple):
    """How the work is cut: threads of a block, candidates of a thread, reports in shared memory (2^n of them)."""

    threads: int
    per_thread: int
    tile: int

    def options(self) -> tuple[str, ...]:
        """Return what the kernel's text leaves open, as options of its compiler."""
        hashing = (f"-DFIRST={FIRST_PRIME}u", f"-DSECOND={SECOND_PRIME}u", f"-DTHIRD={THIRD_PRIME}u")
        return (*hashing, f"-DTHREADS={self.threads}", f"-DPER_THREAD={self.per_thread}", f"-DTILE={self.tile}")


SHAPE = Shape(threads=128, per_thread=8, tile=512)


class ResidentReports:
    """Reports in the card's memory, each with the interval of hashes that its bucket holds."""

    def __init__(self, seeds: Words32, buckets: NDArray[Any], count: int) -> None:
        edges = cupy.asarray(bucket_starts(count).astype(np.uint32))  # the last edge, 2^32, wraps to 0 and is right
        places = cupy.asarray(buckets).astype(cupy.int32)
        self.seeds = cupy.asarray(seeds)
        self.starts = edges[places]
        self.widths = edges[places + 1] - self.starts

    def __len__(self) -> int:
        return len(self.seeds)


class SupportCounter:
    """The support of candidates, which stay on the card while reports come and go."""

    def __init__(self, keys: NDArray[np.uint64], shape: Shape | None = None) -> None:
        self.shape = shape or SHAPE
        self.low, self.high = (cupy.asarray(words) for words in premixed(keys))
        self.support = cupy.zeros(len(keys), dtype=cupy.uint64)
        self._kernel = cupy.RawKernel(SOURCE.read_text(), "olh_support", options=self.shape.options())

    def add(self, reports: ResidentReports) -> None:
        """Add the support of some reports; returns before the card is done."""
        grid = (
            -(-len(self.low) // (self.shape.threads * self.shape.per_thread)),
            -(-len(reports) // REPORTS_PER_BLOCK),
        )
        if 0 in grid:
            return
        arrays = (reports.seeds, reports.starts, reports.widths, np.uint64(len(reports)), self.low, self.high)
        sizes = (np.uint32(len(self.low)), np.uint32(REPORTS_PER_BLOCK))
        self._kernel(grid, (self.shape.threads,), (*arrays, *sizes, self.support))

    def counts(self) -> Counts:
        """Wait for the card and return the support of every candidate."""
        counted: Counts = cupy.asnumpy(self.support).astype(np.int64)
        return counted
