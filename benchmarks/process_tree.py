"""What a command and all processes that it starts take: memory, open files, threads and processor time (Linux)."""

import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Self

EVERY_SECONDS = 1.0
TICKS = os.sysconf("SC_CLK_TCK")
ROLES = ("server", "party", "device")


@dataclass
class Peaks:
    """The highest of each at any look; `files` and `largest` by role, of one process."""

    processes: int = 0
    memory: int = 0
    """Bytes of all processes together, pages that several share counted once."""
    all_files: int = 0
    threads: int = 0
    largest: Counter[str] = field(default_factory=Counter)
    """Bytes of the largest process of a role, shared pages counted in full."""
    files: Counter[str] = field(default_factory=Counter)
    cpu: dict[int, tuple[str, float]] = field(default_factory=dict)
    """Role and seconds so far of every process that was seen."""

    def seconds_of(self, role: str) -> float:
        """Return the processor time of all processes of a role, as far as it was seen."""
        return sum(seconds for known, seconds in self.cpu.values() if known == role)


@dataclass(frozen=True)
class Taken:
    """What a command took from its start to its end."""

    peaks: Peaks
    cpu_seconds: float
    """Of all processes, those that have ended included."""
    wall_seconds: float
    load: float
    """The load average at the end, our own processes included."""
    output: str


class WatchedCommand:
    """A command that runs, and a thread that looks at it and its descendants once a second."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command, self.peaks, self._over = command, Peaks(), Event()

    def __enter__(self) -> Self:
        self._children = _children_seconds()
        self._begin = time.monotonic()
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
        self._watch = Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self._over.set()
        self._watch.join()

    def interrupt(self) -> None:
        """Ask the command to end."""
        self._process.terminate()

    def end(self) -> Taken:
        """Wait for the command, and return what it took."""
        output, _ = self._process.communicate()
        seconds = time.monotonic() - self._begin
        return Taken(self.peaks, _children_seconds() - self._children, seconds, os.getloadavg()[0], output)

    def _look(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            found = [one for pid in tree(self._process.pid) if (one := _seen(pid))]
            peaks = self.peaks
            peaks.processes = max(peaks.processes, len(found))
            peaks.memory = max(peaks.memory, sum(one.shared_memory for one in found))
            peaks.all_files = max(peaks.all_files, sum(one.files for one in found))
            peaks.threads = max(peaks.threads, sum(one.threads for one in found))
            for one in found:
                peaks.largest[one.role] = max(peaks.largest[one.role], one.memory)
                peaks.files[one.role] = max(peaks.files[one.role], one.files)
                peaks.cpu[one.pid] = one.role, one.cpu_seconds


@dataclass(frozen=True)
class _Seen:
    pid: int
    role: str
    memory: int
    shared_memory: int
    files: int
    threads: int
    cpu_seconds: float


def _seen(pid: int) -> _Seen | None:
    """Look at one process; None where it has just ended."""
    home = Path(f"/proc/{pid}")
    with suppress(OSError, ValueError, IndexError):
        words = (home / "cmdline").read_text().split("\0")
        role = next((word for word in words if word in ROLES), "up")
        sizes = {line.split()[0]: int(line.split()[1]) << 10 for line in _lines(home / "smaps_rollup")[1:]}
        stat = (home / "stat").read_text().rpartition(")")[2].split()
        seconds = (int(stat[11]) + int(stat[12])) / TICKS
        files = len(list((home / "fd").iterdir()))
        return _Seen(pid, role, sizes["Rss:"], sizes["Pss:"], files, int(stat[17]), seconds)
    return None


def tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
    found, new = [root], [root]
    while new:
        parent = new.pop()
        with suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                new += (children := list(map(int, (thread / "children").read_text().split())))
                found += children
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
