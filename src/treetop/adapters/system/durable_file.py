"""Files that are replaced as a whole and outlast a power cut, and what a device keeps in them."""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from treetop.adapters.system.host import SystemClock
from treetop.errors import InvalidInput, LedgerRefused
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.ports import Clock
from treetop.secret_files import create_private, flush_folder, open_private, private_folder
from treetop.whole_files import remove_partials, write_whole


def replace_durably(path: Path, content: bytes) -> None:
    """Write all of a file or nothing, for its owner alone."""
    write_whole(path, content, private=True)


def create_durably(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet, for its owner alone."""
    try:
        created = create_private(path)
    except OSError as reason:
        problem = "exists already" if isinstance(reason, FileExistsError) else f"cannot be made: {reason.strerror}"
        raise InvalidInput("file_not_new", path=path, problem=problem) from None
    with created as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    flush_folder(path.parent)


def content_of(path: Path) -> bytes | None:
    """Return what a file holds, or None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


class LedgerFile:
    """Run by the device: a ledger that one process at a time may hold open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = open_private(path.with_name(path.name + ".lock"), "ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise LedgerRefused("holder", "this process alone", "another one") from None
        remove_partials(path)

    def load(self) -> bytes | None:
        """Return what was last stored, or None on a new device."""
        return content_of(self._path)

    def replace(self, ledger: bytes) -> None:
        """Store all of it or nothing, durably."""
        replace_durably(self._path, ledger)

    def close(self) -> None:
        """Let another process hold the ledger."""
        self._lock.close()


class CounterFile:
    """Run by the device: the highest counter that a ledger has had."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Return the counter, 0 on a new device."""
        content = content_of(self._path)
        if content is None:
            return 0
        if not content.isdigit():
            raise LedgerRefused("remembered counter", "decimal digits", "something else: the file is damaged")
        return int(content)

    def advance(self, counter: int) -> None:
        """Store a higher counter, durably."""
        if counter < self.read():
            raise LedgerRefused("counter", f"{self.read()} at least", str(counter))
        replace_durably(self._path, str(counter).encode("ascii"))


Deed = Literal["enrolled", "sent", "refused"]


@dataclass(frozen=True)
class Event:
    """One line of a device's history; no value, no ticket, no report."""

    time: int
    task: str
    name: str
    deed: Deed
    verdict: str


class DeviceState:
    """Run by the device: its folder, which one process at a time may hold open."""

    def __init__(self, folder: Path, caps: Caps | None = None, clock: Clock | None = None) -> None:
        private_folder(folder)
        self._history = folder / "history.jsonl"
        self._file = LedgerFile(folder / "ledger")
        try:
            self.ledger = Ledger(self._file, CounterFile(folder / "counter"), caps, clock or SystemClock())
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Let another process hold the folder."""
        self._file.close()

    def note(self, task: bytes, name: str, deed: Deed, verdict: str) -> None:
        """Write down what was done."""
        event = Event(int(time.time()), task.hex(), name, deed, verdict)
        with open_private(self._history, "ab") as file:
            file.write(json.dumps(asdict(event)).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def events(self) -> list[Event]:
        """Return the history; a line that a crash cut short is left out."""
        lines = self._history.read_bytes().splitlines() if self._history.exists() else []
        return [event for event in map(_event, lines) if event is not None]

    def enrolled(self, task: bytes) -> bool:
        """Return whether the party has said that this device takes part in a task."""
        return self._has(task, "enrolled")

    def refused(self, task: bytes) -> bool:
        """Return whether the party was told that this device may not answer a task."""
        return self._has(task, "refused")

    def _has(self, task: bytes, deed: Deed) -> bool:
        return any(event.task == task.hex() and event.deed == deed for event in self.events())


def _event(line: bytes) -> Event | None:
    try:
        return Event(**json.loads(line))
    except (ValueError, TypeError):
        return None
