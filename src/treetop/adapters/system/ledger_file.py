"""The ledger and its counter as files; the counter should be stored apart from the ledger."""

import fcntl
from pathlib import Path

from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.errors import LedgerRefused


class LedgerFile:
    """Run by the device: a ledger that one process at a time may hold open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = path.with_name(path.name + ".lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise LedgerRefused("holder", "this process alone", "another one") from None

    def load(self) -> bytes | None:
        """Return what was last stored, or None on a new device."""
        return content_of(self._path)

    def replace(self, ledger: bytes) -> None:
        """Store all of it or nothing, durably."""
        replace_durably(self._path, ledger)

    def close(self) -> None:
        """Let another process hold the ledger."""
        self._lock.close()


class CounterFile:
    """Run by the device: the highest counter that a ledger has had."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Return the counter, 0 on a new device."""
        content = content_of(self._path)
        if content is None:
            return 0
        if not content.isdigit():
            raise LedgerRefused("remembered counter", "decimal digits", "something else: the file is damaged")
        return int(content)

    def advance(self, counter: int) -> None:
        """Store a higher counter, durably."""
        if counter < self.read():
            raise LedgerRefused("counter", f"{self.read()} at least", str(counter))
        replace_durably(self._path, str(counter).encode("ascii"))
