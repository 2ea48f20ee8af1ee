"""The vectors of campaigns; `generate.py` writes them.

Campaigns and their weekly tasks, good and bad; ledgers and what is left in them at given times;
devices from their random bytes through the weeks of a cycle; what is told to a party.
"""

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tests.support.campaigns import STARTS, SetClock
from tests.support.tasks import task
from tests.vectors.device_vectors import CATALOGUE, ONE_SHOT, stream
from tests.vectors.set_vectors import SETS

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.key_files import SigningKey
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.encoding.item_codecs import codec_named
from treetop.errors import BudgetExceeded, NotMyWeek, TreetopError
from treetop.federation.campaign import DAY, WEEK, Campaign, template_of
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger
from treetop.federation.task import CampaignWeek, Deadlines, DeviceTask, Encoding
from treetop.federation.wire.signed_documents import signed_campaign
from treetop.federation.wire.uploads import Refusal, TicketKey, encoded_refusals
from treetop.privacy.budget import Budget

Vector = dict[str, Any]
IDS = replace(task("olh", "4", "browsers"), encoding=Encoding("ids"), attribute="browser")
GOOD = (
    Campaign(template_of(IDS), STARTS), Campaign(template_of(replace(ONE_SHOT, parties=("north",))), 0, 1, 2, 1024),
    Campaign(template_of(CATALOGUE), STARTS, DAY, 3, 2), Campaign(template_of(SETS), STARTS, 3600, 1024),
)  # fmt: skip


def week(of: Campaign, cycle: int, number: int, **changes: Any) -> DeviceTask:
    opens, ends = of.opens(cycle, number), of.ends(cycle, number)
    return replace(
        of.template, name=of.task_name(cycle, number), campaign=of.week(cycle, number),
        deadlines=Deadlines(opens, opens, ends, of.template.deadlines.level_seconds), **changes,
    )  # fmt: skip


def campaigns() -> Vector:
    first = GOOD[0]
    whole, key = first.canonical_bytes().decode(), SigningKey(bytes(range(32)))
    bad = [
        "", "{}", "[]", "null", whole + " ", whole.replace(":", ": "), whole.replace('"weeks":12', '"weeks":1'),
        whole.replace('"weeks":12', '"weeks":1025'), whole.replace('"weeks":12', '"weeks":"12"'),
        whole.replace('"weeks":12', '"weeks":12.0'), whole.replace('"weeks":12', '"weeks":12,"zest":1'),
        whole.replace('"cycles":1,', ""), whole.replace('"cycles":1', '"cycles":0'),
        whole.replace('"cycles":1', '"cycles":true'), whole.replace(f'"every":{WEEK}', '"every":0'),
        whole.replace(f'"every":{WEEK}', f'"every":{(1 << 53) - 1}'), whole.replace(f":{STARTS}", ":-1"),
        whole.replace(f":{STARTS}", f":{1 << 53}"), whole.replace('"epsilon":"4"', '"epsilon":"4.0"'),
        whole.replace('"epsilon":"4"', '"epsilon":"17"'), whole.replace('"opens":0', '"opens":1'),
        whole.replace('[1,"estimate",1]', '[1,"estimate",2]'), whole.replace('"hash_key":""', '"hash_key":"a"'),
        whole.replace('"k":3', '"k":3,"item_list":"' + "0" * 64 + '"'),
        whole.replace('"attribute":', '"campaign":{"campaign":"' + "0" * 64 + '","cycle":0,"week":0},"attribute":'),
    ]  # fmt: skip
    assert len(set(bad)) == len(bad)
    assert whole not in bad
    good = [
        {
            "canonical": each.canonical_bytes().decode(), "digest": each.digest.hex(), "name": each.name,
            "attribute": each.attribute, "epsilon": each.budget.text, "every": each.every, "weeks": each.weeks,
            "starts": each.starts, "cycles": each.cycles, "over": each.over,
            "signed": signed_campaign(each, key).decode(),
        }
        for each in GOOD
    ]  # fmt: skip
    times = [STARTS - 1, STARTS, STARTS + WEEK - 1, STARTS + WEEK, first.over - 1, first.over]
    return {
        "signing_key": key.public, "good": good, "bad": bad, "weeks": weekly_tasks(),
        "places": [{"time": time, "place": first.place_at(time)} for time in times],
    }  # fmt: skip


def weekly_tasks() -> Vector:
    """Tasks of the first good campaign, and tasks that are none of it."""
    first = GOOD[0]
    of, opens = week(first, 0, 2), first.opens(0, 2)
    groups = tuple(replace(entry, weight=9) for entry in of.groups[2:])
    changed: list[dict[str, Any]] = [
        {"campaign": None}, {"campaign": CampaignWeek("0" * 64, 0, 2)}, {"name": "browsers"}, {"k": 4},
        {"campaign": CampaignWeek(first.digest.hex(), 1, 2)}, {"campaign": CampaignWeek(first.digest.hex(), 0, 12)},
        {"campaign": CampaignWeek(first.digest.hex(), 0, 3)}, {"budget": Budget("3.5")}, {"oracle": "walsh"},
        {"attribute": "another"}, {"parties": ("north",)}, {"lengths": (0, 2, 4, 6, 9)}, {"max_slots": 100},
        {"encoding": Encoding("text")}, {"encoding": Encoding("ids", normalise="nfc")}, {"settings": (("a", "b"),)},
        {"deadlines": Deadlines(opens - 1, opens, opens + 1)}, {"deadlines": Deadlines(opens, opens, opens + 1, 60)},
        {"deadlines": Deadlines(opens, opens, opens + WEEK + 1)}, {"deadlines": Deadlines()},
    ]  # fmt: skip
    good = [
        of, week(first, 0, 11), replace(of, item_list="a" * 64), replace(of, groups=groups),
        replace(of, encoding=Encoding("ids", "key"), settings=(("hash_key", "key"),)),
        replace(of, settings=(("seeds", "[]"),)), replace(of, settings=(("hash_key", "key"), ("seeds", "[]"))),
        replace(of, deadlines=Deadlines(opens + 5, opens + 6, opens + 7)),
    ]  # fmt: skip
    return {
        "campaign": first.canonical_bytes().decode(),
        "good": [each.canonical_bytes().decode() for each in good],
        "bad": [replace(of, **each).canonical_bytes().decode() for each in changed],
    }


