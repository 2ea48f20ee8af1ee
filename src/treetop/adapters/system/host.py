"""The machine's own time and randomness."""

import os
import time
from threading import local


class SystemClock:
    """The `ServiceClock` port."""

    def now(self) -> int:
        """Return whole seconds since 1970; it may jump."""
        return int(time.time())

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after that number of seconds."""
        time.sleep(seconds)


POOL_BYTES = 1 << 12
"""Read from the operating system at a time; one report takes a few words."""


class SystemEntropy(local):
    """Run by the device: os.urandom; no byte is handed out twice. Every thread has its own pool."""

    def __init__(self) -> None:
        self._pool = b""
        self._taken = 0
        self._owner = os.getpid()

    def read(self, count: int) -> bytes:
        """Return that many fresh random bytes."""
        end = self._taken + count
        if end > len(self._pool) or self._owner != os.getpid():
            self._refill(count)
            end = count
        taken = self._pool[self._taken : end]
        self._taken = end
        return taken

    def _refill(self, count: int) -> None:
        """Start a new pool; a forked process starts its own, so that no byte is used by both."""
        self._pool = os.urandom(max(count, POOL_BYTES))
        self._taken = 0
        self._owner = os.getpid()
