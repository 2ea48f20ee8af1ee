"""Processes of a local federation: started, started again when one dies, stopped together."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from treetop.errors import TreetopError
from treetop.secret_files import open_private
from treetop.services.local.folder import HOST

MAX_STARTS = 20
STOPPING_SECONDS = 15.0
LAST_BYTES = 2_000


class ProcessFailed(TreetopError):
    """A process that ends again and again, with the last lines of its log."""


@dataclass(frozen=True)
class Program:
    """What is started, and how often."""

    command: tuple[str, ...]
    ends: bool = True
    """Whether it may end well; one that may not is started again even so."""
    max_starts: int = MAX_STARTS


TREETOP = Program((sys.executable, "-m", "treetop"))


class Supervised:
    """One command in a process of its own; what it says goes to a log file."""

    def __init__(self, name: str, arguments: Sequence[str], log: Path, program: Program = TREETOP) -> None:
        self.name = name
        self._arguments = tuple(arguments)
        self._log = log
        self._program = program
        self.starts = 0
        self._start()

    def _start(self) -> None:
        self.starts += 1
        with open_private(self._log, "ab") as log:
            self.process = subprocess.Popen(  # noqa: S603  our own command
                [*self._program.command, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def finished(self) -> bool:
        """Return whether it ended well."""
        return self.process.poll() == 0

    def revive(self) -> bool:
        """Start it again if it died; return whether that was needed."""
        if self.process.poll() is None or (self._program.ends and self.process.returncode == 0):
            return False
        if self.process.returncode == 2 or self.starts == self._program.max_starts:  # bad input does not get better
            raise ProcessFailed(f"{self.name} ended with {self.process.returncode}: {self.last_words()}")
        self._start()
        return True

    def last_words(self) -> str:
        """Return the end of its log in one line."""
        with self._log.open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - LAST_BYTES))
            lines = log.read().decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def lines(self) -> list[str]:
        """Return what it has said so far."""
        return self._log.read_text(encoding="utf-8", errors="replace").splitlines()

    def ask_to_end(self) -> None:
        """Tell it to end, and do not wait."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        self.ask_to_end()
        try:
            self.process.wait(STOPPING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Processes:
    """All processes of one federation; leaving the context stops them, the last one started first."""

    def __init__(self, died: Callable[[str], None]) -> None:
        self._died = died
        self.all: list[Supervised] = []

    def start(self, name: str, arguments: Sequence[str], log: Path, program: Program = TREETOP) -> Supervised:
        """Start one more."""
        process = Supervised(name, arguments, log, program)
        self.all.append(process)
        return process

    def revive(self) -> None:
        """Start again whatever died, and report it."""
        for process in self.all:
            if process.revive():
                self._died(process.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _failure: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for process in reversed(self.all):  # all are told before one is waited for: a hundred take no longer than one
            process.ask_to_end()
        for process in reversed(self.all):
            process.stop()


_GIVEN: set[int] = set()
"""Ports that this process has been given: whoever is to listen there may not have begun."""


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on at the moment, none of them twice in the life of this process."""
    sockets = list[socket.socket]()
    ports = list[int]()
    try:
        while len(ports) < number:
            sockets.append(socket.create_server((HOST, 0)))
            port = int(sockets[-1].getsockname()[1])
            if port not in _GIVEN:
                ports.append(port)
    finally:
        for taken in sockets:
            taken.close()
    _GIVEN.update(ports)
    return ports
