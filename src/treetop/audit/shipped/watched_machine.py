"""What a device gets from the operating system while it is audited: random bytes, sleep, and files that are flushed.

No code of Treetop is replaced: `os.urandom`, `time.sleep` and `os.fsync` are, and `SystemEntropy.read` is recorded. No
pause is waited for and nothing is really flushed: what a power cut would leave is kept in memory.
"""

import os
import time
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, contextmanager
from hashlib import shake_256
from io import IOBase
from pathlib import Path
from stat import S_ISDIR
from threading import Thread, current_thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeVar

from treetop.adapters.system.host import SystemEntropy
from treetop.secret_files import create_private

Call = TypeVar("Call")
Disk = dict[str, bytes]
"""The files of a folder by name."""
MAX_CALLS = 10_000
"""Reads of random bytes, and pauses, in one run: an honest device has a dozen, a broken one may never end."""


class Endless(Exception):
    """The device reads or waits and does not end."""


class FlushedFolder:
    """What a power cut leaves of a folder: names as they were when it was flushed, each file as it was when that was.

    Anything written or renamed since then is taken to be lost, which is the worst that a disk may do that honours
    flushes. The files that are there at the beginning are taken to be flushed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = self._present()
        self._contents = {inode: (folder / name).read_bytes() for name, inode in self._names.items()}
        self.history: list[Disk] = [{name: self._contents[inode] for name, inode in self._names.items()}]
        """At the beginning, and after every flush."""

    def _present(self) -> dict[str, int]:
        return {entry.name: entry.inode() for entry in os.scandir(self._folder)}

    def fsync(self, file: int | IOBase) -> None:
        """Flush a file, or the folder itself."""
        found = os.fstat(file if isinstance(file, int) else file.fileno())
        present = self._present()
        if S_ISDIR(found.st_mode) and found.st_ino == self._folder.stat().st_ino:
            self._names = present
        for name, inode in present.items():
            if inode == found.st_ino:
                self._contents[inode] = (self._folder / name).read_bytes()
        self.history.append({name: self._contents.get(inode, b"") for name, inode in self._names.items()})

    def after_power_cut(self) -> Disk:
        """Return what a power cut at this moment would leave."""
        return self.history[-1]


def _for_all_but(others: Set[Thread], stand_in: Callable[..., Any], shipped: Callable[..., Any]) -> Callable[..., Any]:
    def called(*given: Any) -> Any:
        return (shipped if current_thread() in others else stand_in)(*given)

    return called


class WatchedMachine:
    """Records what one device, or one fleet, asks of the operating system; its random bytes are chosen in advance."""

    def __init__(self, disk: FlushedFolder, seed: int = 0, script: bytes | None = None) -> None:
        """Take the device's folder, and what is random: a stream by its seed, or the first bytes themselves."""
        self.disk = disk
        self._seed = seed
        self._script = script
        self.given: list[bytes] = []
        """Random bytes of the operating system, as they were asked for."""
        self.reads: list[bytes] = []
        """Random bytes that were read from `SystemEntropy`."""
        self.slept: list[float] = []

    def urandom(self, count: int) -> bytes:
        """Return the next bytes of the stream."""
        fresh = shake_256(f"{self._seed} {len(self.given)}".encode()).digest(count)
        self.given.append(fresh if self._script is None else self._script.ljust(count, b"\0"))
        return self.given[-1]

    def sleep(self, seconds: float) -> None:
        """Note a pause."""
        _append(self.slept, seconds)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Stand between the device and its operating system while the block lasts.

        Threads that were there before are none of the device's, and are left alone.
        """
        others = set(enumerate_threads()) - {current_thread()}
        shipped_read = SystemEntropy.read

        def read(entropy: SystemEntropy, count: int) -> bytes:
            _append(self.reads, shipped_read(entropy, count))
            return self.reads[-1]

        stand_ins = (
            (os, "urandom", self.urandom),
            (os, "fsync", self.disk.fsync),
            (time, "sleep", self.sleep),
            (SystemEntropy, "read", read),
        )
        with ExitStack() as undo:
            for owner, name, stand_in in stand_ins:
                undo.callback(setattr, owner, name, getattr(owner, name))
                setattr(owner, name, _for_all_but(others, stand_in, getattr(owner, name)))
            yield

    @property
    def reads_are_fresh(self) -> bool:
        """Return whether what was read is what the operating system gave, in order, no byte of it twice.

        Every read begins where the one before ended, or at the beginning of a later answer.
        """
        given = iter(self.given)
        offset = 0
        current = b""
        for part in self.reads:
            while not current.startswith(part, offset):
                following = next(given, None)
                if following is None:
                    return False
                current = following
                offset = 0
            offset += len(part)
        return True


def _append(calls: list[Call], call: Call) -> None:
    if len(calls) >= MAX_CALLS:
        raise Endless
    calls.append(call)


def restored(disk: Disk, folder: Path) -> Path:
    """Return a new folder with these files."""
    folder.mkdir(parents=True)
    for name, content in disk.items():
        with create_private(folder / name) as file:
            file.write(content)
    return folder
