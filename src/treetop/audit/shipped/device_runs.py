"""The shipped single device in front of a recording party, on a watched machine."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy
from treetop.audit.shipped.recording_party import KEY, PARTY, Arrival, Fault, Loopback, RecordingParty
from treetop.audit.shipped.scenes import Scene, as_text
from treetop.audit.shipped.watched_machine import Disk, FlushedFolder, WatchedMachine
from treetop.federation.device.group_assignment import drawn_group
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.ports import Clock
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import ReportStatus
from treetop.privacy.randomness import uniform_below
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import MILLISECONDS, SingleDevice
from treetop.trie.user_groups import Group

SERIAL = 3
MAX_DELAY = 600
"""Seconds that a device may put its report off, unless a check says otherwise."""
ONE_TRY = RetryPolicy(in_all=0)
"""A delivery that fails has failed."""
DELIVERED = {ReportStatus.ACCEPTED, ReportStatus.REPLAYED}


@dataclass(frozen=True)
class Seen:
    """What one run of a device showed to its party and to its machine."""

    outcome: object
    """The verdict, or the name of the error that ended the run."""
    arrivals: Sequence[Arrival]
    machine: WatchedMachine
    at_reading: Sequence[Disk]
    """What a power cut would have left whenever the item was read: once."""

    @property
    def batches(self) -> list[bytes]:
        """Return every report that arrived, repetitions included."""
        return [entry.batch for arrival in self.arrivals for entry in arrival.reports]

    @property
    def groups(self) -> frozenset[Group]:
        """Return the groups that were named."""
        return frozenset(decoded_batch(batch).envelope.group for batch in self.batches)

    @property
    def sends_one(self) -> bool:
        """Return whether one report was sent, once, and taken."""
        return self.outcome is ReportStatus.ACCEPTED and len(self.batches) == 1

    @property
    def requests(self) -> tuple[object, ...]:
        """Return what the network saw but for the bodies of reports, and whether the device was content."""
        return self.outcome, *(arrival.public for arrival in self.arrivals)

    def explained_by(self, scene: Scene, group: Group | None, item: str | Sequence[str]) -> bool:
        """Return whether delay, group and report follow from the bytes that were read, each used once, in this order.

        In rounds the group is given.
        """
        entropy = ScriptedEntropy(b"".join(self.machine.reads))
        try:
            delay = uniform_below(MAX_DELAY * MILLISECONDS + 1, entropy) / MILLISECONDS
            report = scene.report(group or drawn_group(scene.task, entropy), item, entropy)
        except Exhausted:
            return False
        used_up = entropy.taken == len(entropy.script)
        return used_up and self.machine.slept == [delay] and self.batches == [report]


class DeviceRuns:
    """Runs shipped devices in folders of their own."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._number = count()
        self._disks: dict[Path, FlushedFolder] = {}

    def new_folder(self) -> Path:
        """Return a folder that is not there yet."""
        return self._folder / str(next(self._number))

    def run(
        self,
        scene: Scene,
        item: bytes | Sequence[bytes],
        *,
        folder: Path | None = None,
        seed: int = 0,
        script: bytes | None = None,
        faults: Sequence[Fault] = (),
        retry: RetryPolicy = ONE_TRY,
        max_delay: int = MAX_DELAY,
        clock: Clock | None = None,
    ) -> Seen:
        """Run a device once, as `treetop device` does, with an item or a set; in its old folder it starts again."""
        home = folder or self.new_folder()
        home.mkdir(parents=True, exist_ok=True)
        disk = self._disks.setdefault(home, FlushedFolder(home))
        machine = WatchedMachine(disk, seed, script)
        party = RecordingParty(scene.task, scene.lists, scene.items, list(faults), disk.after_power_cut, scene.campaign)
        self._server.party = party
        at_reading: list[Disk] = []

        def own_items() -> list[str]:
            at_reading.append(disk.after_power_cut())
            return [as_text(each) for each in ([item] if isinstance(item, bytes) else item)]

        connection = RetryingConnection(self._server.url, retry=retry, sleep=machine.sleep)
        digest = scene.task.digest
        with machine.watching(), closing(PartyClient(connection)) as client:
            try:
                with closing(DeviceState(home, clock=clock)) as state:
                    outcome: object = SingleDevice(
                        client=client,
                        trusted=TrustedTask.of(client.task(digest), digest, PARTY, KEY),
                        ticket=party.ticket(SERIAL),
                        state=state,
                        items=own_items,
                        entropy=SystemEntropy(),
                        say=lambda _: None,
                        max_delay=max_delay,
                        sleep=machine.sleep,
                        holds_set=not isinstance(item, bytes),
                    ).run()
            except Exception as error:  # whatever ends a run, the party and the machine have seen what they have seen
                outcome = type(error).__name__
        return Seen(outcome, party.arrivals, machine, at_reading)
