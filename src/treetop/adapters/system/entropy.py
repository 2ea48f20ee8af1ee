"""The operating system's randomness, read in pools."""

import os
from threading import local

POOL_BYTES = 1 << 12


class SystemEntropy(local):
    """Run by the device: os.urandom; no byte is handed out twice. Every thread has a pool of its own."""

    def __init__(self) -> None:
        self._pool, self._taken, self._owner = b"", 0, os.getpid()

    def read(self, count: int) -> bytes:
        """Return that many fresh random bytes."""
        end = self._taken + count
        if end > len(self._pool) or self._owner != os.getpid():
            self._refill(count)
            end = count
        taken, self._taken = self._pool[self._taken : end], end
        return taken

    def _refill(self, count: int) -> None:
        """Start a new pool; a forked process starts its own, so that no byte is used by both."""
        self._pool = os.urandom(max(count, POOL_BYTES))
        self._taken, self._owner = 0, os.getpid()
