"""The shipped device and fleet with one line changed: each must be caught by a named check that drives them whole."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

from treetop import whole_files
from treetop.adapters.sqlite import fleet_ledger
from treetop.adapters.system import durable_file
from treetop.adapters.system.durable_file import LedgerFile
from treetop.adapters.system.host import SystemEntropy
from treetop.datasets.party_split import SetCodes
from treetop.encoding.device_items import set_entries
from treetop.federation.campaign import Campaign
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger, LedgerEntry
from treetop.federation.ports import Outbox
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import ReportStatus
from treetop.oracles.oue.device import BitsFace
from treetop.oracles.protocol import DeviceFace, Randomness, Words
from treetop.privacy.randomness import Entropy
from treetop.secret_files import flush_folder
from treetop.services.device import single_device
from treetop.services.device.single_device import SingleDevice
from treetop.services.fleet import devices as fleet_devices
from treetop.services.fleet.devices import Answer, FleetDevices
from treetop.trie.user_groups import Group

SHIPPED_DELIVER = Device.deliver
SHIPPED_WRITE = Ledger._write
SHIPPED_RUN = SingleDevice.run
SHIPPED_DELAY = SingleDevice._delay
SHIPPED_FACE_FOR = DeviceTask.face_for
SHIPPED_READ = SystemEntropy.read
SHIPPED_CODES = SetCodes.__getitem__


def fresh_after_failure(self: Device, task: DeviceTask, outbox: Outbox) -> None:
    """The report that could not be delivered is thrown away."""
    try:
        SHIPPED_DELIVER(self, task, outbox)
    except Exception:
        entry = self._ledger.entry(task.digest)
        assert entry is not None
        self._ledger._write(replace(entry, sent=None))
        raise


def fresh_in_the_same_run(self: Device, task: DeviceTask, outbox: Outbox) -> None:
    """The report that could not be delivered is drawn again and sent at once."""
    try:
        SHIPPED_DELIVER(self, task, outbox)
    except Exception:
        self._ledger._entries.pop(task.digest)
        self.answer_once(task)
        SHIPPED_DELIVER(self, task, outbox)


def unflushed_ledger(self: LedgerFile, ledger: bytes) -> None:
    """Written beside and renamed, but nothing is flushed."""
    beside = self._path.with_name("ledger.new")
    beside.write_bytes(ledger)
    beside.replace(self._path)


def unflushed_helper(path: Path, content: bytes) -> None:
    """What ledger and counter share flushes the folder only."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(content)
    beside.replace(path)
    flush_folder(path.parent)


def counter_after_the_report(self: Ledger, entry: LedgerEntry) -> None:
    """The counter rises once there is a report, not when the cost was charged."""
    behind = nullcontext() if entry.sent else patch.object(self._counter_store, "advance", lambda _: None)
    with behind:
        SHIPPED_WRITE(self, entry)


def counter_after_sending(self: Ledger, entry: LedgerEntry) -> None:
    """The counter rises when the report has been delivered."""
    behind = nullcontext() if entry.delivered else patch.object(self._counter_store, "advance", lambda _: None)
    with behind:
        SHIPPED_WRITE(self, entry)


class LevelByItem(Device):
    """Items without a code answer at the first level."""

    def _drawn_group(self, task: DeviceTask, campaign: Campaign | None) -> Group:
        drawn = super()._drawn_group(task, campaign)
        return task.groups[0].group if self._value() is None else drawn


class LevelBySize(Device):
    """Empty sets answer at the first level."""

    def _drawn_group(self, task: DeviceTask, campaign: Campaign | None) -> Group:
        drawn = super()._drawn_group(task, campaign)
        return drawn if self._value() else task.groups[0].group


def overlapping_bytes(self: SystemEntropy, count: int) -> bytes:
    """The last byte of a read is the first one of the next."""
    taken = SHIPPED_READ(self, count)
    self._taken -= bool(count)
    return taken


class BytesUsedTwice(Device):
    """The report's first bytes are those that the level was drawn with."""

    def __init__(self, value: Any, entropy: Entropy, ledger: Ledger) -> None:
        super().__init__(value, self, ledger)
        self._source, self._last = entropy, b""

    def read(self, count: int) -> bytes:
        taken = (self._last + self._source.read(count))[:count]
        self._last = taken
        return taken


def silent_without_code(self: SingleDevice) -> ReportStatus | None:
    """Nothing is sent for what is no whole number."""
    return SHIPPED_RUN(self) if self.items()[0].isdigit() else None


def silent_with_nothing(self: SingleDevice) -> ReportStatus | None:
    """Nothing is sent for an empty set."""
    return SHIPPED_RUN(self) if self.items() else None


def repeated_items(items: Any, steps: Any, **_: object) -> dict[bytes, str | None]:
    """An item that is there twice is chosen twice as often."""
    return set_entries(items, steps, uses=True)


def only_with_a_code(self: SetCodes, user: int) -> dict[bytes, int | None]:
    """Items without a code are left out of a fleet's sets."""
    return {entry: code for entry, code in SHIPPED_CODES(self, user).items() if code is not None}


def delay_by_item(self: SingleDevice) -> None:
    """Long items are sent later."""
    SHIPPED_DELAY(self)
    if len(self.items()[0]) > 5:
        self.sleep(60)


