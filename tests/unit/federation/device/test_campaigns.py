"""What a device makes of a campaign: one week of each cycle, drawn once, written down before a value is read."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.support.campaigns import STARTS, SetClock, campaign, weekly
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import ENROLMENT, PUBLISHED, question, task, third_level

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.errors import BudgetExceeded, NotMyWeek, PeerViolation, PromiseBroken, QuestionRefused
from treetop.federation.campaign import DAY, WEEK, Campaign, template_of
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.task import DeviceTask


class World:
    """A device that is started again for every question, with a clock that tests set."""

    def __init__(self, caps: Caps | None = None, seed: int = 1) -> None:
        self.store, self.counter, self.clock = MemoryLedger(), MemoryCounter(), SetClock()
        self.caps, self.entropy = caps, FixedEntropy(seed)
        self.read: list[bytes | None] = []

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store, self.counter, self.caps, self.clock)

    def value(self) -> int:
        self.read.append(self.store.ledger)
        return 77

    def asked(self, of: DeviceTask, about: Campaign | None = None) -> bytes | None:
        """Return the report, or None in a week that is not the device's own."""
        try:
            return Device(self.value, self.entropy, self.ledger).answer_once(of, about)
        except NotMyWeek:
            return None

    def cycle(self, about: Campaign, cycle: int = 0, weeks: range | None = None) -> dict[int, bytes]:
        """Return the reports of a cycle by their weeks."""
        reports = {}
        for week in range(about.weeks) if weeks is None else weeks:
            self.clock.time = about.opens(cycle, week)
            if (report := self.asked(weekly(about, cycle, week), about)) is not None:
                reports[week] = report
        return reports


def test_a_device_answers_in_one_week_of_a_cycle() -> None:
    one, weeks = campaign(), Counter[int]()
    for seed in range(300):
        world = World(seed=seed)
        ((week, report),) = world.cycle(one).items()
        slot = world.ledger.slot(one.digest, 0)
        assert slot is not None
        assert (slot.slot, slot.weeks, slot.epsilon, slot.time) == (week, 3, Fraction(1), STARTS)
        assert world.cycle(one) == {week: report}
        assert world.ledger.spent == 1
        assert len(world.read) == 1
        weeks[week] += 1
    assert all(70 <= weeks[week] <= 130 for week in range(3))


def test_every_cycle_has_a_week_of_its_own() -> None:
    one, pairs = campaign(), set()
    for seed in range(60):
        world = World(seed=seed)
        (first,), (second,) = world.cycle(one, 0), world.cycle(one, 1)
        assert world.ledger.spent == 2
        pairs.add((first, second))
    assert len(pairs) == 9


def test_the_week_and_its_cost_are_written_before_a_value_is_read() -> None:
    world, one = World(), campaign()
    world.cycle(one)
    ((found,),) = [json.loads((content or b"").partition(b"\n")[0])["slots"] for content in world.read]
    assert found["campaign"] == one.digest.hex()
    assert found["epsilon"] == "1"


def test_a_missed_week_is_lost_and_never_drawn_again() -> None:
    one = campaign()
    for seed in range(30):
        world = World(seed=seed)
        world.asked(weekly(one), one)
        slot = world.ledger.slot(one.digest, 0)
        assert slot is not None
        later = world.cycle(one, weeks=range(slot.slot + 1, 3))
        assert later == {}
        assert world.ledger.slot(one.digest, 0) == slot
        assert world.ledger.spent == 1


def test_a_device_that_comes_late_draws_among_all_weeks() -> None:
    """Drawn among the weeks that are left, a report would say when a device first came."""
    one, answered = campaign(), 0
    for seed in range(300):
        world = World(seed=seed)
        answered += len(world.cycle(one, weeks=range(2, 3)))
    assert 70 <= answered <= 130


def test_a_second_task_of_the_own_week_is_not_answered() -> None:
    world, one = World(), campaign()
    (week,) = world.cycle(one)
    world.clock.time = one.opens(0, week)
    with pytest.raises(PromiseBroken, match="this cycle was answered already"):
        world.asked(weekly(one, 0, week, item_list="a" * 64), one)
    assert len(world.read) == 1


def test_rounds_are_answered_in_the_own_week_too() -> None:
    one = campaign(template=template_of(third_level("krr")))
    for week in range(3):
        of = weekly(one, 0, week)
        world = World(seed=4)
        try:
            device = Device(world.value, world.entropy, world.ledger)
            report = device.answer(of, ENROLMENT, question(of), PUBLISHED, one)
        except NotMyWeek:
            continue
        entry = world.ledger.entry(of.digest)
        assert entry is not None
        assert (entry.sent, entry.cycle) == (report, (one.digest, 0))
        return
    raise AssertionError("no week was answered")


