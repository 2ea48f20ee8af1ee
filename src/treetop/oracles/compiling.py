"""How the compiled loops of counting are made: one core each, no Python objects, the interpreter's lock released.

numba compiles a loop on first use and keeps the machine code on disk. Every loop is written so that LLVM turns it into
vectors; the tests compare each with plain numpy.
"""

from numba import njit
from numba.core import config
from numba.core.codegen import get_host_cpu_features

# LLVM prefers 256-bit vectors even where there are 512-bit ones; numba reads this when it first compiles anything.
HOST = get_host_cpu_features().replace("+avx512f", "+avx512f,-prefer-256-bit")
config.CPU_FEATURES = config.CPU_FEATURES or HOST  # type: ignore[attr-defined]

compiled = njit(nogil=True, cache=True)
inlined = njit(inline="always", cache=True)
