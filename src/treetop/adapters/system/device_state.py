"""What one device keeps in a folder: its ledger, the ledger's counter, and when it did what."""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from treetop.adapters.system.ledger_file import CounterFile, LedgerFile
from treetop.federation.device.ledger import Caps, Ledger

Deed = Literal["enrolled", "sent"]


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

    def __init__(self, folder: Path, caps: Caps | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._history = folder / "history.jsonl"
        self._file = LedgerFile(folder / "ledger")
        try:
            self.ledger = Ledger(self._file, CounterFile(folder / "counter"), caps)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Let another process hold the folder."""
        self._file.close()

    def note(self, task: bytes, name: str, deed: Deed, verdict: str) -> None:
        """Write down what was done."""
        event = Event(int(time.time()), task.hex(), name, deed, verdict)
        with self._history.open("ab") as file:
            file.write(json.dumps(asdict(event)).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def events(self) -> list[Event]:
        """Return the history; a line that a crash cut short is left out."""
        lines = self._history.read_bytes().splitlines() if self._history.exists() else []
        return [event for event in map(_event, lines) if event is not None]

    def enrolled(self, task: bytes) -> bool:
        """Return whether the party has said that this device takes part in a task."""
        return any(event.task == task.hex() and event.deed == "enrolled" for event in self.events())


def _event(line: bytes) -> Event | None:
    try:
        return Event(**json.loads(line))
    except (ValueError, TypeError):
        return None
