"""The shipped fleet, run in front of a recording party on a watched machine, and checked like the single device."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treetop.audit.checks import Check
from treetop.audit.chosen_inputs import Exhausted, ScriptedEntropy
from treetop.audit.shipped.device_checks import FAILURES, ONE_TRY, none_found
from treetop.audit.shipped.recording_party import KEY, PARTY, Arrival, Fault, Loopback, RecordingParty, loopback
from treetop.audit.shipped.scenes import (
    ENCODINGS,
    ITEMS,
    READABLE,
    SETS,
    Scene,
    about_sets,
    as_text,
    scenes_of,
    three_levels,
)
from treetop.audit.shipped.watched_machine import Disk, FlushedFolder, WatchedMachine, restored
from treetop.datasets.party_split import HeldItems, HeldSets
from treetop.datasets.user_sets import UserSets
from treetop.federation.device.group_assignment import drawn_group
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import Ticket
from treetop.oracles.registry import SET_FORMS
from treetop.services.fleet.fleet import Fleet, FleetPlan
from treetop.trie.user_groups import Group

DEVICES = 12
BATCH = 5
"""Reports in one upload: the last one of a fleet is not full."""
KINDS = tuple(ITEMS.values())
FLUSHES_EVERY_COMMIT = 2
"""`PRAGMA synchronous` of SQLite: FULL; 3 is EXTRA."""


@dataclass(frozen=True)
class FleetSeen:
    """What one run of a fleet showed to its party and to its machine."""

    outcome: object
    """How many reports the party took, or the name of the error that ended the run."""
    arrivals: Sequence[Arrival]
    machine: WatchedMachine
    synchronous: Sequence[int]
    """What SQLite was told about flushing, for every database that was opened."""

    @property
    def batches(self) -> dict[bytes, set[bytes]]:
        """Return the different reports that came with every ticket."""
        found: dict[bytes, set[bytes]] = defaultdict(set)
        for arrival in self.arrivals:
            for entry in arrival.reports:
                found[entry.ticket].add(entry.batch)
        return found

    @property
    def groups(self) -> dict[bytes, frozenset[Group]]:
        """Return the groups that were named with every ticket."""
        return {
            ticket: frozenset(decoded_batch(batch).envelope.group for batch in batches)
            for ticket, batches in self.batches.items()
        }

    @property
    def requests(self) -> tuple[object, ...]:
        """Return what the network saw but for the bodies of reports."""
        return tuple(arrival.public for arrival in self.arrivals)

    def explained_by(self, scene: Scene, item: str | Sequence[str]) -> bool:
        """Return whether groups and reports follow from the bytes that were read, each used once, in order of arrival.

        Every device holds the item, or the set.
        """
        entropy = ScriptedEntropy(b"".join(self.machine.reads))
        try:
            for arrival in self.arrivals:
                for entry in arrival.reports:
                    serial = Ticket.from_bytes(entry.ticket).serial
                    party = RecordingParty(scene.task)
                    group = party.group_of(serial) if scene.lists else drawn_group(scene.task, entropy)
                    if scene.report(group, item, entropy) != entry.batch:
                        return False
        except Exhausted:
            return False
        return entropy.taken == len(entropy.script)


class FleetRuns:
    """Runs shipped fleets, each in its own folder."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._number = count()

    def new_folder(self) -> Path:
        """Return a folder that is not there yet."""
        return self._folder / f"fleet {next(self._number)}"

    def run(
        self,
        scene: Scene,
        items: Sequence[bytes | Sequence[bytes]],
        *,
        folder: Path | None = None,
        seed: int = 0,
        faults: Sequence[Fault] = (),
    ) -> FleetSeen:
        """Run a fleet once, as `treetop device fleet` does; its devices hold the items, or the sets, in turn."""
        home = folder or self.new_folder()
        home.mkdir(parents=True, exist_ok=True)
        machine = WatchedMachine(FlushedFolder(home), seed)
        party = RecordingParty(scene.task, scene.lists, scene.items, list(faults), lambda: files_of(home))
        self._server.party = party
        plan = FleetPlan(
            url=self._server.url,
            task=scene.task.digest,
            party=PARTY,
            state=home,
            verifier=KEY,
            tickets=[party.ticket(serial).to_bytes() for serial in range(DEVICES)],
            batch=BATCH,
            connections=1,
            retry=ONE_TRY,
        )
        held = _held(items)
        with machine.watching(), opened_databases() as databases:
            try:
                with closing(Fleet(plan, held, "audited")) as fleet:
                    verdicts = fleet.run().verdicts
                    outcome: object = verdicts.get("accepted", 0) + verdicts.get("replayed", 0)
                    synchronous = [int(each.execute("PRAGMA synchronous").fetchone()[0]) for each in databases]
            except Exception as error:  # any end of a run counts: the records of the party are checked
                outcome = type(error).__name__
                synchronous = []
        return FleetSeen(outcome, party.arrivals, machine, synchronous)


def _held(items: Sequence[bytes | Sequence[bytes]]) -> HeldItems | HeldSets:
    in_turn = np.arange(DEVICES) % len(items)
    sets = [each for each in items if not isinstance(each, bytes)]
    if not sets:
        return HeldItems([as_text(item) for item in items if isinstance(item, bytes)], in_turn)
    known = sorted({item for each in sets for item in each} or {b""})
    flat = np.array([known.index(item) for each in sets for item in each], dtype=np.int32)
    starts = np.cumsum([0, *map(len, sets)])
    return HeldSets([as_text(item) for item in known], UserSets(starts, flat).of_users(in_turn))


