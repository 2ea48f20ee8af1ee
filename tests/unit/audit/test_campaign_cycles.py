"""Whole cycles of a campaign: the shipped device passes, and every way to break the promise is caught by its check."""

import os
import time
from collections.abc import Callable
from fractions import Fraction
from math import inf
from threading import Event, Thread
from typing import Any

import pytest

from treetop.audit.campaign_cycles import (
    campaign_of,
    caps_check,
    cycle_law,
    cycle_law_check,
    cycle_loss_check,
    one_week_check,
    week_of,
    window_check,
    worst_odds,
)
from treetop.audit.checks import Check
from treetop.audit.chosen_inputs import FIRST, SECOND
from treetop.audit.shipped.campaign_checks import campaign_device_checks
from treetop.errors import QuestionRefused
from treetop.federation.campaign import Campaign
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Cycle, CycleSlot, Ledger, LedgerEntry
from treetop.federation.task import DeviceTask
from treetop.privacy.budget import Budget


class SlotFromValue(Device):
    """Draws its week by what it holds."""

    def _drawn_slot(self, campaign: Campaign, cycle: int) -> CycleSlot:
        week = 0 if self.holds_the_first() else campaign.weeks - 1
        epsilon, attribute = campaign.budget.amount, campaign.attribute
        slot = CycleSlot(campaign.digest, cycle, week, campaign.weeks, epsilon, attribute, campaign.name)
        return self._ledger.take_slot(slot)

    def holds_the_first(self) -> bool:
        return self._value() == FIRST


class SlotFromItem(SlotFromValue):
    """The same on a shipped device, whose items have no codes yet when a week is drawn."""

    def holds_the_first(self) -> bool:
        own: Any = self._value
        return bool(own.__self__.items()[0] == "7")


class SlotDrawnAgain(Device):
    """Draws another week when the first one was missed."""

    def check_allowed(self, task: DeviceTask, campaign: Campaign | None = None) -> None:
        place = task.campaign
        if campaign is not None and place is not None:
            drawn = self._ledger.slot(campaign.digest, place.cycle)
            missed = drawn is not None and drawn.slot < place.week
            if missed and not any(entry.cycle == (campaign.digest, place.cycle) for entry in self._ledger.entries):
                self._ledger._slots.pop((campaign.digest, place.cycle))
        super().check_allowed(task, campaign)


class AnswersEveryWeek(Device):
    """Answers whatever the week is."""

    def check_allowed(self, task: DeviceTask, campaign: Campaign | None = None) -> None:
        try:
            super().check_allowed(task, campaign)
        except QuestionRefused:
            self._ledger._entries.clear()


class AnswersEveryTaskOfItsWeek(Ledger):
    """Believes that every task of the drawn week was paid for."""

    def _check_cycle(self, cycle: Cycle, epsilon: Fraction) -> None:
        """Refuse none."""


class CampaignsAreFree(Ledger):
    """Compares single tasks with its caps, and no cycle."""

    def check_allowed(self, attribute: str, epsilon: Fraction) -> None:
        """Allow any."""


class NoWindowForCampaigns(Ledger):
    """Looks at the caps for a task and a lifetime only."""

    @property
    def in_window(self) -> list[LedgerEntry | CycleSlot]:
        return []


class WindowByTheClock(Ledger):
    """Believes a clock that was set back."""

    @property
    def now(self) -> int:
        return 0 if self._clock is None else self._clock.now()


BROKEN: dict[str, tuple[str, Callable[[], Check], Callable[[], Check]]] = {
    "a slot from the value": ("exact_campaign", lambda: cycle_law_check(SlotFromValue), cycle_law_check),
    "a report in every week": ("exact_campaign", lambda: cycle_law_check(AnswersEveryWeek), cycle_law_check),
    "a slot drawn again": (
        "campaign_one_week", lambda: one_week_check(30, SlotDrawnAgain), lambda: one_week_check(30)
    ),
    "a second task of one week": (
        "campaign_one_week", lambda: one_week_check(30, ledger=AnswersEveryTaskOfItsWeek), lambda: one_week_check(30)
    ),
    "campaigns without caps": ("campaign_caps", lambda: caps_check(ledger=CampaignsAreFree), caps_check),
    "campaigns without a window": ("campaign_caps", lambda: caps_check(ledger=NoWindowForCampaigns), caps_check),
    "a window by the clock": ("campaign_window", lambda: window_check(WindowByTheClock), window_check),
    "a slot from the value, measured": (
        "longitudinal_campaign", lambda: cycle_loss_check(300, SlotFromValue), lambda: cycle_loss_check(300)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_mutant_is_caught_by_its_check_and_the_shipped_code_passes_it(name: str) -> None:
    caught_by, broken, honest = BROKEN[name]
    found, good = broken(), honest()
    assert found.name == good.name == caught_by
    assert good.passed
    assert not found.passed


def test_the_excess_is_what_theory_says() -> None:
    assert cycle_law_check(SlotFromValue).measured == inf
    assert cycle_law_check(AnswersEveryWeek).measured == pytest.approx(4, abs=1e-9)  # two reports at 4 instead of one
    assert worst_odds(campaign_of(Budget("1"))).tight(Budget("1"))


def test_the_law_of_a_cycle_adds_up_and_shows_the_week() -> None:
    campaign = campaign_of(Budget("1"))
    law = cycle_law(campaign, (FIRST, SECOND << 1))
    assert sum(law.values()) == 1
    first = sum(chance for seen, chance in law.items() if isinstance(seen, tuple) and seen[1] == "not_my_week")
    assert first * 2 == 1
    assert len(law) == 2 * len(week_of(campaign, 0, 0).values)


@pytest.mark.parametrize(
    ("mutant", "caught_by"),
    [(SlotFromItem, "device_campaign_alike"), (AnswersEveryWeek, "device_campaign_one_report")],
)
def test_the_shipped_device_is_driven_through_a_cycle(
    mutant: type[Device], caught_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [check for check in campaign_device_checks(["olh", "krr"], 1) if not check.passed] == []
    monkeypatch.setattr("treetop.services.device.single_device.Device", mutant)
    found = {check.name: check.passed for check in campaign_device_checks(["olh"], 1)}
    assert not found[caught_by]


def test_other_threads_of_the_process_are_not_taken_for_the_device() -> None:
    """A service that another part of the process has left running sleeps and reads random bytes, too."""
    over, turns = Event(), 0

    def sleeps() -> None:
        nonlocal turns
        while not over.is_set():
            time.sleep(0.001)
            os.urandom(8)
            turns += 1

    thread = Thread(target=sleeps)
    thread.start()
    try:
        assert [check for check in campaign_device_checks(["olh"], 1) if not check.passed] == []
    finally:
        over.set()
        thread.join()
    assert turns > 10
