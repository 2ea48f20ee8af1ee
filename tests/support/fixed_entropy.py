"""Randomness for tests: the same every time. The package itself has no such thing."""

import numpy as np


class FixedEntropy:
    """A seeded stream behind the Entropy port."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.default_rng(seed)
        self._pool, self._taken = b"", 0
        self.total = 0

    def read(self, count: int) -> bytes:
        self.total += count
        end = self._taken + count
        if end > len(self._pool):
            self._pool, self._taken, end = self._stream.bytes(max(count, 1 << 16)), 0, count
        taken, self._taken = self._pool[self._taken : end], end
        return taken
