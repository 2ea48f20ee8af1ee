"""A whole device, question in and bytes out: the exact law of its answers, and what it does around its report.

The law is enumerated for every value and every random byte, refusals included. Around its report a device must answer
once, in a fixed order, and decide on public grounds only.
"""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.checks import Check, Odds, largest_odds, within
from treetop.audit.chosen_inputs import (
    BITS,
    ENROLMENT,
    Audited,
    CountingEntropy,
    DeviceFactory,
    Exhausted,
    ReplayedEntropy,
    ScriptedEntropy,
    audited,
    fresh_ledger,
    opened_ledger,
    word,
)
from treetop.audit.oracle_laws import edges
from treetop.errors import TreetopError
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.task import DeviceTask, WeightedGroup
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS
from treetop.trie.user_groups import Group

BUDGET = Budget("1")
VALUES = (*range(0, 1 << BITS, 15), None)
"""Codes in every part of the domain, and no code."""
EVERY_ORACLE = ORACLES.values()
SILENCE = "no report"
"""What a party sees of a device that refuses: an output like any other, because it may depend on the value."""


def outcome(factory: DeviceFactory, asked: Audited, value: int | None, script: bytes) -> Hashable:
    """Return what the party sees: the bytes of a report, or that there is none."""
    device = factory(lambda: value, ScriptedEntropy(script), fresh_ledger())
    try:
        return asked.answer(device)
    except TreetopError:
        return SILENCE


def device_law(factory: DeviceFactory, asked: Audited, value: int | None) -> dict[Hashable, Fraction]:
    """Return the probability of everything that a k-RR device may answer."""
    law: dict[Hashable, Fraction] = {}
    for first, end in edges(asked.face):
        # One word stands for its whole interval: the device only compares it with the thresholds.
        outcomes: list[Hashable] = []
        for last in range(256):
            try:
                outcomes.append(outcome(factory, asked, value, word(first) + bytes([last])))
            except Exhausted:
                continue  # rejected and drawn again, so the accepted bytes share its probability
        for seen in outcomes:
            law[seen] = law.get(seen, Fraction(0)) + Fraction(end - first, WORDS * len(outcomes))
    return law


def worst_odds(factory: DeviceFactory, asked: Audited) -> Odds:
    """Return the largest ratio over everything that a party may see, silence included."""
    laws = [device_law(factory, asked, value) for value in asked.values]
    seen = {output for law in laws for output in law}
    return largest_odds([law.get(output, Fraction(0)) for law in laws] for output in seen)


def device_law_check(factory: DeviceFactory = Device) -> Check:
    """Check a whole device, with values inside and outside the candidates."""
    cases = [
        (budget, worst_odds(factory, audited(KRandomizedResponse(), budget, bits)))
        for budget in (Budget("1"), Budget("4"))
        for bits in (1, 2)
    ]
    claim = "a device's answer, or its silence, is never more than e^epsilon likelier for one value than another"
    return within("exact_device", claim, cases)


def retry_check(retries: int, factory: DeviceFactory = Device, oracles: Iterable[Oracle] = EVERY_ORACLE) -> Check:
    """Check that asking again, with a restart of the device each time, gives the same bytes."""
    most = 0
    for oracle in oracles:
        asked = audited(oracle, BUDGET)
        entropy = SystemEntropy()
        store = MemoryLedger()
        counter = MemoryCounter()
        restarts = (factory(lambda: 0, entropy, opened_ledger(store, counter)) for _ in range(retries))
        most = max(most, len({asked.answer(device) for device in restarts}))
    claim = f"asked {retries:,} times, and restarted as often, a device has one answer"
    return Check("same_bytes_on_retry", most == 1, claim, most, 1)


def single_report_check(factory: DeviceFactory = Device) -> Check:
    """Check that a device asked about every level and list of a task answers one of them only."""
    asked = second_level()
    device = factory(lambda: 0, SystemEntropy(), fresh_ledger())
    answers: set[bytes] = set()
    # A second report of one value would spend epsilon twice: whatever a party asks next must get nothing new.
    for question in _questions(asked):
        try:
            answers.add(device.answer(asked.task, ENROLMENT, question, asked.published))
        except TreetopError:
            continue
    claim = "asked about other levels and lists, a device gives no second report"
    return Check("one_report_per_task", len(answers) == 1, claim, len(answers), 1)


def second_level() -> Audited:
    """Return a task whose group answers at level 2, where several lists would be allowed."""
    group = Group(2)
    published = Publication(2, (0, 1, 2))
    lengths = (0, 2, 4, BITS)
    task = DeviceTask("audit", "audit", BUDGET, KRandomizedResponse.name, 10, lengths, (WeightedGroup(group, 1),))
    return Audited(task, Question(task.digest, group, 4, tuple(range(12))), published)


