"""The shipped single device, run in front of a recording party on a watched machine, and checked from outside.

`DeviceRuns` runs it as `treetop device` does; each check compares runs with other items, failures or power cuts.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.checks import Check
from treetop.audit.chosen_inputs import Exhausted, ScriptedEntropy
from treetop.audit.oracle_laws import number_of_words, scripts
from treetop.audit.shipped.recording_party import KEY, PARTY, Arrival, Fault, Loopback, RecordingParty, loopback
from treetop.audit.shipped.scenes import (
    ALWAYS_ANSWERED,
    BITS,
    ENCODINGS,
    ITEMS,
    READABLE,
    SETS,
    Scene,
    about_sets,
    as_text,
    edge_words,
    one_list,
    scenes_of,
    three_levels,
)
from treetop.audit.shipped.watched_machine import Disk, FlushedFolder, WatchedMachine, restored
from treetop.errors import LedgerRefused
from treetop.federation.device.group_assignment import drawn_group
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.ports import Clock
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import ReportStatus
from treetop.oracles.registry import SET_FORMS, task_oracles
from treetop.privacy.randomness import uniform_below
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import MILLISECONDS, SingleDevice
from treetop.trie.user_groups import Group

SERIAL = 3
MAX_DELAY = 600
"""Seconds that a device may delay its report, unless a check sets another limit."""
ONE_TRY = RetryPolicy(in_all=0)
"""A failed delivery is not repeated within a run."""
PATIENT = RetryPolicy(in_all=3600)
FAILURES: tuple[Sequence[Fault], ...] = (("drop",), ("lose",), ("busy",), ("early",))
"""How the deliveries of successive runs fail, before one succeeds."""
DELIVERED = {ReportStatus.ACCEPTED, ReportStatus.REPLAYED}
LIST_SIZES = (*range(5, 41), 321)
"""From 5 slots, the fewest that a device answers by default."""


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
        # Recomputed from the recorded bytes: a byte used twice, or for something else, shows here.
        entropy = ScriptedEntropy(b"".join(self.machine.reads))
        try:
            delay = uniform_below(MAX_DELAY * MILLISECONDS + 1, entropy) / MILLISECONDS
            report = scene.report(group or drawn_group(scene.task, entropy), item, entropy)
        except Exhausted:
            return False
        used_up = entropy.taken == len(entropy.script)
        return used_up and self.machine.slept == [delay] and self.batches == [report]


class DeviceRuns:
    """Runs shipped devices, each in its own folder."""

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
            except Exception as error:  # any end counts: the records of party and machine are checked
                outcome = type(error).__name__
        return Seen(outcome, party.arrivals, machine, at_reading)


def none_found(name: str, claim: str, found: int) -> Check:
    """Return a check that passes if the number of violations is zero."""
    return Check(name, found == 0, claim, found, 0)


def alike_checks(runs: DeviceRuns, rules: Iterable[str], streams: int) -> list[Check]:
    """Check that items of every kind look alike from outside, given the same random bytes."""
    silent = requests = delays = levels = bytes_read = 0
    for rule in rules:
        for index, scene in enumerate(scenes_of(rule, ENCODINGS)):
            group = RecordingParty(scene.task).group_of(SERIAL) if scene.lists else None
            for seed in range(streams):
                # The same random bytes for every item: any difference is due to the item.
                seen = {kind: runs.run(scene, item, seed=streams * index + seed) for kind, item in ITEMS.items()}
                silent += sum(not each.sends_one for each in seen.values())
                requests += len({each.requests for each in seen.values()}) - 1
                delays += len({tuple(each.machine.slept) for each in seen.values()}) - 1
                levels += len({each.groups for each in seen.values() if each.batches}) - 1
                bytes_read += len({tuple(map(len, each.machine.reads)) for each in seen.values()}) - 1
                for kind in READABLE:
                    fresh = seen[kind].machine.reads_are_fresh
                    bytes_read += not (fresh and seen[kind].explained_by(scene, group, ITEMS[kind].decode()))
    kinds = f"{len(ITEMS)} kinds of items in {len(ENCODINGS)} encodings, prefixes and names"
    return [
        none_found("device_always_sends", f"{kinds}: the shipped device always sends one report", silent),
        none_found("device_same_requests", "its requests and their sizes are the same whatever it holds", requests),
        none_found("device_same_delay", "its pauses are the same whatever it holds", delays),
        none_found("device_same_level", "its level is the same whatever it holds", levels),
        none_found("device_fresh_bytes", "it uses every random byte once, and as many whatever it holds", bytes_read),
    ]


def set_checks(runs: DeviceRuns, rules: Iterable[str], streams: int) -> list[Check]:
    """Check the same of sets: of none, one, m, more than m items, of repeated ones and of items without a code."""
    silent = alike = bytes_read = again = 0
    for rule in rules:
        folder = runs.new_folder()
        sent = set[bytes]()
        for seed, (held, faults) in enumerate(zip(SETS.values(), (*FAILURES, ()), strict=False)):
            last = runs.run(about_sets(rule)[0], held, folder=folder, seed=seed, faults=faults)
            sent.update(last.batches)
        again += len(sent) - 1 + (last.outcome not in DELIVERED)
        for index, scene in enumerate(about_sets(rule)):
            for seed in range(streams):
                seen = {kind: runs.run(scene, held, seed=streams * index + seed) for kind, held in SETS.items()}
                every = seen.values()
                silent += sum(not each.sends_one for each in every)
                alike += len({(each.requests, tuple(each.machine.slept), each.groups) for each in every}) - 1
                bytes_read += len({tuple(map(len, each.machine.reads)) for each in every}) - 1
                bytes_read += sum(not each.machine.reads_are_fresh for each in every)
                for kind, held in SETS.items():
                    bytes_read += not seen[kind].explained_by(scene, None, list(map(as_text, held)))
    kinds = f"{len(SETS)} kinds of sets, prefixes and names"
    return [
        none_found("device_sets_one_report", "after failed deliveries and restarts with other sets, one report", again),
        none_found("device_sets_always_send", f"{kinds}: the shipped device always sends one report", silent),
        none_found("device_sets_alike", "requests, sizes, pauses and level are the same whatever the set", alike),
        none_found("device_sets_fresh_bytes", "key, seed and word are read once, and explain the report", bytes_read),
    ]


def one_report_check(runs: DeviceRuns, rules: Iterable[str]) -> Check:
    """Check that a device whose deliveries fail, and which starts again with another item, has one report ever."""
    most = lost = 0
    for rule in rules:
        scene = three_levels(rule, "ids")
        folder = runs.new_folder()
        patient = runs.run(scene, ITEMS["short"], faults=("drop", "lose", "busy"), retry=PATIENT)
        sent: list[bytes] = []
        for index, faults in enumerate((*FAILURES, ())):
            item = ITEMS[READABLE[index]]
            last = runs.run(scene, item, folder=folder, seed=index, faults=faults)
            after_cuts = [
                runs.run(scene, item, folder=restored(disk, runs.new_folder()), seed=100 + index)
                for disk in _disks(last)
            ]
            sent += [batch for seen in (last, *after_cuts) for batch in seen.batches]
            lost += sum(seen.outcome not in DELIVERED for seen in after_cuts)
        lost += sum(seen.outcome not in DELIVERED for seen in (patient, last))
        most = max(most, len(set(patient.batches)), len(set(sent)))
    claim = "after failed deliveries, restarts and power cuts the shipped device has sent one report, and it arrives"
    return Check("device_one_report", most == 1 and not lost, claim, most + lost, 1)


def _disks(seen: Seen) -> list[Disk]:
    """Return what a power cut would have left whenever a report arrived."""
    return [arrival.disk for arrival in seen.arrivals if arrival.reports]


def durable_check(runs: DeviceRuns, rules: Iterable[str]) -> Check:
    """Check what a power cut leaves when the item is read, and when a report has arrived."""
    unsafe = 0
    for rule in rules:
        scene = three_levels(rule, "ids")
        seen = runs.run(scene, ITEMS["short"])
        unsafe += len(seen.at_reading) != 1 or len(seen.batches) != 1
        reserved = [(disk, None) for disk in seen.at_reading]
        settled = zip(_disks(seen), seen.batches, strict=True)
        for disk, batch in (*reserved, *settled):
            earlier = seen.machine.disk.history[: seen.machine.disk.history.index(disk)]
            for files in (disk, *_with_one_older_file(disk, earlier)):
                # An older ledger put back alone would let the device report again: it must refuse to start.
                known = _knows(restored(files, runs.new_folder()), scene.task.digest, batch)
                unsafe += not known if files is disk else known is False
    claim = "cost before the item is read, report before it is sent: written and flushed, and no older ledger passes"
    return none_found("device_durable_first", claim, unsafe)


def _with_one_older_file(disk: Disk, earlier: Sequence[Disk]) -> Iterator[Disk]:
    """Yield the disk with one file as it was at an earlier time, or not there yet."""
    for name, content in disk.items():
        others = {key: value for key, value in disk.items() if key != name}
        for older in {before.get(name) for before in earlier} - {content}:
            yield others if older is None else {**others, name: older}


def _knows(folder: Path, task: bytes, batch: bytes | None) -> bool | None:
    """Return whether a device that starts here knows its entry and its report, or None if it refuses to start."""
    try:
        with closing(DeviceState(folder)) as state:
            entry = state.ledger.entry(task)
            return entry is not None and (batch is None or entry.sent == batch)
    except LedgerRefused:
        return None


def list_check(runs: DeviceRuns, rules: Iterable[str], sizes: Sequence[int] = LIST_SIZES) -> Check:
    """Check that the answer to a list of d slots is what the oracle over d slots gives, on both sides of a threshold.

    With the law of the oracle's face, which the exact checks read, this is the law of the whole device.
    """
    wrong = answered = 0
    for rule in rules:
        for slots in sizes:
            scene = one_list(rule, slots)
            ((group, listed),) = scene.lists.items()
            first = listed.question.prefixes[0] << BITS - listed.question.length
            face = scene.oracle_and_face(group)[1]
            refused = set[bool]()
            for number, word in enumerate(edge_words(face)):
                words = [word] * number_of_words(face)
                item = "no code" if number % 2 else str(first)
                (script,) = scripts(face, words, 0, "highest" if number % 2 else "lowest")
                seen = runs.run(scene, item.encode(), script=script, max_delay=0)
                refuses = slots < ALWAYS_ANSWERED and seen.outcome == "QuestionRefused" and not seen.batches
                refused.add(refuses)
                answered += not refuses
                wrong += not refuses and seen.batches != [scene.report(group, item, ScriptedEntropy(script))]
            wrong += len(refused) - 1
    claim = f"{answered:,} answers to lists of up to {max(sizes)} slots are those of the oracle's face over as many"
    return none_found("device_lists", claim, wrong)


def device_checks(rules: Sequence[str], quick: bool) -> list[Check]:
    """Check the shipped device in front of a recording party."""
    listed = [rule for rule in rules if all(oracle.listed for oracle in task_oracles(rule))]
    hashing = [rule for rule in rules if rule in SET_FORMS]
    with loopback() as server, TemporaryDirectory(prefix="treetop-audit-") as folder:
        runs = DeviceRuns(server, Path(folder))
        found = [one_report_check(runs, rules), durable_check(runs, rules)]
        found += alike_checks(runs, rules, 1 if quick else 10)
        found += set_checks(runs, hashing, 1 if quick else 10) if hashing else []
        return [*found, list_check(runs, listed)] if listed else found