def eight_at_most(self: DeviceTask, slots: int) -> DeviceFace:
    """Whatever the list, no more than eight slots are counted."""
    return SHIPPED_FACE_FOR(self, min(slots, 8))


class SharedWordsAboveEight(BitsFace):
    """From the ninth bit on, words are used again."""

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        return (Words(self.slots),)

    def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
        (words,) = drawn
        return super().report((tuple(words[place % 8] for place in range(self.slots)),), value)


class LooseAboveEight(BitsFace):
    """From nine slots on, bits flip half as often."""

    @cached_property
    def flip(self) -> int:
        shipped: int = super().flip
        return shipped if self.slots <= 8 else shipped // 2


def fleet_sends_before_commit(
    self: FleetDevices, indices: Sequence[int], answer: Answer, judged_more: Callable[[int], None]
) -> None:
    """Reports are sent, and judged, before any ledger is written."""
    prepared = [self._prepared(record, answer) for record in self.ledgers.records(indices)]
    under_way = self._sent(prepared)
    under_way.posted.verdicts()
    self.ledgers.keep(self.task.digest, [(each.record, each.batch) for each in prepared])
    self._settle([under_way], judged_more)


@contextmanager
def fleet_without_flushing() -> Iterator[None]:
    """SQLite is told not to flush."""
    shipped = fleet_ledger.FleetLedger.__init__

    def opened(self: Any, path: Path) -> None:
        shipped(self, path)
        self._database.execute("PRAGMA synchronous = OFF")

    with patch.object(fleet_ledger.FleetLedger, "__init__", opened):
        yield


@dataclass(frozen=True)
class ShippedMutant:
    caught_by: str
    """The name of the check that must fail."""
    applied: Callable[[], Any]
    """Makes a context in which the shipped code has the fault."""
    rule: str = "olh"
    """The oracle of the tasks."""


def replaced(owner: object, name: str, broken: object) -> Callable[[], Any]:
    return lambda: patch.object(owner, name, broken)


SHIPPED_MUTANTS: dict[str, ShippedMutant] = {
    "fresh report after a failed delivery": ShippedMutant(
        "device_one_report", replaced(Device, "deliver", fresh_after_failure)
    ),
    "ledger file without fsync": ShippedMutant(
        "device_durable_first", replaced(LedgerFile, "replace", unflushed_ledger)
    ),
    "counter after the report was made": ShippedMutant(
        "device_durable_first", replaced(Ledger, "_write", counter_after_the_report)
    ),
    "counter after the report was sent": ShippedMutant(
        "device_durable_first", replaced(Ledger, "_write", counter_after_sending)
    ),
    "shared helper without fsync": ShippedMutant(
        "device_durable_first", replaced(durable_file, "replace_durably", unflushed_helper), "krr"
    ),
    "level by item": ShippedMutant("device_same_level", replaced(single_device, "Device", LevelByItem)),
    "overlapping entropy": ShippedMutant(
        "device_fresh_bytes", replaced(SystemEntropy, "read", overlapping_bytes), "krr"
    ),
    "silence without a code": ShippedMutant(
        "device_always_sends", replaced(SingleDevice, "run", silent_without_code), "krr"
    ),
    "delay by item": ShippedMutant("device_same_delay", replaced(SingleDevice, "_delay", delay_by_item)),
    "wrong d above 8": ShippedMutant("device_lists", replaced(DeviceTask, "face_for", eight_at_most), "krr"),
}
"""Those that survived everything, and those that only other tests caught."""

MORE_SHIPPED_MUTANTS: dict[str, ShippedMutant] = {
    "fresh report in the same run": ShippedMutant(
        "device_one_report", replaced(Device, "deliver", fresh_in_the_same_run)
    ),
    "folder without fsync": ShippedMutant(
        "device_durable_first", replaced(whole_files, "flush_folder", lambda _: None)
    ),
    "bytes used twice": ShippedMutant("device_fresh_bytes", replaced(single_device, "Device", BytesUsedTwice)),
    "level by item in the fleet": ShippedMutant("fleet_same_level", replaced(fleet_devices, "Device", LevelByItem)),
    "overlapping entropy in the fleet": ShippedMutant(
        "fleet_fresh_bytes", replaced(SystemEntropy, "read", overlapping_bytes)
    ),
    "fleet that sends before it commits": ShippedMutant(
        "fleet_durable_first", replaced(FleetDevices, "answer", fleet_sends_before_commit)
    ),
    "fleet that does not flush": ShippedMutant("fleet_durable_first", fleet_without_flushing),
    "items drawn again after a failed delivery": ShippedMutant(
        "device_sets_one_report", replaced(Device, "deliver", fresh_after_failure)
    ),
    "silence of the empty set": ShippedMutant(
        "device_sets_always_send", replaced(SingleDevice, "run", silent_with_nothing)
    ),
    "level by set": ShippedMutant("device_sets_alike", replaced(single_device, "Device", LevelBySize)),
    "repeated items": ShippedMutant(
        "device_sets_fresh_bytes", replaced(single_device, "set_entries", repeated_items), "walsh"
    ),
    "fleet without items that have no code": ShippedMutant(
        "fleet_sets", replaced(SetCodes, "__getitem__", only_with_a_code)
    ),
}
