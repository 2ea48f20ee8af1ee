"""Files for their owner alone: made so before their first byte, and refused where a secret is read from an open one.

What Treetop keeps (stores, ledgers, tickets, logs) it makes private itself, whatever the umask. What people make (keys,
tickets that they pass on, an item) is read only if nobody else can read it.
"""

import os
import stat
from pathlib import Path
from shlex import quote
from typing import IO

from treetop.errors import InvalidInput

FOR_OWNER, FOLDER_FOR_OWNER = 0o600, 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_private(path: Path) -> IO[bytes]:
    """Open a file that must not exist yet, not even as a link, for writing."""
    return open(path, "xb", opener=_opened_privately)


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file of our own, new or not; no link is followed."""
    return open(path, mode, opener=_opened_privately)


def _opened_privately(name: str, flags: int) -> int:
    handle = os.open(name, flags | os.O_NOFOLLOW, FOR_OWNER)
    try:
        os.fchmod(handle, FOR_OWNER)  # the umask may have taken too much
    except BaseException:
        os.close(handle)
        raise
    return handle


def make_private(path: Path) -> None:
    """Make sure that a file is there and private before a library opens it by its name."""
    place = path.resolve()
    try:
        create_private(place).close()
    except FileExistsError:  # not opened here: to close it would end the locks that this process has on it
        if stat.S_IMODE(place.stat().st_mode) & OTHERS:
            place.chmod(FOR_OWNER)


def private_folder(path: Path) -> None:
    """Make a folder with all that lead to it, durably; one that is there stays as its owner wanted it."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(FOLDER_FOR_OWNER, exist_ok=True)
        folder.chmod(FOLDER_FOR_OWNER)
        flush_folder(folder.parent)  # a power cut must not take a ledger together with its folder


def flush_folder(folder: Path) -> None:
    """Have the names in a folder outlast a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_secret(path: Path) -> bytes:
    """Return what a file holds, unless others can read it too."""
    with path.open("rb") as file:
        _refuse_open(path, os.fstat(file.fileno()))
        return file.read()


def check_private(path: Path) -> None:
    """Refuse a file that others can read, before a library reads it by its name."""
    _refuse_open(path, path.stat())


def _refuse_open(path: Path, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if mode & OTHERS:
        raise InvalidInput(
            f"{path} holds a secret and must be for its owner alone, expected mode 600, found {mode:o}: "
            f"chmod 600 {quote(str(path))}"
        )
