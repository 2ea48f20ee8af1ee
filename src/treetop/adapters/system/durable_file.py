"""Files that are replaced as a whole and outlast a power cut."""

import os
from pathlib import Path

from treetop.errors import InvalidInput


def replace_durably(path: Path, content: bytes) -> None:
    """Write beside the file, flush, rename over it, flush the folder: all of it or nothing."""
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _flush_folder(path.parent)


def create_durably(path: Path, content: bytes, mode: int) -> None:
    """Write a file that must not exist yet, readable from its first moment by whom the mode says."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise InvalidInput(f"{path} exists already: expected a new file") from None
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def content_of(path: Path) -> bytes | None:
    """Return what a file holds, or None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
