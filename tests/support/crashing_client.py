"""A device with its client, in processes that kill themselves: `python -m tests.support.crashing_client`.

Reads lines `URL STATE DIGEST TICKET STEP` and plays each in a forked process that is killed before that step; answers
with the exit status and the steps taken. A step is a write, a flush, a random draw, the reading of the item or half
of a request.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.crashing_device import SteppingEntropy
from tests.support.crashing_device import Steps as DeviceSteps
from tests.support.fake_party import PINNED

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.durable_file import DeviceState
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.wire.uploads import Ticket
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import SingleDevice

KILLED = -signal.SIGKILL
PATIENCE = RetryPolicy(in_all=30, first_pause=0.01, longest_pause=0.1)


class Steps(DeviceSteps):
    """Steps before and after whatever the client does."""

    def around(self, deed: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any) -> Any:
            self.step()
            done = deed(*arguments)
            self.step()
            return done

        return stepping


class SteppingConnection(RetryingConnection):
    def __init__(self, url: str, steps: Steps) -> None:
        super().__init__(url, retry=PATIENCE)
        self._steps = steps

    def _ask_once(self, request: Request) -> Any:
        self._steps.step()
        reply = super()._ask_once(request)  # a crash here is an answer that was lost
        self._steps.step()
        return reply


def play(url: str, state: str, digest: str, ticket: str, fatal: int) -> int:
    steps = Steps(fatal)
    os.fsync = steps.around(os.fsync)
    os.replace = steps.around(os.replace)
    client = PartyClient(SteppingConnection(url, steps))
    kept = DeviceState(Path(state))
    membership = TrustedTask.of(client.task(bytes.fromhex(digest)), bytes.fromhex(digest), "north", PINNED)
    own = Ticket.from_bytes(bytes.fromhex(ticket))
    items = steps.around(lambda: ["77"])
    SingleDevice(
        client, membership, own, kept, items, SteppingEntropy(steps), lambda text: None, wait=True,
        sleep=lambda seconds: None,
    ).run()  # fmt: skip
    return steps.done


def in_a_process(line: str) -> str:
    url, state, digest, ticket, fatal = line.split()
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.write(writing, str(play(url, state, digest, ticket, int(fatal))).encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(process, 0)
    with os.fdopen(reading) as told:
        return f"{os.waitstatus_to_exitcode(status)} {told.read() or 0}"


if __name__ == "__main__":
    for line in sys.stdin:
        print(in_a_process(line), flush=True)
