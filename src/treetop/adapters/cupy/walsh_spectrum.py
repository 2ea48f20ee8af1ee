"""The spectrum of walsh reports on a graphics card; of third parties this module needs numpy and CuPy alone."""

from pathlib import Path
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Tally, refuse_large
from treetop.oracles.hashing import FIRST, GOLDEN, SECOND
from treetop.oracles.walsh.spectrum import refuse_bits

SOURCE = Path(__file__).with_name("walsh_spectrum.cu")
THREADS = 256


class CardSpectrum:
    """The sums for every name of `bits` bits, in the card's memory, for up to `reports` reports."""

    def __init__(self, bits: int, slots: int, reports: int) -> None:
        refuse_bits(bits)
        wide = reports * slots >= 1 << 31
        self.slots = slots
        self.reports = 0
        self.sums = cupy.zeros(1 << bits, dtype=cupy.int64 if wide else cupy.int32)
        words = (f"-DGOLDEN={GOLDEN}ull", f"-DFIRST={FIRST}ull", f"-DSECOND={SECOND}ull")
        options = (*words, "-DCELL=word" if wide else "-DCELL=int")  # atomicAdd of 64 bits takes unsigned ones
        text = SOURCE.read_text()
        self._scatter, self._transform = (
            cupy.RawKernel(text, name, options=options) for name in ("walsh_scatter", "walsh_transform")
        )

    def add(self, seeds: NDArray[np.uint32], reported: NDArray[np.uint8]) -> None:
        """Add the signs of some reports; returns before the card is done."""
        refuse_large("reported outcome", reported, self.slots)
        if not len(seeds):
            return
        sizes = np.uint64(len(seeds)), np.uint32(self.slots.bit_length() - 1), np.uint32(len(self.sums) - 1)
        _launch(self._scatter, len(seeds), (cupy.asarray(seeds), cupy.asarray(reported), *sizes, self.sums))
        self.reports += len(seeds)

    def tally(self) -> Tally:
        """Transform the sums, wait for the card and return the support of every name: the spectrum ends."""
        half = 1
        while half < len(self.sums):
            pairs = np.uint64(len(self.sums) // 2)
            _launch(self._transform, int(pairs), (self.sums, pairs, np.uint64(half)))
            half *= 2
        return Tally(cupy.asnumpy(self.sums >> (self.slots.bit_length() - 1)), self.reports)


def _launch(kernel: Any, size: int, arguments: tuple[Any, ...]) -> None:
    kernel((-(-size // THREADS),), (THREADS,), arguments)