def cycles() -> list[Vector]:
    """Devices through the weeks of two cycles, from their random bytes to their reports, codes and ledgers."""
    asked, cases = Campaign(template_of(IDS), STARTS, 28 * DAY, 3, 3), list[Vector]()
    codec = codec_named("ids", IDS.bits, "")
    code = int(codec.encode(["77"]).codes[0])
    for start in range(6):
        script, store, counter, clock = stream(400, 41 * start + 3), MemoryLedger(), MemoryCounter(), SetClock()
        entropy, steps = ScriptedEntropy(script), list[Vector]()
        for cycle in range(3):
            for number in range(3):
                clock.time = asked.opens(cycle, number)
                of = week(asked, cycle, number)
                seen: str
                try:
                    device = Device(lambda: code, entropy, Ledger(store, counter, clock=clock))
                    seen = device.answer_once(of, asked).hex()
                except (NotMyWeek, BudgetExceeded) as refused:
                    seen = refused.code
                steps.append(
                    {"task": of.canonical_bytes().decode(), "time": clock.time, "seen": seen, "taken": entropy.taken}
                )
        cases.append({
            "campaign": asked.canonical_bytes().decode(), "item": "77", "randomness": script.hex(), "steps": steps,
            "ledger": (store.load() or b"").decode(), "counter": counter.read(),
        })  # fmt: skip
    return cases


def _sealed(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"{text}\n{sha256(text.encode()).hexdigest()}\n"


def ledgers() -> Vector:
    """Ledgers, what counts in them at a time, and ledgers that must be refused."""
    entry = {
        "task": "01" * 32, "attribute": "drink", "group": [2, "estimate"], "domain": "00" * 32, "epsilon": "5/2",
        "sent": "7265706f7274", "delivered": True,
    }  # fmt: skip
    timed = {**entry, "time": STARTS, "cycle": None}
    slot = {
        "campaign": "0a" * 32, "cycle": 0, "slot": 4, "weeks": 12, "epsilon": "3/2", "attribute": "drink",
        "name": "weekly", "time": STARTS + DAY,
    }  # fmt: skip
    answered = {**timed, "task": "02" * 32, "epsilon": "3/2", "time": STARTS + 30 * DAY, "cycle": ["0a" * 32, 0]}
    other = {"version": 1, "counter": 3, "entries": [entry]}
    known = {"version": 2, "counter": 7, "entries": [timed, answered], "slots": [slot]}
    good = [_left(_sealed(known)), _left(_sealed({**known, "entries": [], "slots": [slot]}))]
    bad = [
        _sealed(other), _sealed({**known, "version": 1}), _sealed({**known, "version": 3}),
        _sealed({**other, "version": 2}), _sealed({**known, "slots": [{}]}), _sealed({**known, "entries": [entry]}),
        _sealed({"version": 2}), _sealed(known)[:-2], _sealed(known)[1:], _sealed(known).replace("weekly", "Weekly"),
    ]  # fmt: skip
    return {"good": good, "bad": bad}


def _left(ledger: str) -> Vector:
    """A ledger that is first read a day after its entries were made, and its sums at times from then on."""
    moments: list[Vector] = []
    store, counter, clock = MemoryLedger(ledger.encode()), MemoryCounter(), SetClock(STARTS + 31 * DAY)
    rewritten = Ledger(store, counter, clock=clock)
    for days in (0, 31, 83, 84, 85, 114, 115, 116):
        clock.time = STARTS + days * DAY
        found = Ledger(store, counter, clock=clock)
        moments.append({
            "time": clock.time, "now": found.now, "spent": str(found.spent),
            "in_window": str(sum((charge.epsilon for charge in found.in_window), start=Fraction(0))),
            "refused": {text: _refused(found, text) for text in ("0.5", "2", "4", "4.5")},
        })  # fmt: skip
    return {
        "ledger": ledger, "first_read": STARTS + 31 * DAY, "counter": counter.read(),
        "kept": (store.load() or b"").decode(), "attribute": rewritten.attribute, "moments": moments,
    }  # fmt: skip


def _refused(ledger: Ledger, epsilon: str) -> str | None:
    try:
        ledger.check_allowed("drink", Fraction(epsilon))
    except BudgetExceeded as exceeded:
        return exceeded.code
    except TreetopError as other:
        raise AssertionError(other) from None
    return None


def refusals() -> Vector:
    """What is told to a party: tickets and codes, and bytes that are none."""
    key = TicketKey(bytes(32))
    tickets = [key.write(IDS.digest, serial).to_bytes() for serial in range(4)]
    told = encoded_refusals(zip(tickets, Refusal, strict=True))
    bad = [b"", b"\x01", b"\x02" + told[1:], told[:-1], told + b"\0", told[:-1] + b"\x04"]
    return {
        "good": [{"tickets": [ticket.hex() for ticket in tickets], "codes": list(Refusal), "bytes": told.hex()}],
        "bad": [each.hex() for each in bad],
    }


FILES = {"campaigns.json": campaigns, "cycles.json": cycles, "ledgers.json": ledgers, "refusals.json": refusals}
