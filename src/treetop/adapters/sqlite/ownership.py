"""Whether a file may be made a store: only what is new, empty or a store already is touched at all."""

import os
import stat
from pathlib import Path

from treetop.errors import StoreRefused

MARK = b"SQLite format 3\0"
_PAGE_SIZE = slice(16, 18)
_APPLICATION = slice(68, 72)
_LOG_HEADER = 32
_FRAME_HEADER = 24
HEADER = 100
"""Bytes at the beginning of an SQLite file, which say what it is."""


def refuse_foreign(path: Path, application: int) -> None:
    """Refuse a path at which something else than this application's database lies, before its mode is changed.

    Not for a file that this process has open: to close it here would end SQLite's locks on it. A new store has its mark
    in the log alone until all of the log was copied into it; a database of one page without a mark is empty.
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
    page_size = int.from_bytes(header[_PAGE_SIZE], "big")
    new = named == 0 and (found.st_size == page_size or _logged(path, page_size) == application)
    if named != application and not new:
        raise StoreRefused(str(path), "the file is a database of something else")


def _logged(path: Path, page_size: int) -> int | None:
    """Return the mark in the first copy of page 1 that is in the log of a database."""
    try:
        log = path.with_name(path.name + "-wal").open("rb")
    except OSError:
        return None
    with log:
        log.seek(_LOG_HEADER)
        while len(frame := log.read(_FRAME_HEADER)) == _FRAME_HEADER:
            page = log.read(page_size)
            if int.from_bytes(frame[:4], "big") == 1:
                return int.from_bytes(page[_APPLICATION], "big")
    return None
