"""Randomness for tests: the same every time. The package itself has no such thing."""

import numpy as np


class FixedEntropy:
    """A seeded stream behind the Entropy port, which may break after some reads."""

    def __init__(self, seed: int, reads: int | None = None) -> None:
        self._left = reads
        self._stream = np.random.default_rng(seed)
        self._pool, self._taken = b"", 0
        self.total = 0

    def read(self, count: int) -> bytes:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise OSError("no more randomness")
        self.total += count
        end = self._taken + count
        if end > len(self._pool):
            self._pool, self._taken, end = self._stream.bytes(max(count, 1 << 16)), 0, count
        taken, self._taken = self._pool[self._taken : end], end
        return taken
