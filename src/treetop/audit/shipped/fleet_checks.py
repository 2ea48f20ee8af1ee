"""What the shipped fleet does, whatever its devices hold and whatever fails: as for the single device."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from treetop.audit.audit_report import Check
from treetop.audit.shipped.device_checks import FAILURES, none_found
from treetop.audit.shipped.fleet_runs import DEVICES, FLUSHES_EVERY_COMMIT, FleetRuns, FleetSeen
from treetop.audit.shipped.recording_party import loopback
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
from treetop.audit.shipped.watched_machine import restored
from treetop.oracles.registry import SET_FORMS

KINDS = tuple(ITEMS.values())


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
            bytes_read += sum(not _explained(seen[kind], scene, kind) for kind in READABLE)
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


def _explained(seen: FleetSeen, scene: Scene, kind: str) -> bool:
    return seen.machine.reads_are_fresh and seen.explained_by(scene, ITEMS[kind].decode())


def one_report_check(runs: FleetRuns, rules: Iterable[str]) -> Check:
    """Check that devices whose uploads fail, and which start again with other items, have one report each ever."""
    most = lost = 0
    for rule in rules:
        scene = three_levels(rule, "ids")
        folder = runs.new_folder()
        sent: dict[bytes, set[bytes]] = defaultdict(set)
        for place, faults in enumerate((*FAILURES, ())):
            seen = runs.run(scene, KINDS[place:], folder=folder, seed=place, faults=faults)
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
