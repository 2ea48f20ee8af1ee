"""Kill -9 between any two steps: one distinct report ever, it is sent in the end, and it is paid for once.

A crash is first simulated at every step, and after it at every step of the restarted device; then real processes
are killed with files on a disk.
"""

import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.campaigns import campaign, weekly
from tests.support.crashing_device import TASK
from tests.support.fixed_entropy import FixedEntropy

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.durable_file import CounterFile, LedgerFile
from treetop.errors import LedgerRefused, NotMyWeek
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger

ROTATED = campaign()
ROOT = Path(__file__).parents[2]


class Crash(BaseException):
    """The power goes."""


class World:
    """What outlasts a crash: the disk, and what the party has received."""

    def __init__(self) -> None:
        self.store, self.counter = MemoryLedger(), MemoryCounter()
        self.received: list[bytes] = []
        self.entropy = FixedEntropy(5)
        self.fuse = -1

    def step(self) -> None:
        self.fuse -= 1
        if self.fuse == -1:
            raise Crash

    def around(self, operation: Callable[[], None]) -> None:
        self.step()
        operation()
        self.step()

    def run(self, fuse: int) -> int:
        """Start a device and let it go on until the fuse has burnt; return the steps left over."""
        self.fuse = fuse
        device = Device(self.value, self, Ledger(self, Counting(self)))
        device.resume(self)
        device.answer_once(TASK)
        device.deliver(TASK, self)
        return self.fuse

    def value(self) -> int:
        self.step()
        return 77

    def read(self, count: int) -> bytes:
        self.step()
        return self.entropy.read(count)

    def load(self) -> bytes | None:
        self.step()
        return self.store.load()

    def replace(self, ledger: bytes) -> None:
        self.around(lambda: self.store.replace(ledger))

    def send(self, batch: bytes) -> None:
        self.around(lambda: self.received.append(batch))


class Counting:
    def __init__(self, world: World) -> None:
        self._world = world

    def read(self) -> int:
        self._world.step()
        return self._world.counter.read()

    def advance(self, counter: int) -> None:
        self._world.around(lambda: self._world.counter.advance(counter))


def all_steps() -> int:
    return 1_000 - World().run(1_000)


def crashed(world: World, fuse: int) -> None:
    with pytest.raises(Crash):
        world.run(fuse)


def holds(world: World) -> bool:
    ledger = Ledger(world.store, world.counter)
    return len(set(world.received)) == 1 and ledger.spent == 2 and not ledger.undelivered()


def test_a_crash_at_any_step_leaves_one_report() -> None:
    for fuse in range(all_steps()):
        world = World()
        crashed(world, fuse)
        world.run(1_000)
        assert holds(world), fuse


def test_two_crashes_at_any_two_steps_leave_one_report() -> None:
    for first in range(all_steps()):
        for second in range(all_steps()):
            world = World()
            crashed(world, first)
            try:
                world.run(second)
            except Crash:
                world.run(1_000)
            assert holds(world), (first, second)


def test_before_a_report_is_sent_both_places_know_it() -> None:
    """Whatever was sent, an older ledger is below the remembered counter."""
    for fuse in range(all_steps()):
        world = World()
        versions: list[bytes | None] = []
        keep = world.store.replace
        world.store.replace = lambda ledger, versions=versions, keep=keep: (versions.append(ledger), keep(ledger))[1]  # type: ignore[method-assign, misc]
        crashed(world, fuse)
        if world.received:
            settled = next(place for place, version in enumerate(versions) if b'"sent":"' in (version or b""))
            for old in [None, *versions[:settled]]:
                with pytest.raises(LedgerRefused):
                    Ledger(MemoryLedger(old), world.counter)


class Weeks(World):
    """A device that is asked in every week of a cycle."""

    def run(self, fuse: int) -> int:
        self.fuse = fuse
        for week in range(ROTATED.weeks):
            of, device = weekly(ROTATED, 0, week), Device(self.value, self, Ledger(self, Counting(self)))
            device.resume(self)
            try:
                device.answer_once(of, ROTATED)
            except NotMyWeek:
                continue
            device.deliver(of, self)
        return self.fuse


def test_a_crash_at_any_step_of_a_cycle_leaves_one_week_and_one_report() -> None:
    """The week that stood on the disk stays; a crash before the last week of a cycle may cost the report, never two."""
    for fuse in range(1_000 - Weeks().run(1_000)):
        world = Weeks()
        crashed(world, fuse)
        before = Ledger(world.store, world.counter).slots
        for _ in range(2):
            world.run(1_000)
        ledger = Ledger(world.store, world.counter)
        assert len(ledger.slots) == 1
        assert not before or ledger.slots == before
        assert len(set(world.received)) == 1
        assert ledger.spent == 1


def killed_and_restarted(folder: Path, step: int) -> None:
    command = [sys.executable, "-m", "tests.support.crashing_device", str(folder)]
    killed = subprocess.run([*command, str(step)], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    subprocess.run([*command, "-1"], cwd=ROOT, capture_output=True, check=True)


def check_folder(folder: Path) -> None:
    sent = (folder / "sent").read_bytes().split()
    store = LedgerFile(folder / "ledger")
    ledger = Ledger(store, CounterFile(folder / "counter"))
    assert len(set(sent)) == 1
    assert ledger.spent == Fraction(2)
    assert ledger.undelivered() == []
    store.close()


def test_a_process_killed_at_any_step_leaves_one_report(tmp_path: Path) -> None:
    for step in range(all_steps()):
        folder = tmp_path / str(step)
        folder.mkdir()
        killed_and_restarted(folder, step)
        check_folder(folder)


@pytest.mark.slow
def test_five_hundred_kills(tmp_path: Path) -> None:
    for number in range(500):
        folder = tmp_path / str(number)
        folder.mkdir()
        killed_and_restarted(folder, number % all_steps())
        check_folder(folder)
