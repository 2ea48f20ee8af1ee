"""What must outlast a power cut is written beside, flushed, renamed, and its folder is flushed: in this order."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from treetop.adapters.system.durable_file import CounterFile, LedgerFile, replace_durably
from treetop.adapters.system.key_files import SigningKey


def plain(path: str | Path) -> str:
    return re.sub(r"\.[0-9a-f]{16}\.partial$", ".*.partial", Path(path).name)


@contextmanager
def recorded(folder: Path) -> Iterator[list[str]]:
    """Yield what was flushed, with its length, and renamed while the block lasts."""
    steps: list[str] = []
    fsync, rename = os.fsync, os.replace

    def flushed(handle: int) -> None:
        found = Path(os.readlink(f"/proc/self/fd/{handle}"))
        steps.append("flush folder" if found == folder else f"flush {plain(found)}: {os.fstat(handle).st_size}")
        fsync(handle)

    def renamed(source: str | Path, target: str | Path) -> None:
        steps.append(f"rename {plain(source)} to {Path(target).name}")
        rename(source, target)

    with patch.object(os, "fsync", flushed), patch.object(os, "replace", renamed):
        yield steps


def write_ledger(folder: Path) -> None:
    ledger = LedgerFile(folder / "ledger")
    try:
        ledger.replace(b"content")
    finally:
        ledger.close()


def replacing(name: str, length: int) -> list[str]:
    return [f"flush .{name}.*.partial: {length}", f"rename .{name}.*.partial to {name}", "flush folder"]


@pytest.mark.parametrize(("write", "steps"), [
    (write_ledger, replacing("ledger", 7)),
    (lambda folder: CounterFile(folder / "counter").advance(12), replacing("counter", 2)),
    (lambda folder: replace_durably(folder / "file", b"four"), replacing("file", 4)),
    (lambda folder: SigningKey(bytes(32)).save(folder / "key"), ["flush key: 65", "flush folder"]),
], ids=["ledger", "counter", "replaced", "created"])  # fmt: skip
def test_a_file_is_flushed_before_it_is_renamed_and_its_folder_afterwards(
    tmp_path: Path, write: Callable[[Path], None], steps: list[str]
) -> None:
    with recorded(tmp_path) as found:
        write(tmp_path)
    assert found == steps
