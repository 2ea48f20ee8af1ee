"""What SQLite reports, as the store tells it: for the moment unavailable, or damaged."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from treetop.adapters.relational.states import RowDamaged
from treetop.errors import StoreUnavailable

_PASSING = (
    "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_BUSY", "SQLITE_LOCKED",
    "SQLITE_NOMEM", "SQLITE_PROTOCOL", "SQLITE_PERM", "SQLITE_NOLFS", "SQLITE_INTERRUPT",
)  # fmt: skip
_LASTING = ("SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_IOERR_DATA")


@contextmanager
def translated() -> Iterator[None]:
    """Turn what SQLite or the disk reports into `StoreUnavailable` or `RowDamaged`."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_PASSING) and name not in _LASTING:
            raise StoreUnavailable(f"the store cannot be used: {error} ({name})") from error
        raise RowDamaged(f"{error} ({name or type(error).__name__})") from error
    except UnicodeDecodeError as error:
        raise RowDamaged("a text is not UTF-8 any more") from error
    except OSError as error:
        raise StoreUnavailable(f"the store cannot be used: {error}") from error
