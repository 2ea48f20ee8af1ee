"""Whether a file may be made a store: only what is new, empty or a store already is touched at all."""

import os
import stat
from pathlib import Path

from treetop.errors import StoreRefused

MARK = b"SQLite format 3\0"
_PAGE_SIZE = slice(16, 18)
_APPLICATION = slice(68, 72)
HEADER = 100
"""Bytes at the beginning of an SQLite file, which say what it is."""


def refuse_foreign(path: Path, application: int) -> None:
    """Refuse a path at which something else than this application's database lies, before its mode is changed.

    Not for a file that this process has open: to close it here would end SQLite's locks on it. A database of one page
    is empty in itself: a new store that was killed has its tables in the log still.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        return
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise StoreRefused(str(path), "it is no regular file")
        header = file.read(HEADER)
    if not header:
        return
    if not header.startswith(MARK) or len(header) < HEADER:
        raise StoreRefused(str(path), "the file is no store of Treetop")
    named = int.from_bytes(header[_APPLICATION], "big")
    empty = named == 0 and found.st_size == int.from_bytes(header[_PAGE_SIZE], "big")
    if named != application and not empty:
        raise StoreRefused(str(path), "the file is a database of something else")
