"""The vectors of a whole device; `generate.py` writes them.

What a device makes of an item, when two attributes are one, which candidate lists it answers, and a few devices from
the first random byte to the last line of the ledger.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

from tests.support.tasks import ENROLMENT, PUBLISHED, question, task, third_level, validation
from tests.vectors.device_vectors import stream

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.encoding.device_items import LONGEST_ITEM, device_code
from treetop.encoding.item_codecs import codec_named
from treetop.errors import TreetopError
from treetop.federation.device.attributes import normalised
from treetop.federation.device.device import Device
from treetop.federation.device.group_assignment import assigned_group
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.device.list_checks import check_question
from treetop.federation.task import DeviceTask, Encoding, WeightedGroup
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.oracles.registry import LISTED, chosen_oracle
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group, Role

Vector = dict[str, Any]
ITEMS = (
    "apple", "Apple", "APPLE", "zzzzzzzzzzzz", "a" * 40, "", "café", "\u212aelvin", "\u0130stanbul", "straße",
    "two words",
    "0", "7", "007", "255", "256", "18446744073709551615", "18446744073709551616", "\u0663\u0664", "-1", "1.0",
    " 7", "7\n",
    "a\0b", "\0", "日本語テキスト", "emoji 😀😀😀", "é" * 40, "e\u0301", "\ufeffbom", "x" * LONGEST_ITEM,
    "x" * (LONGEST_ITEM + 1), "é" * (LONGEST_ITEM // 2), "é" * (LONGEST_ITEM // 2) + "x", "9" * LONGEST_ITEM,
)  # fmt: skip
CODECS = (
    ("words", 48, ""), ("words", 8, ""), ("words", 100, ""), ("ids", 8, ""), ("ids", 64, ""), ("ids", 100, ""),
    ("text", 8, ""), ("text", 48, ""), ("text", 256, ""), ("hashed", 24, "treetop"), ("hashed", 64, "k"),
    ("hashed", 256, "ключ" * 8),
)  # fmt: skip


def codes() -> list[Vector]:
    """The code of every item, as decimal digits, or null: answered as "none of these"."""
    found: list[Vector] = []
    for name, bits, key in CODECS:
        codec = codec_named(name, bits, key)
        written = [device_code(codec, item) for item in ITEMS]
        found.append({
            "encoding": name, "bits": bits, "hash_key": key,
            "codes": [None if code is None else str(code) for code in written],
        })  # fmt: skip
    return [{"items": list(ITEMS)}, *found]


ATTRIBUTES = (
    "fruit", "Fruit", "FRUIT ", " fr\u00aduit", "fru\u200bit", "ﬀruit", "ffruit", "FFRUIT", "straße", "STRASSE",
    "strasse", "stra\u1e9ee", "ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυφοσ", "ſmile", "smile", "ıI", "Iı", "iI", "i\u0307",
    "\u0130",
    "f r u i t", "f  r\tu\u3000i\nt", "café", "cafe\u0301", "CAFÉ", "１２", "12", "Ⅻ", "xii", "\u2126", "ω", "Ꭰ",
    "ꭰ", "ა", "Ა",
    "ŉ", "ʼn", "ǰ", "j\u030c", "ΐ", "ΐ", "ᾳ", "αι", "ᾼ", "ﬁsh", "fish", "аpple", "apple", "a\ufe0fpple",
    "a\u115fpple",
    "\u0345", "ι", "ẞ", "ss",
)  # fmt: skip


def attributes() -> list[Vector]:
    """Names of attributes; those with the same number are one. The numbers say nothing else."""
    numbers: dict[str, int] = {}
    return [{"name": name, "same": numbers.setdefault(normalised(name), len(numbers))} for name in ATTRIBUTES]


def asked(of: DeviceTask, group: Group, whole: Question, published: Publication, least_slots: int = 5) -> Vector:
    try:
        check_question(of, group, whole, published, least_slots)
        answered = True
    except TreetopError:
        answered = False
    return {
        "task": of.canonical_bytes().decode(), "own": [group.level, group.role.value], "least_slots": least_slots,
        "of_task": whole.task.hex(), "group": [whole.group.level, whole.group.role.value], "length": whole.length,
        "prefixes": [str(p) for p in whole.prefixes], "pruned": [str(p) for p in whole.pruned],
        "published_length": published.length, "published": [str(p) for p in published.prefixes], "answered": answered,
    }  # fmt: skip


def questions() -> list[Vector]:
    """Candidate lists with what a device knows beside them, and whether it answers."""
    krr, olh = third_level(), task("olh")
    checked = replace(krr, groups=(WeightedGroup(Group(3, Role.VALIDATE_FREQUENT), 1),))
    whole, few, own = question(krr), validation(checked), Group(3)
    validating = Group(3, Role.VALIDATE_FREQUENT)
    first = replace(krr, groups=(WeightedGroup(Group(1), 1),))
    top = Question(first.digest, Group(1), 2, (0, 1, 2, 3))
    pruned = replace(whole, prefixes=whole.prefixes[2:], pruned=whole.prefixes[:2])
    changed: list[tuple[DeviceTask, Group, Question, Publication, int]] = [
        (krr, own, whole, PUBLISHED, 5), (krr, own, whole, PUBLISHED, 17), (krr, own, whole, PUBLISHED, 18),
        (krr, own, pruned, PUBLISHED, 5), (first, Group(1), top, Publication(0, (0,)), 5),
        (first, Group(1), replace(top, prefixes=(0, 1, 2)), Publication(0, (0,)), 3),
        (first, Group(1), replace(top, prefixes=(0, 1, 2), pruned=(3,)), Publication(0, (0,)), 3),
        (checked, validating, few, PUBLISHED, 5), (checked, validating, few, Publication(6, few.prefixes), 5),
        (checked, validating, few, Publication(4, (1, 5)), 5), (checked, validating, few, Publication(7, (1, 5)), 5),
        (checked, validating, replace(few, prefixes=(4, 5, 6, 20, 21, 36, 63)), PUBLISHED, 5),
        (checked, validating, replace(few, pruned=(7,)), PUBLISHED, 5),
        (checked, validating, replace(few, prefixes=(4, 5, 20, 21)), PUBLISHED, 5),
        (olh, Group(3), Question(olh.digest, Group(3), 6, whole.prefixes), PUBLISHED, 5),
        (krr, Group(2), whole, PUBLISHED, 5), (krr, own, replace(whole, task=bytes(32)), PUBLISHED, 5),
        (krr, own, replace(whole, group=Group(2)), PUBLISHED, 5), (krr, own, replace(whole, length=8), PUBLISHED, 5),
        (krr, own, replace(whole, prefixes=whole.prefixes[::-1]), PUBLISHED, 5),
        (krr, own, replace(whole, prefixes=(*whole.prefixes[:-1], 64)), PUBLISHED, 5),
        (krr, own, replace(whole, prefixes=whole.prefixes[:-1]), PUBLISHED, 5),
        (krr, own, replace(whole, prefixes=whole.prefixes[7:], pruned=whole.prefixes[:7]), PUBLISHED, 5),
        (krr, own, replace(whole, prefixes=whole.prefixes[4:]), Publication(4, (5, 9, 15)), 5),
        (krr, own, replace(whole, prefixes=(4, 5, 6, 7)), Publication(4, (1,)), 5),
        (krr, own, whole, Publication(2, (0, 1, 2, 3)), 5), (krr, own, whole, Publication(4, (1, 5, 9, 14)), 5),
        (krr, own, whole, Publication(4, (15, 9, 5, 1)), 5), (krr, own, whole, Publication(4, (1, 5, 9, 31)), 5),
        (replace(krr, max_slots=16), own, replace(whole, task=replace(krr, max_slots=16).digest), PUBLISHED, 5),
        (replace(krr, max_slots=17), own, replace(whole, task=replace(krr, max_slots=17).digest), PUBLISHED, 5),
    ]  # fmt: skip
    return [asked(*each) for each in changed]


def answers() -> list[Vector]:
    """Devices from their random bytes to their reports and what their ledgers then hold."""
    cases: list[Vector] = []
    for oracle in ("olh", "walsh"):
        for start, item in enumerate(("77", "255", "no code")):
            of = task(oracle, encoding=Encoding("ids"), attribute="Früchte 😀")
            cases.append(_run(of, item, stream(400, 31 * start + 5), partial(Device.answer_once, task=of)))
    for oracle, start in (("krr", 1), ("oue", 2), ("listed", 3)):
        of = third_level(oracle)
        told = partial(Device.answer, task=of, enrolment=ENROLMENT, question=question(of), published=PUBLISHED)
        run = _run(of, "77", stream(400, start), told)
        cases.append(run | asked(of, assigned_group(of, ENROLMENT), question(of), PUBLISHED))
    return cases


def _run(of: DeviceTask, item: str, script: bytes, answer: Callable[[Device], bytes]) -> Vector:
    store, counter, entropy = MemoryLedger(), MemoryCounter(), ScriptedEntropy(script)
    codec = codec_named(of.encoding.name, of.bits, of.encoding.hash_key)
    device = Device(
        lambda: device_code(codec, item), entropy, Ledger(store, counter, Caps(Fraction(5, 2), Fraction(7)))
    )
    report = answer(device)
    return {
        "task": of.canonical_bytes().decode(), "digest": of.digest.hex(), "item": item, "randomness": script.hex(),
        "bytes_taken": entropy.taken, "report": report.hex(),
        "ledger": (store.load() or b"").decode(), "counter": counter.read(),
    }  # fmt: skip


def choices() -> list[Vector]:
    """Up to how many slots, the dummy counted, a list of a `listed` task is answered through k-RR; from there, OUE."""
    return [
        {"epsilon": epsilon, "krr_up_to": next(d for d in count(2) if _chosen(epsilon, d + 1) != "krr")}
        for epsilon in ("0.001", "0.5", "1", "2", "4", "8")
    ]


def _chosen(epsilon: str, slots: int) -> str:
    return chosen_oracle(LISTED, Budget(epsilon).odds_below, slots).name


FILES = {
    "codes.json": codes, "attributes.json": attributes, "questions.json": questions, "answers.json": answers,
    "choices.json": choices,
}  # fmt: skip
