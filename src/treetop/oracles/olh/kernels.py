"""The compiled loop of OLH."""

from typing import Any

import numpy as np
from numba import uint32

from treetop.oracles.compiling import compiled, inlined
from treetop.oracles.olh.hashing import FIRST, SECOND, THIRD

FIFTEEN = np.uint32(15)
THIRTEEN = np.uint32(13)
SIXTEEN = np.uint32(16)


@inlined
def supports(seed: Any, start: Any, width: Any, low: Any, high: Any) -> Any:
    """Return 1 if the hash of a premixed key lies in the report's bucket [start, start + width), else 0.

    The hash is that of `hashing.buckets`; every step is cast because numba would widen it to 64 bits.
    """
    mixed = uint32(uint32(seed ^ low) * FIRST)
    mixed = uint32(uint32(uint32(mixed ^ uint32(mixed >> FIFTEEN)) + high) * SECOND)
    mixed = uint32(uint32(mixed ^ uint32(mixed >> THIRTEEN)) * THIRD)
    mixed = uint32(mixed ^ uint32(mixed >> SIXTEEN))
    return uint32(uint32(mixed - start) < width)


@compiled
def add_support(seeds: Any, starts: Any, widths: Any, low: Any, high: Any, support: Any) -> None:
    """Add one to every candidate for every report whose bucket it falls into; candidates fit the first cache."""
    for i in range(len(seeds)):
        seed = seeds[i]
        start = starts[i]
        width = widths[i]
        for c in range(len(low)):
            support[c] += supports(seed, start, width, low[c], high[c])
