"""Files for their owner alone: made so before their first byte, and refused where a secret is read from an open one.

What Treetop keeps (stores, ledgers, tickets, logs) it makes private itself, whatever the umask. What people make (keys,
tickets that they pass on, an item) is read only if nobody else can read it.
"""

import errno
import os
import stat
from pathlib import Path
from shlex import quote
from typing import IO

from treetop.errors import InvalidInput

FOR_OWNER = 0o600
FOLDER_FOR_OWNER = 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_new(path: Path) -> IO[bytes]:
    """Open a file that must not exist yet, not even as a link, for writing; others may read what the umask allows."""
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))


def create_private(path: Path) -> IO[bytes]:
    """Open a file that must not exist yet, not even as a link, for writing."""
    return open(path, "xb", opener=_opened_privately)


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file of our own, new or not; no link is followed, and nothing but a regular file is touched."""
    return open(path, mode, opener=_opened_privately)


def open_own(path: Path) -> IO[bytes]:
    """Open a file that this user alone has made, or a new one, for reading and writing; others may read it."""
    return open(path, "r+b", opener=_opened_by_its_owner)


def _opened_privately(name: str, flags: int) -> int:
    handle = _opened(name, flags, FOR_OWNER)
    try:
        os.fchmod(handle, FOR_OWNER)  # the umask may have taken too much, a copy by hand too little
    except BaseException:
        os.close(handle)
        raise
    return handle


def _opened_by_its_owner(name: str, flags: int) -> int:
    handle = _opened(name, flags | os.O_CREAT, 0o666)
    found = os.fstat(handle)
    if found.st_uid != os.geteuid() or found.st_nlink > 1:
        os.close(handle)
        raise PermissionError(errno.EPERM, "it is another user's, or has another name (a hard link)", name)
    return handle


def _opened(name: str, flags: int, mode: int) -> int:
    """Open a regular file; O_NONBLOCK, since opening a pipe would wait for somebody at its other end."""
    handle = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, mode)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file", name)
    return handle


def make_private(path: Path) -> None:
    """Make sure that a file is there and private before a library opens it by its name.

    Whether a file that is there is ours is the caller's to know; `refuse_foreign` of the SQLite stores tells.
    """
    place = path.resolve()
    try:
        create_private(place).close()
    except FileExistsError:  # not opened here: to close it would end the locks that this process has on it
        found = place.stat()
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(place)) from None
        if stat.S_IMODE(found.st_mode) & OTHERS:
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
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    _refuse_open(path, found)


def _refuse_open(path: Path, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if mode & OTHERS:
        raise InvalidInput("secret_readable_by_others", path=path, mode=mode, quoted=quote(str(path)))
