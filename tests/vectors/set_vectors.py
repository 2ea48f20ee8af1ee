"""The vectors of reports of sets; `generate.py` writes them."""

from dataclasses import replace

from tests.vectors.device_vectors import EPSILONS, NAMES, ONE_SHOT, Vector, edited, stream

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.encoding.device_items import DeviceSet, set_entries
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger
from treetop.federation.task import Encoding
from treetop.federation.task_codec import codec_of, steps_of
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, encoded_batch
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.registry import find_oracle
from treetop.oracles.set_reports import SetLocalHashing, SetQuestion, SetWalshHashing
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group

SETS = replace(
    NAMES, name="every text of a set", item_list="", sets=SetQuestion(8, "holders"),
    settings=(("bits", "24"), ("hash_key", "0011223344556677"), ("text_chunks", "3")),
)  # fmt: skip
SETS_IN_A_TRIE = replace(
    ONE_SHOT, name="one of a set", lengths=(0, 8, 48), groups=ONE_SHOT.groups[:2], encoding=Encoding("words"),
    sets=SetQuestion(1, "use_shares"),
)  # fmt: skip


def set_reports() -> Vector:
    """Reports of sets: A, which items are T, and bodies; key, seed and U are read from `randomness` in this order."""
    faces = {
        (form, epsilon, m): form(m).device(Budget(epsilon))
        for form in (SetLocalHashing, SetWalshHashing) for epsilon in EPSILONS[1:8] for m in (1, 2, 8, 64)
    }  # fmt: skip
    thresholds = [
        {"oracle": form.name, "epsilon": epsilon, "items": m, "buckets": face.slots, "own": str(face.own)}
        for (form, epsilon, m), face in faces.items()
    ]
    reports: list[Vector] = []
    cases = [each for each in faces if each[1] in ("0.5", "2", "4") and each[2] <= 8]
    for place, (form, epsilon, m) in enumerate(cases):
        face = faces[form, epsilon, m]
        for size in (0, 1, m, m + 3):
            held = {f"item {number}": 1 << number if number % 7 else 5 for number in range(size)}
            script = stream(36, 11 * place + size) + stream(8, 29 * place + 3 * size)
            entropy = ScriptedEntropy(script)
            draw = face.draw(entropy)
            keys = {item.encode(): key for item, key in held.items()}
            reports.append({
                "oracle": form.name, "epsilon": epsilon, "items": m,
                "held": {item: str(key) for item, key in held.items()}, "randomness": script.hex(),
                "bytes_taken": entropy.taken, "chosen": [item.decode() for item in face.chosen(draw.drawn[0], keys)],
                "body": face.encode(draw.report(keys)).hex(),
            })  # fmt: skip
    return {"thresholds": thresholds, "reports": reports}


def set_tasks() -> Vector:
    """Tasks about sets, batches of their reports, and what is refused of both."""
    written, names = SETS.canonical_bytes().decode(), NAMES.canonical_bytes().decode()
    bad = [
        *(written.replace('"items_per_user":8', f'"items_per_user":{m}') for m in (0, 7, 65, "true", '"8"', 8.0)),
        written.replace('"holders"', '"occurrences"'), written.replace('"holders"', '"shares"'),
        written.replace('"holders"', '""'), written.replace(',"reading":"holders"', ""),
        written.replace('"reading"', '"more":1,"reading"'), written.replace('"own":"', '"own":"1'),
        written.replace('{"items_per_user":8,"reading":"holders"}', "null"), written.replace('"walsh"', '"listed"'),
        names.replace('"settings"', '"sets":{"items_per_user":8,"reading":"holders"},"settings"'),
    ]  # fmt: skip
    good = [
        {"canonical": task.canonical_bytes().decode(), "digest": task.digest.hex()} for task in (SETS, SETS_IN_A_TRIE)
    ]
    wide = Envelope(SETS.digest, Group(1), NO_DOMAIN, find_oracle("walsh"), 512)
    one = encoded_batch(wide, [HashedReport(1, 1)])
    spoilt = [
        edited(one, 81, b"\2\0"), one[:-1], one + b"\0", edited(one, 69, b"\0\0\1\0"), edited(one, 69, b"\0\0\x20\0"),
        edited(one, 69, b"\0\0\3\0"), edited(one, 36, b"\1"),
    ]  # fmt: skip
    batches_ = [one, encoded_batch(wide, [HashedReport(0xDEADBEEF, 511), HashedReport(0, 0)])]
    return {
        "good": good, "bad": bad,
        "batches": {"good": [batch.hex() for batch in batches_], "bad": [batch.hex() for batch in spoilt]},
    }  # fmt: skip


def device_sets() -> list[Vector]:
    """What a device makes of its set: the entries by which T is chosen, in hexadecimal, and whole reports.

    The group is drawn from `randomness` first, then key, seed and U.
    """
    held = [
        [], ["chai"], ["chai", "  CHAI ", "latte"], [f"item {number}" for number in range(12)],
        ["chai", "x" * 4097, "Cafe\u0301", "x" * 4097, "chai"], ["", "a\0b", "天气预报", "chai"],
    ]  # fmt: skip
    cases: list[Vector] = []
    for place, (task, items) in enumerate((task, items) for task in (SETS, SETS_IN_A_TRIE) for items in held):
        asked, codec = task.sets, codec_of(task)
        assert asked is not None
        entries = set_entries(items, steps_of(task), uses=asked.reading == "use_shares")
        script = stream(60, 5 * place + 1)
        entropy = ScriptedEntropy(script)
        ledger = Ledger(MemoryLedger(), MemoryCounter())
        own = DeviceSet(codec, entries, asked.items_per_user)
        batch = Device(lambda own=own: own, entropy, ledger).answer_once(task)  # type: ignore[misc]
        cases.append({
            "task": task.digest.hex(), "items": items, "entries": [entry.hex() for entry in entries],
            "codes": [None if (code := own[entry]) is None else f"{code:x}" for entry in entries],
            "randomness": script.hex(), "bytes_taken": entropy.taken, "batch": batch.hex(),
        })  # fmt: skip
    return cases


FILES = {"set_reports.json": set_reports, "set_tasks.json": set_tasks, "device_sets.json": device_sets}
