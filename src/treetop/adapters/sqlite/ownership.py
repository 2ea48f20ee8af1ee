"""What lies beside a SQLite file: the lock of the one process that owns it, and the highest epoch it has had."""

import fcntl
from pathlib import Path

from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.errors import StoreRefused, StoreUnavailable


class Ownership:
    """A lock of the operating system, which ends with the process."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.with_name(path.name + ".lock").open("wb")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise StoreRefused(str(path), "another process owns it; one SQLite file has one owner") from None
        except OSError as error:
            raise StoreUnavailable(f"the store {path} cannot be opened: {error}") from error

    def end(self) -> None:
        """Let another process own the file."""
        self._file.close()


class EpochFile:
    """Run by the party: a restored backup has a lower epoch than this file remembers."""

    def __init__(self, path: Path) -> None:
        self._store, self._path = path, path.with_name(path.name + ".epoch")
        self._highest = 0

    def read(self) -> int:
        """Return the highest epoch, 0 beside a new store."""
        content = content_of(self._path)
        if content is not None and not content.isdigit():
            raise StoreRefused(str(self._store), f"{self._path.name} should hold decimal digits, found something else")
        self._highest = int(content or 0)
        return self._highest

    def advance(self, epoch: int | None) -> None:
        """Remember a higher epoch, once the database has it."""
        if epoch is not None and epoch > self._highest:
            replace_durably(self._path, str(epoch).encode("ascii"))
            self._highest = epoch
