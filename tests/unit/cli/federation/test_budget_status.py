"""What an owner reads about budgets: spent, left, when it is given back, and which weeks are her device's own."""

from dataclasses import replace
from fractions import Fraction

from tests.support.campaigns import SetClock, campaign, weekly
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import task

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.cli.federation.device import budget_lines
from treetop.errors import NotMyWeek
from treetop.federation.campaign import DAY
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger


def test_a_new_device_has_spent_nothing() -> None:
    lines = list(budget_lines(Ledger(MemoryLedger(), MemoryCounter())))
    assert lines == ["Nothing was answered yet, nothing was spent."]


def test_an_owner_reads_what_is_left_and_when_it_is_given_back() -> None:
    clock = SetClock()
    ledger = Ledger(MemoryLedger(), MemoryCounter(), clock=clock)
    device = Device(lambda: 77, FixedEntropy(1), ledger)
    device.answer_once(task(epsilon="1.5"))
    clock.time += 2 * DAY
    device.answer_once(replace(task(epsilon="0.5"), name="another"))
    assert list(budget_lines(ledger)) == [
        "Epsilon 2 of 8 spent in all; asked about 'favourite' only.",
        "In the last 84 days epsilon 2 of 4 was spent; a question may cost epsilon 2 now.",
        "Epsilon 1.5 of it is given back on 2024-02-06 at 22:13 UTC.",
        "Epsilon 0.5 of it is given back on 2024-02-08 at 22:13 UTC.",
    ]
    clock.time += 90 * DAY
    assert list(budget_lines(ledger))[1:] == [
        "In the last 84 days epsilon 0 of 4 was spent; a question may cost epsilon 4 now."
    ]


def test_an_owner_reads_which_week_is_her_own() -> None:
    clock, one = SetClock(), campaign("4")
    ledger = Ledger(MemoryLedger(), MemoryCounter(), Caps(lifetime=Fraction(4)), clock)
    device, seen = Device(lambda: 77, FixedEntropy(3), ledger), list[str]()
    for week in range(3):
        clock.time = one.opens(0, week)
        try:
            device.answer_once(weekly(one, 0, week), one)
        except NotMyWeek:
            seen.append(list(budget_lines(ledger))[-1])
    own = ledger.slots[0].slot + 1
    told = f"Campaign 'browsers', cycle 1: this device's own week is {own} of 3, drawn on 2023-11-14; "
    assert set(seen) <= {
        f"{told}it has not been answered. The whole cycle costs epsilon 4.",
        f"{told}it was answered. The whole cycle costs epsilon 4.",
    }
    assert list(budget_lines(ledger)) == [
        "Epsilon 4 of 4 spent in all; asked about 'favourite' only.",
        "The lifetime budget is spent: this device takes up nothing more.",
        f"{told}it was answered. The whole cycle costs epsilon 4.",
    ]
