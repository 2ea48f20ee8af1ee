"""A fleet that goes on: it answers one task of its party after the other, each as soon as it has tickets for it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.errors import InvalidInput, TreetopError
from treetop.services.device.party_client import PartyClient

LOOK_SECONDS = 0.2


def tickets_of(folder: Path, task: bytes) -> Path:
    """Return the file in a folder that has the tickets of a task."""
    return folder / f"{task.hex()}.txt"


def follow(url: str, ca_file: Path | None, tickets: Path, play: Callable[[bytes, Path], None]) -> None:
    """Run by simulated devices, until a signal ends it: play every open task that the folder has tickets for, once.

    A task that could not be played to its end is tried again while it is open.
    """
    client, played = PartyClient(RetryingConnection(url, ca_file)), set[bytes]()
    while True:
        for offered in client.tasks():
            file = tickets_of(tickets, offered.digest)
            if offered.open and offered.digest not in played and file.exists():
                try:
                    play(offered.digest, file)
                    played.add(offered.digest)
                except InvalidInput:
                    raise
                except TreetopError as problem:
                    print(f"task {offered.digest.hex()}: {problem}", file=sys.stderr, flush=True)
        time.sleep(LOOK_SECONDS)