def files_of(folder: Path) -> Disk:
    """Return the files that a killed fleet leaves: SQLite flushes on its own, which cannot be watched from here."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@contextmanager
def opened_databases() -> Iterator[list[sqlite3.Connection]]:
    """Yield the list of databases that are opened while the block lasts."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def listening(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    sqlite3.connect = listening  # type: ignore[assignment]
    try:
        yield opened
    finally:
        sqlite3.connect = connect


def alike_checks(runs: FleetRuns, rules: Iterable[str], encodings: Sequence[str]) -> list[Check]:
    """Check that fleets which hold items of one kind each look alike from outside, given the same random bytes."""
    silent = requests = levels = bytes_read = 0
    for rule in rules:
        for seed, scene in enumerate(scenes_of(rule, encodings)):
            seen = {kind: runs.run(scene, [item], seed=seed) for kind, item in ITEMS.items()}
            every = seen.values()
            silent += sum(DEVICES - len(each.batches) + (each.outcome != DEVICES) for each in every)
            requests += len({(each.requests, tuple(each.machine.slept)) for each in every}) - 1
            levels += len({tuple(sorted(each.groups.items(), key=str)) for each in every if each.batches}) - 1
            bytes_read += len({tuple(map(len, each.machine.reads)) for each in every}) - 1
            for kind in READABLE:
                fresh = seen[kind].machine.reads_are_fresh
                bytes_read += not (fresh and seen[kind].explained_by(scene, ITEMS[kind].decode()))
    kinds = f"fleets of {DEVICES} devices, {len(ITEMS)} kinds of items"
    return [
        none_found("fleet_always_sends", f"{kinds}: every device sends one report", silent),
        none_found("fleet_same_requests", "its requests, sizes and pauses are the same whatever they hold", requests),
        none_found("fleet_same_level", "each device's level is the same whatever they hold", levels),
        none_found("fleet_fresh_bytes", "it uses every random byte once, and as many whatever they hold", bytes_read),
    ]


def set_check(runs: FleetRuns, rules: Iterable[str]) -> Check:
    """Check that fleets which hold sets of one kind each always send, look alike, and use every random byte once."""
    wrong = 0
    for rule in rules:
        for seed, scene in enumerate(about_sets(rule)):
            seen = {kind: runs.run(scene, [held], seed=seed) for kind, held in SETS.items()}
            every = seen.values()
            wrong += sum(each.outcome != DEVICES for each in every)
            wrong += len({(each.requests, tuple(each.machine.slept), str(each.groups)) for each in every}) - 1
            wrong += len({tuple(map(len, each.machine.reads)) for each in every}) - 1
            for kind, held in SETS.items():
                wrong += not seen[kind].explained_by(scene, list(map(as_text, held)))
    claim = f"fleets with {len(SETS)} kinds of sets: every device sends one report, and they are alike from outside"
    return none_found("fleet_sets", claim, wrong)


def one_report_check(runs: FleetRuns, rules: Iterable[str]) -> Check:
    """Check that devices whose uploads fail, and which start again with other items, have one report each ever."""
    most = lost = 0
    for rule in rules:
        scene = three_levels(rule, "ids")
        folder = runs.new_folder()
        sent: dict[bytes, set[bytes]] = defaultdict(set)
        for index, faults in enumerate((*FAILURES, ())):
            seen = runs.run(scene, KINDS[index:], folder=folder, seed=index, faults=faults)
            for ticket, batches in seen.batches.items():
                sent[ticket] |= batches
        lost += DEVICES - len(sent) + (seen.outcome != DEVICES)
        most = max((most, *map(len, sent.values())))
    claim = "after failed uploads and restarts every device of the shipped fleet has sent one report, and it arrives"
    return Check("fleet_one_report", most == 1 and not lost, claim, most + lost, 1)


def durable_check(runs: FleetRuns, rules: Iterable[str]) -> Check:
    """Check that a fleet that is killed when an upload has arrived sends the same reports again."""
    unsafe = 0
    for rule in rules:
        scene = three_levels(rule, "ids")
        seen = runs.run(scene, KINDS)
        unsafe += not seen.synchronous or min(seen.synchronous) < FLUSHES_EVERY_COMMIT
        for number, arrival in enumerate(seen.arrivals):
            if not arrival.reports:
                continue
            folder = restored(arrival.disk, runs.new_folder())
            again = runs.run(scene, KINDS[1:], folder=folder, seed=100 + number).batches
            unsafe += sum(again.get(entry.ticket) != {entry.batch} for entry in arrival.reports)
    claim = "reports are committed, by SQLite that is told to flush, before they are sent: a killed fleet has them"
    return none_found("fleet_durable_first", claim, unsafe)


def fleet_checks(rules: Sequence[str], quick: bool) -> list[Check]:
    """Check the shipped fleet in front of a recording party."""
    with loopback() as server, TemporaryDirectory(prefix="treetop-audit-") as folder:
        runs = FleetRuns(server, Path(folder))
        encodings = ENCODINGS[:1] if quick else ENCODINGS
        found = [one_report_check(runs, rules), durable_check(runs, rules), *alike_checks(runs, rules, encodings)]
        hashing = [rule for rule in rules if rule in SET_FORMS]
        return [*found, set_check(runs, hashing)] if hashing else found
