"""What the shipped device does, whatever it holds and whatever fails: every claim is checked from outside."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from treetop.adapters.http.retrying_connection import RetryPolicy
from treetop.adapters.system.durable_file import DeviceState
from treetop.audit.audit_report import Check
from treetop.audit.laws.oracle_laws import number_of_words, scripts
from treetop.audit.scripted_entropy import ScriptedEntropy
from treetop.audit.shipped.device_runs import DELIVERED, SERIAL, DeviceRuns, Seen
from treetop.audit.shipped.recording_party import Fault, RecordingParty, loopback
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
from treetop.audit.shipped.watched_machine import Disk, restored
from treetop.errors import LedgerRefused
from treetop.oracles.registry import SET_FORMS, task_oracles
from treetop.trie.user_groups import Group

PATIENT = RetryPolicy(in_all=3600)
FAILURES: tuple[Sequence[Fault], ...] = (("drop",), ("lose",), ("busy",), ("early",))
"""How the delivery of one run after the other fails, before one succeeds."""
LIST_SIZES = (*range(5, 41), 321)


def none_found(name: str, claim: str, found: int) -> Check:
    """Return a check whose number counts what must not be."""
    return Check(name, found == 0, claim, found, 0)


def alike_checks(runs: DeviceRuns, rules: Iterable[str], streams: int) -> list[Check]:
    """Check that items of every kind look alike from outside, given the same random bytes."""
    silent = requests = delays = levels = bytes_read = 0
    for rule in rules:
        for place, scene in enumerate(scenes_of(rule, ENCODINGS)):
            group = RecordingParty(scene.task).group_of(SERIAL) if scene.lists else None
            for seed in range(streams):
                seen = {kind: runs.run(scene, item, seed=streams * place + seed) for kind, item in ITEMS.items()}
                silent += sum(not each.sends_one for each in seen.values())
                requests += len({each.requests for each in seen.values()}) - 1
                delays += len({tuple(each.machine.slept) for each in seen.values()}) - 1
                levels += len({each.groups for each in seen.values() if each.batches}) - 1
                bytes_read += len({tuple(map(len, each.machine.reads)) for each in seen.values()}) - 1
                bytes_read += sum(not _explained(seen[kind], scene, group, kind) for kind in READABLE)
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
        for place, scene in enumerate(about_sets(rule)):
            for seed in range(streams):
                seen = {kind: runs.run(scene, held, seed=streams * place + seed) for kind, held in SETS.items()}
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


def _explained(seen: Seen, scene: Scene, group: Group | None, kind: str) -> bool:
    return seen.machine.reads_are_fresh and seen.explained_by(scene, group, ITEMS[kind].decode())


def one_report_check(runs: DeviceRuns, rules: Iterable[str]) -> Check:
    """Check that a device whose deliveries fail, and which starts again with another item, has one report ever."""
    most = lost = 0
    for rule in rules:
        scene = three_levels(rule, "ids")
        folder = runs.new_folder()
        patient = runs.run(scene, ITEMS["short"], faults=("drop", "lose", "busy"), retry=PATIENT)
        sent: list[bytes] = []
        for place, faults in enumerate((*FAILURES, ())):
            item = ITEMS[READABLE[place]]
            last = runs.run(scene, item, folder=folder, seed=place, faults=faults)
            after_cuts = [
                runs.run(scene, item, folder=restored(disk, runs.new_folder()), seed=100 + place)
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
