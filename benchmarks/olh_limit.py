"""The C loop of olh_limit.c, built with the machine's own compiler."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from treetop.oracles.hashing import bucket_starts, premixed

HERE = Path(__file__).parent
COMPILER = ("gcc", "-O3", "-march=native", "-shared", "-fPIC")


class Limit:
    """A loop that takes the same arrays as ours."""

    def __init__(self) -> None:
        library = HERE / "build" / "olh_limit.so"
        library.parent.mkdir(exist_ok=True)
        subprocess.run([*COMPILER, HERE / "olh_limit.c", "-o", library], check=True)  # noqa: S603  our own file
        self._library = ctypes.CDLL(str(library))
        self._library.olh_limit_vectors.restype = ctypes.c_char_p
        self.vectors = self._library.olh_limit_vectors().decode()

    def support(self, seeds: Any, buckets: Any, keys: Any, count: int) -> Any:
        edges = bucket_starts(count)
        starts, widths = edges[:-1].astype(np.uint32)[buckets], np.diff(edges).astype(np.uint32)[buckets]
        low, high = (np.pad(words, (0, -len(words) % 64)) for words in premixed(keys))
        support = np.zeros(len(low), dtype=np.uint32)
        seeds_at, starts_at, widths_at, low_at, high_at, support_at = (
            ctypes.c_void_p(array.ctypes.data) for array in (seeds, starts, widths, low, high, support)
        )
        sizes = ctypes.c_size_t(len(seeds)), ctypes.c_size_t(len(low))
        self._library.olh_limit(seeds_at, starts_at, widths_at, sizes[0], low_at, high_at, sizes[1], support_at)
        return support[: len(keys)]
