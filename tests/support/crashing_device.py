"""A device in a process of its own, killed at a chosen step: `python -m tests.support.crashing_device DIR STEP`."""

import os
import signal
import sys
from pathlib import Path

from treetop.adapters.system.durable_file import CounterFile, LedgerFile
from treetop.adapters.system.host import SystemEntropy
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger
from treetop.federation.task import DeviceTask, WeightedGroup
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group

TASK = DeviceTask("fruit", "favourite", Budget("2"), "olh", 3, (0, 4, 8), (WeightedGroup(Group(1), 1),))


class Steps:
    """Counts what the device does and kills the process before step number `fatal`."""

    def __init__(self, fatal: int) -> None:
        self.fatal, self.done = fatal, 0

    def step(self) -> None:
        if self.done == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.done += 1


class Stepping:
    """Ledger, outbox and value of a device, with a step before and after what they do."""

    def __init__(self, folder: Path, steps: Steps) -> None:
        self._folder, self._steps = folder, steps
        self._ledger = LedgerFile(folder / "ledger")

    def load(self) -> bytes | None:
        self._steps.step()
        return self._ledger.load()

    def replace(self, ledger: bytes) -> None:
        self._steps.step()
        self._ledger.replace(ledger)
        self._steps.step()

    def send(self, batch: bytes) -> None:
        self._steps.step()
        with (self._folder / "sent").open("ab") as sent:
            sent.write(batch.hex().encode() + b"\n")
        self._steps.step()

    def value(self) -> int:
        self._steps.step()
        return 77


class SteppingCounter:
    def __init__(self, folder: Path, steps: Steps) -> None:
        self._counter, self._steps = CounterFile(folder / "counter"), steps

    def read(self) -> int:
        self._steps.step()
        return self._counter.read()

    def advance(self, counter: int) -> None:
        self._steps.step()
        self._counter.advance(counter)
        self._steps.step()


class SteppingEntropy:
    def __init__(self, steps: Steps) -> None:
        self._entropy, self._steps = SystemEntropy(), steps

    def read(self, count: int) -> bytes:
        self._steps.step()
        return self._entropy.read(count)


def run(folder: Path, fatal: int) -> int:
    """Start a device, send what was left over, answer the task, deliver; return the steps that it took."""
    steps = Steps(fatal)
    ports = Stepping(folder, steps)
    ledger = Ledger(ports, SteppingCounter(folder, steps))
    device = Device(ports.value, SteppingEntropy(steps), ledger)
    device.resume(ports)
    device.answer_once(TASK)
    device.deliver(TASK, ports)
    return steps.done


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), int(sys.argv[2])))
