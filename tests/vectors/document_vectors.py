"""The vectors of signed documents that somebody has spoilt; `generate.py` writes them.

A seeded generator changes good documents: other types, numbers beyond their bounds, fields missing or added, another
spelling. Readers in every language reach the same verdict. A changed document is written as an edit of its base: where
the change begins and ends, and the text between.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

from tests.vectors.campaign_vectors import GOOD, IDS, week
from tests.vectors.device_vectors import ANY_TEXT, CATALOGUE, IN_ROUNDS, NAMES, ONE_SHOT, WALSH, stream
from tests.vectors.set_vectors import SETS

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.errors import BudgetExceeded, NotMyWeek, QuestionRefused
from treetop.federation.campaign import DAY, Campaign, template_of
from treetop.federation.device.device import Device, ValueSource
from treetop.federation.device.ledger import Ledger
from treetop.federation.documents import DocumentRefused
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import (
    Beacon,
    Publication,
    PublishedList,
    Question,
    checked,
)
from treetop.trie.user_groups import Group

Vector = dict[str, Any]
SEED, MUTANTS, WEEKS, KEPT = 20_260, 4_000, 2_400, 12
ACCEPTED = "accepted"
_RAW = "raw number "
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 257, 1024, (1 << 32) + 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, 1 << 64,
    *(_RAW + number for number in ("1.5", "1.0", "-0", "1e3", "1e400", "9" * 400)), "", "0", "1", "x", "AB", "00",
    "ab" * 32, "AB" * 32, "a\u200bb", "\ud800", "y" * 201, [], {}, [[]], {"a": "b"}, {"a": 1}, [1, "estimate", 1],
    ["x", "x"],
)  # fmt: skip
NAMES_OF_FIELDS = ("zest", "__proto__", "constructor", "reports", "item_list", "sets", "keep", "seeds", "0")


class AnyKey:
    """Takes every signature: these vectors are about what was signed."""

    def verifies(self, message: bytes, signature: bytes) -> bool:
        return bool(message and signature)


def bases() -> list[tuple[str, str]]:
    short = Question(IN_ROUNDS.digest, Group(1), 2, (0, 1, 2, 3))
    lengthy = Question(IN_ROUNDS.digest, Group(4), 8, tuple(range(4, 80)), tuple(range(4)))
    beacon = Beacon(IN_ROUNDS.digest, "south", 1_000, stream(32, 1), stream(32, 2)).to_bytes()
    lists = [
        PublishedList("south", short, Publication(0, (0,))),
        PublishedList("south", lengthy, Publication(6, tuple(range(20)))),
    ]
    tasks = (IN_ROUNDS, ONE_SHOT, WALSH, NAMES, CATALOGUE, ANY_TEXT, SETS, week(GOOD[0], 0, 2))
    envelope = {"content": beacon.decode(), "kind": "beacon", "signature": "0a" * 64}
    return [
        *(("task", task.canonical_bytes().decode()) for task in tasks),
        *(("campaign", campaign.canonical_bytes().decode()) for campaign in GOOD[:3]), ("beacon", beacon.decode()),
        *(("list", listed.to_bytes(IN_ROUNDS).decode()) for listed in lists),
        ("signed", json.dumps(envelope, sort_keys=True, separators=(",", ":"))),
    ]  # fmt: skip


READERS: dict[str, Callable[[bytes], bytes]] = {
    "task": lambda data: DeviceTask.from_canonical_bytes(data).canonical_bytes(),
    "campaign": lambda data: Campaign.from_canonical_bytes(data).canonical_bytes(),
    "beacon": lambda data: Beacon.from_bytes(data).to_bytes(),
    "list": lambda data: PublishedList.from_bytes(data, IN_ROUNDS).to_bytes(IN_ROUNDS),
    "signed": lambda data: (checked("beacon", data, AnyKey()), data)[1],
}


def verdict(kind: str, text: str) -> str:
    """Return the code of the refusal, or that a document is accepted: then it is written as it was read."""
    data = text.encode("utf-8", errors="surrogatepass")
    try:
        assert READERS[kind](data) == data
    except DocumentRefused as refused:
        return refused.code
    return ACCEPTED


def mutants(text: str, random: Random) -> Iterator[str]:
    """Yield changed texts of a document without end."""
    while True:
        content = json.loads(text)
        for _ in range(random.choice((1, 1, 1, 2))):
            _change(content, random)
        changed = _written(content)
        yield changed if random.random() < 0.9 else _respelt(changed, random)


def _change(content: Any, random: Random) -> None:
    """Change one value or one field somewhere in an object or a list."""
    container, place = random.choice(list(_places(content)) or [(content, None)])
    way = random.randrange(8)
    if way == 0 and place is not None:
        del container[place]
    elif way == 1 and isinstance(container, dict):
        container[random.choice(NAMES_OF_FIELDS)] = deepcopy(random.choice(VALUES))
    elif way == 1 and isinstance(container, list):
        container.append(deepcopy(random.choice([*VALUES, *container])))
    elif place is not None:
        container[place] = _other(container[place], random)


def _other(value: Any, random: Random) -> Any:
    """Return something near a value, or something else altogether."""
    near: list[Any] = [str(value), [value], {"0": value}]
    if isinstance(value, str):
        near += [value.upper(), value + " ", value[:-1], value[::-1]]
    if type(value) is int:
        near += [value + 1, value - 1, -value, 2 * value]
    if isinstance(value, list):
        near += [value[:-1], value[::-1], value + value[-1:]]
    return deepcopy(random.choice(near if random.random() < 0.4 else VALUES))


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    places = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for place in places:
        yield content, place
        yield from _places(content[place])


def _written(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    for raw in (value for value in VALUES if isinstance(value, str) and value.startswith(_RAW)):
        text = text.replace(json.dumps(raw), raw.removeprefix(_RAW))
    return text


def _respelt(text: str, random: Random) -> str:
    place = random.randrange(len(text))
    return random.choice((
        text + " ", " " + text, text[:-1], "\ufeff" + text, text.replace(":", ": ", 1), text.replace("\\u", "\\U", 1),
        text.replace("{", '{"k":1,', 1), text[:place] + text[place + 1 :], text[:place] + "\x00" + text[place:],
        "[" * 9 + text + "]" * 9, text.replace("[", "[" * 9, 1).replace("]", "]" * 9, 1),
    ))  # fmt: skip


def edit(base: str, changed: str) -> str:
    """Return where a change begins and ends in its base, and the text between."""
    start = 0
    while start < min(len(base), len(changed)) and base[start] == changed[start]:
        start += 1
    end = 0
    while end < min(len(base), len(changed)) - start and base[-1 - end] == changed[-1 - end]:
        end += 1
    return f"{start} {len(base) - end} {changed[start : len(changed) - end]}"


def applied(base: str, change: str) -> str:
    start, end, text = change.split(" ", 2)
    return base[: int(start)] + text + base[int(end) :]


def documents() -> Vector:
    random = Random(SEED)  # noqa: S311
    found = defaultdict[str, list[str]](list)
    known = bases()
    seen = defaultdict[tuple[int, str], int](int)
    for number, (kind, text) in enumerate(known):
        assert verdict(kind, text) == ACCEPTED
        for changed in islice(mutants(text, random), MUTANTS // len(known)):
            code = verdict(kind, changed)
            seen[number, code] += 1
            if seen[number, code] <= KEPT and changed != text:  # a few of each verdict are enough to hold readers to
                found[code].append(f"{number} {edit(text, changed)}")
    return {
        "task": IN_ROUNDS.canonical_bytes().decode(), "bases": [{"kind": kind, "text": text} for kind, text in known],
        "mutants": {code: list(dict.fromkeys(found[code])) for code in sorted(found)}, "weeks": weeks(),
    }  # fmt: skip


def seeded() -> Campaign:
    """A campaign whose weeks carry what earlier weeks found, as those of Canopy do."""
    return Campaign(template_of(replace(IDS, mechanism="canopy", settings=(("bits", "8"),))), 0, DAY, 3, 2)


def weeks() -> list[Vector]:
    """Weekly tasks and their campaigns, both spoilt: what a device answers, and what it has paid by then."""
    random = Random(SEED + 1)  # noqa: S311
    cases: list[Vector] = []
    for campaign in (GOOD[0], seeded(), GOOD[2]):
        of = week(campaign, 0, 1)
        of = replace(of, settings=tuple(sorted({**dict(of.settings), "seeds": "12 34", "hash_key": "k"}.items())))
        whole, asked = campaign.canonical_bytes().decode(), of.canonical_bytes().decode()
        kept = defaultdict[str, list[list[str]]](list)
        pairs = zip(mutants(asked, random), mutants(whole, random), strict=False)
        for one, two in islice(pairs, WEEKS // 3):
            task, text = random.choice(((asked, two), (one, whole), (one, whole), (asked, whole)))
            if random.random() < 0.3:  # a task that names the changed campaign
                task = task.replace(campaign.digest.hex(), _digest_of(text))
            code, cost = week_verdict(task, text)
            case = [edit(asked, task), edit(whole, text), code, cost]
            if len(kept[code]) < KEPT and case not in kept[code]:
                kept[code].append(case)
        cases.append(
            {"task": asked, "campaign": whole, "cases": [case for code in sorted(kept) for case in kept[code]]}
        )
    return cases


def _digest_of(campaign: str) -> str:
    try:
        return Campaign.from_canonical_bytes(campaign.encode("utf-8", errors="surrogatepass")).digest.hex()
    except DocumentRefused:
        return "0" * 64


def week_verdict(task: str, campaign: str, value: ValueSource | None = None) -> tuple[str, str]:
    """Return what a new device makes of a week, and what it has paid; with a value it answers, too."""
    ledger = Ledger(MemoryLedger(), MemoryCounter())
    device = Device(value or _unread, ScriptedEntropy(stream(400, 1)), ledger)
    code = ACCEPTED
    try:
        of = DeviceTask.from_canonical_bytes(task.encode("utf-8", errors="surrogatepass"))
        asked = Campaign.from_canonical_bytes(campaign.encode("utf-8", errors="surrogatepass"))
        if value is None:
            device.check_allowed(of, asked)
        else:
            device.answer_once(of, asked)
    except (DocumentRefused, NotMyWeek, BudgetExceeded) as refused:
        code = refused.code
    except QuestionRefused:
        code = "question"
    return code, str(ledger.spent)


def _unread() -> None:
    raise AssertionError("a device reads its item only when it answers")


FILES = {"documents.json": documents}
