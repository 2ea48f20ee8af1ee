"""The shipped fleet in front of a recording party, on a watched machine."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy
from treetop.audit.shipped.device_runs import ONE_TRY
from treetop.audit.shipped.recording_party import KEY, PARTY, Arrival, Fault, Loopback, RecordingParty
from treetop.audit.shipped.scenes import Scene, as_text
from treetop.audit.shipped.watched_machine import Disk, FlushedFolder, WatchedMachine
from treetop.datasets.party_split import HeldItems, HeldSets
from treetop.datasets.user_sets import UserSets
from treetop.federation.device.group_assignment import drawn_group
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import Ticket
from treetop.services.fleet.fleet import Fleet, FleetPlan
from treetop.trie.user_groups import Group

DEVICES = 12
BATCH = 5
"""Reports in one upload."""
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
    """Runs shipped fleets in folders of their own."""

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
            except Exception as error:  # whatever ends a run, the party has seen what it has seen
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
    """Return what a fleet that is killed leaves: SQLite flushes by itself, which nobody can watch from here."""
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
