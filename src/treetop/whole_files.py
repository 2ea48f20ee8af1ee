"""Files that are whole or not there: written beside under a name nobody can guess, flushed, then renamed.

Every file that Treetop replaces goes through here. A predictable name, opened without O_EXCL and O_NOFOLLOW, would let
anyone who may write in the folder choose where the content goes.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import IO

from treetop.errors import InvalidInput
from treetop.secret_files import create_new, create_private, flush_folder

ENDING = ".partial"
LONGEST_NAME = 200
"""Bytes of the file's own name in that of its partial file; a longer one stands there as its digest."""


@contextmanager
def written_whole(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place of `path` when the block ends; after an error nothing of it stays.

    A private file is for its owner alone from its first byte, any other has the mode that the umask leaves. A link at
    `path` is replaced and not followed.
    """
    partial = _partial(path)
    file = create_private(partial) if private else create_new(partial)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):  # what went wrong is being reported already
            partial.unlink()
        raise
    with suppress(PermissionError):  # a folder that may be written and not read
        flush_folder(path.parent)


def write_whole(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write all of a file or nothing, durably."""
    with written_whole(path, private=private) as file:
        file.write(content)


def remove_partials(path: Path) -> None:
    """Remove what a crash left beside a file; only for its one owner, since another writer's file would go as well."""
    for found in path.parent.iterdir():
        if found.name.startswith(_beginning(path)) and found.name.endswith(ENDING):
            found.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before its content is worked out."""
    if not os.path.isdir(path.parent):
        raise InvalidInput("output_folder_missing", path=str(path))
    if os.path.exists(path) and not os.path.isfile(path):  # pathlib's own raise if a name is too long
        raise InvalidInput("output_not_a_file", path=str(path))
    longest = os.pathconf(path.parent, "PC_NAME_MAX")
    found = len(os.fsencode(path.name))
    if found > longest:
        raise InvalidInput("output_name_too_long", path=str(path), found=found, longest=longest)
    trial = _partial(path)
    try:
        create_private(trial).close()
        trial.unlink()
    except OSError as reason:
        raise InvalidInput("output_folder_closed", path=str(path), reason=reason.strerror) from None


def _partial(path: Path) -> Path:
    return path.with_name(f"{_beginning(path)}{token_hex(8)}{ENDING}")


def _beginning(path: Path) -> str:
    name = os.fsencode(path.name)
    return f".{path.name if len(name) <= LONGEST_NAME else sha256(name).hexdigest()}."