@pytest.mark.parametrize("change", [{"epsilon": "2"}, {"weeks": 4}])
def test_a_campaign_cannot_change_its_terms_under_its_name(change: dict[str, Any]) -> None:
    world, one = World(), campaign()
    world.asked(weekly(one), one)
    other = campaign(name=" BROWSERS", **change)
    before = world.store.ledger
    with pytest.raises(QuestionRefused, match="campaign .*expected epsilon 1 in 3 weeks, as it was known here"):
        world.asked(weekly(other), other)
    assert world.store.ledger == before
    renamed = replace(other, template=replace(other.template, name="another"))
    world.asked(weekly(renamed), renamed)
    assert len(world.ledger.slots) == 2


def test_campaigns_and_single_tasks_share_the_caps() -> None:
    world, one, two = World(), campaign("4"), campaign("4", "other")
    world.asked(weekly(one), one)
    before = world.store.ledger
    for of, about in ((weekly(two), two), (task(epsilon="0.5"), None)):
        with pytest.raises(BudgetExceeded, match="window cap is epsilon 4") as refused:
            world.asked(of, about)
        assert refused.value.code == "budget_window"
    assert world.store.ledger == before
    world.clock.time += 84 * DAY
    world.asked(replace(task(epsilon="4"), name="another"))
    world.clock.time += 84 * DAY
    with pytest.raises(BudgetExceeded, match="lifetime cap is epsilon 8") as refused:
        world.asked(weekly(one, 1), one)
    assert refused.value.code == "budget_lifetime"
    dear = campaign("4.5")
    with pytest.raises(BudgetExceeded, match="task cap is epsilon 4"):
        World().asked(weekly(dear), dear)


def test_a_cycle_as_long_as_the_window_is_renewed_with_it() -> None:
    """Drawn a while after the cycle began, the week of the next one is drawn as long after it began."""
    one = campaign("4", weeks=12, cycles=3)
    assert one.every * one.weeks == 84 * DAY
    world = World()
    world.clock.time = STARTS + 3 * DAY
    world.asked(weekly(one), one)
    world.clock.time = one.opens(1, 0)
    with pytest.raises(BudgetExceeded, match="window"):
        world.asked(weekly(one, 1), one)
    world.clock.time += 3 * DAY
    world.asked(weekly(one, 1), one)
    assert world.ledger.spent == 8
    world.clock.time = one.opens(2, 6)
    with pytest.raises(BudgetExceeded, match="lifetime"):
        world.asked(weekly(one, 2, 6), one)


def test_a_week_that_is_drawn_is_answered_though_the_caps_are_full() -> None:
    world, one = World(Caps(Fraction(4), Fraction(4))), campaign("4")
    assert len(world.cycle(one)) == 1


def test_another_attribute_is_refused_before_a_week_is_drawn() -> None:
    world, one = World(Caps(attribute="weight")), campaign()
    with pytest.raises(QuestionRefused, match="attribute of the task"):
        world.asked(weekly(one), one)
    assert world.store.ledger is None
    world = World()
    world.asked(weekly(one), one)
    with pytest.raises(QuestionRefused, match="attribute of the task: expected 'favourite', found 'weight'"):
        world.asked(replace(task(), attribute="weight"))


def test_the_campaign_itself_is_needed_and_checked() -> None:
    world, one = World(), campaign()
    with pytest.raises(QuestionRefused, match="campaign of the task"):
        world.asked(weekly(one))
    with pytest.raises(PeerViolation, match="campaign of the task"):
        world.asked(weekly(one), campaign(name="other"))
    with pytest.raises(PeerViolation, match="found another budget"):
        world.asked(replace(weekly(one), budget=campaign("2").budget), one)
    assert world.store.ledger is None


def test_a_cycle_pays_for_its_own_task_only() -> None:
    world, one = World(), campaign()
    world.asked(weekly(one), one)
    ledger = world.ledger
    slot = ledger.slots[0]
    with pytest.raises(PromiseBroken, match="has its week already"):
        ledger.take_slot(slot)
    report = World(seed=2)
    report.cycle(one)
    made = report.ledger.entries[0]
    for cycle, epsilon in (((one.digest, 1), made.epsilon), ((one.digest, 0), made.epsilon + 1)):
        with pytest.raises(PromiseBroken, match="no week that pays"):
            ledger.reserve(replace(made, task=b"x" * 32, cycle=cycle, epsilon=epsilon))


def test_a_ledger_with_weeks_is_read_back() -> None:
    world, one = World(), campaign()
    world.cycle(one)
    world.cycle(one, 1)
    again = world.ledger
    assert [(slot.cycle, slot.time) for slot in again.slots] == [(0, STARTS), (1, STARTS + 3 * WEEK)]
    assert [entry.cycle for entry in again.entries] == [(one.digest, 0), (one.digest, 1)]
    assert again.attribute == "favourite"
    assert again.spent == 2