def _questions(asked: Audited) -> Iterable[Question]:
    """Return the whole list, two that were openly pruned, and some that no device may answer."""
    whole = asked.question
    yield whole
    yield replace(whole, prefixes=whole.prefixes[1:], pruned=whole.prefixes[:1])
    yield replace(whole, prefixes=whole.prefixes[:-1], pruned=whole.prefixes[-1:])
    yield replace(whole, prefixes=whole.prefixes[:1])
    yield replace(whole, group=Group(1), length=2, prefixes=(0, 1, 2, 3))
    yield replace(whole, group=Group(3), length=BITS, prefixes=tuple(range(1 << BITS)))


def randomness_check(streams: int, factory: DeviceFactory = Device, oracles: Iterable[Oracle] = EVERY_ORACLE) -> Check:
    """Check that how many random bytes are read, and how many are sent, is the same for every value."""
    differing = 0
    for oracle in oracles:
        for stream in range(streams):
            footprints = {_footprint(factory, audited(oracle, BUDGET), value, stream) for value in VALUES}
            differing += len(footprints) - 1
    claim = "random bytes read and bytes sent do not depend on the value"
    return Check("constant_footprint", differing == 0, claim, differing, 0)


def _footprint(factory: DeviceFactory, asked: Audited, value: int | None, stream: int) -> tuple[int, int]:
    """Return the numbers of random bytes read and of bytes sent: what timing and traffic would show."""
    entropy = CountingEntropy(ReplayedEntropy(stream).read)
    report = asked.answer(factory(lambda: value, entropy, fresh_ledger()))
    return entropy.taken, len(report)


def group_check(streams: int, factory: DeviceFactory = Device) -> Check:
    """Check that the group stands in the ledger when the value is read, and is the same for every value."""
    task = replace(
        audited(OptimizedLocalHashing(), BUDGET).task,
        groups=tuple(WeightedGroup(Group(level), level) for level in (1, 2)),
    )
    differing = 0
    for stream in range(streams):
        groups = {_group_when_read(factory, task, value, stream) for value in VALUES}
        differing += len(groups) - 1 + (None in groups)
    claim = "the level is settled and written down before the value is read"
    return Check("level_before_value", differing == 0, claim, differing, 0)


def _group_when_read(factory: DeviceFactory, task: DeviceTask, value: int | None, stream: int) -> Group | None:
    """Return the group that the ledger holds at the moment when the device reads its value."""
    ledger = fresh_ledger()
    seen = list[Group | None]()

    def read() -> int | None:
        entry = ledger.entry(task.digest)
        seen.append(None if entry is None else entry.group)
        return value

    factory(read, ReplayedEntropy(stream), ledger).answer_once(task)
    return seen[0]


def refusal_check(factory: DeviceFactory = Device) -> Check:
    """Check that a question is refused for every value or for none, and before the value is read."""
    asked = second_level()
    differing = 0
    for question in _questions(asked):
        refusals = {_refusal(factory, replace(asked, question=question), value) for value in VALUES}
        differing += len(refusals) - 1
    claim = "whether a device refuses depends on public data only"
    return Check("refusal_by_public_data", differing == 0, claim, differing, 0)


def _refusal(factory: DeviceFactory, asked: Audited, value: int | None) -> str:
    """Return the refusal in words: two values with different refusals would tell themselves apart."""
    try:
        asked.answer(factory(lambda: value, ReplayedEntropy(1), fresh_ledger()))
    except TreetopError as refused:
        return str(refused)
    return "answered"


def owner_floor_check(factory: DeviceFactory = Device) -> Check:
    """Check that a list is answered only if it has as many slots as the owner wants, and costs nothing otherwise."""
    wrong = 0
    for floor, bits in product((3, 5, 6, 9, 17), range(1, 5)):
        asked = audited(KRandomizedResponse(), BUDGET, bits)
        ledger = Ledger(MemoryLedger(), MemoryCounter(), Caps(least_slots=floor))
        # The floor stops a list about one candidate alone (T1 in the threat model).
        try:
            asked.answer(factory(lambda: 0, SystemEntropy(), ledger))
        except TreetopError:
            wrong += asked.question.slots >= floor or ledger.spent != 0
        else:
            wrong += asked.question.slots < floor
    claim = "lists of 3 to 17 slots: none with fewer than the owner's floor is answered, and nothing is spent on it"
    return Check("owner_floor", wrong == 0, claim, wrong, 0)


def oracle_conduct_checks(oracles: Iterable[Oracle], quick: bool) -> list[Check]:
    """Check devices that are asked through some oracles."""
    return [
        retry_check(1_000 if quick else 10_000, oracles=oracles),
        randomness_check(20 if quick else 200, oracles=oracles),
    ]


def conduct_checks(quick: bool) -> list[Check]:
    """Check the conduct that does not depend on the oracle."""
    return [single_report_check(), group_check(20 if quick else 200), refusal_check(), owner_floor_check()]
