"""When a week is ordered, and what is asked in it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.federations import order
from tests.support.orders import changed, query_order

from treetop.errors import InvalidInput
from treetop.federation.campaign import DAY, WEEK, Campaign
from treetop.federation.device.ledger import Caps
from treetop.federation.server.campaign_schedule import (
    MissWeek,
    NothingLeft,
    OrderWeek,
    Step,
    WaitUntil,
    WeekDecision,
    campaign_of,
    earlier_weeks,
    first_unpaid,
    next_step,
    week_order,
)
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.earlier_weeks import EarlierWeeks
from treetop.trie.seeds import SEEDS, Seeds

STARTS = 1_800_000_000
NAMES = query_order("drinks", ("north", "south"), k=3, epsilon="4", expected={"north": 100, "south": 50})


def asked(wanted: QueryOrder = NAMES, **changes: Any) -> Campaign:
    return campaign_of(wanted, **{"starts": STARTS, "every": WEEK, "weeks": 3, "cycles": 2, **changes})


@pytest.mark.parametrize(
    ("decided", "now", "stopped", "settled", "expected"),
    [
        (0, STARTS - 1, False, True, WaitUntil(STARTS)),
        (0, STARTS, False, True, OrderWeek()),
        (0, STARTS + WEEK - 1, False, True, OrderWeek()),
        (0, STARTS + WEEK, False, True, MissWeek()),
        (1, STARTS + WEEK - 1, False, True, WaitUntil(STARTS + WEEK)),
        (1, STARTS + WEEK, False, False, WaitUntil(STARTS + WEEK + DAY)),
        (1, STARTS + WEEK + DAY, False, False, OrderWeek()),
        (1, STARTS, False, True, WaitUntil(STARTS + WEEK)),  # the clock was set back: nothing again
        (1, STARTS + 6 * WEEK, False, False, MissWeek()),
        (5, STARTS + 5 * WEEK, False, True, OrderWeek()),
        (6, STARTS + 5 * WEEK, False, True, NothingLeft()),
        (2, STARTS + 2 * WEEK, True, True, NothingLeft()),
    ],
)
def test_the_next_step(decided: int, now: int, stopped: bool, settled: bool, expected: Step) -> None:
    assert next_step(asked(), decided, now, stopped=stopped, settled=settled) == expected


def test_a_short_week_waits_for_half_of_its_length() -> None:
    step = next_step(asked(every=10), 1, STARTS + 10, stopped=False, settled=False)
    assert step == WaitUntil(STARTS + 15)


def test_a_decision_is_read_as_it_was_written() -> None:
    for decision in (WeekDecision(None), WeekDecision(()), WeekDecision(("ab", "cd"))):
        assert WeekDecision.from_bytes(decision.to_bytes()) == decision


def test_every_week_is_one_of_the_campaign_and_no_two_share_a_key() -> None:
    campaign = asked()
    tasks = [
        planned_task(week_order(campaign, NAMES, number, EarlierWeeks(("tea",) * (number % 2)))) for number in range(6)
    ]
    for number, task in enumerate(tasks):
        place = campaign.check_task(task)
        assert (place.cycle, place.week) == divmod(number, 3)
        assert (task.deadlines.opens, task.deadlines.reports) == (STARTS + number * WEEK, STARTS + (number + 1) * WEEK)
    assert len({task.encoding.hash_key for task in tasks}) == 6
    assert len({task.digest for task in tasks}) == 6


def test_of_the_users_expected_one_in_w_answers_in_a_week() -> None:
    assert week_order(asked(), NAMES, 0, EarlierWeeks()).expected == {"north": 34, "south": 17}


def test_names_of_earlier_weeks_stand_before_the_list_that_was_given() -> None:
    known = changed(NAMES, word_list=ItemList(("tea", "rum"), ordered=True, source="drinks.txt"))
    listed = week_order(asked(known), known, 1, EarlierWeeks(("beer", "tea"))).listed
    assert listed is not None
    assert (listed.items, listed.ordered) == (("beer", "tea", "rum"), True)
    assert "earlier weeks and drinks.txt" in listed.source
    assert week_order(asked(known), known, 1, EarlierWeeks()).listed == known.listed
    alone = week_order(asked(), NAMES, 1, EarlierWeeks(("beer",))).listed
    assert alone is not None
    assert alone.items == ("beer",)


def test_only_names_that_were_read_are_carried_on() -> None:
    def answer(*rows: tuple[str, str | None]) -> dict[str, Any]:
        return {"items": [{"item": item, "source": source} for item, source in rows]}

    answers = [
        answer(("milk", "listed"), ("#0f", "unknown"), ("tea", "recovered")),
        answer(("rum", "recovered"), ("tea", "listed")),
        answer(("\ud800", "recovered"), ("x" * 5000, "recovered"), ("17", None)),
    ]  # fmt: skip
    assert earlier_weeks(answers, "") == EarlierWeeks(("milk", "tea", "rum"))
    many = [answer(*((f"{week} {place}", "listed") for place in range(150))) for week in range(3)]
    assert len(earlier_weeks(many, "").names) == SEEDS
    assert earlier_weeks(many, "").names[0] == "0 0"
    assert earlier_weeks([], "1f=0.25,2a").seeds == Seeds((0x1F, 0x2A), (0.25, 0.0))


def test_a_catalogue_stays_as_it_is() -> None:
    """All items are known: there is nothing to learn from earlier weeks, and their places must not change."""
    catalogue = changed(NAMES, catalogue=ItemList(("milk", "tea", "rum")))
    assert week_order(asked(catalogue), catalogue, 1, EarlierWeeks(("beer",))).listed == catalogue.listed


def test_a_trie_counts_the_codes_of_earlier_weeks_again() -> None:
    searching = order("canopy", "one-shot", "ab")
    campaign = asked(searching)
    first, seeded = (
        planned_task(week_order(campaign, searching, 4, earlier))
        for earlier in (EarlierWeeks(("beer",)), EarlierWeeks(("beer",), Seeds((7, 9), (0.5, 0.0))))
    )
    assert "seeds" not in dict(first.settings)
    assert dict(seeded.settings)["seeds"] == "7=0.500000,9"
    assert seeded.groups != first.groups  # most users answer the last level
    for task in (first, seeded):
        assert campaign.check_task(task).week == 1
        assert task.item_list == ""
    hashed = changed(searching, encoding="hashed")
    assert week_order(asked(hashed), hashed, 1, EarlierWeeks((), Seeds((7,), (0.5,)))).query == hashed.query


CAPS = Caps()


@pytest.mark.parametrize(
    ("epsilon", "changes", "expected"),
    [
        ("4", {"weeks": 12, "cycles": 2}, None),
        ("4", {"weeks": 12, "cycles": 3}, (STARTS + 24 * WEEK, "lifetime")),
        ("4", {"weeks": 11, "cycles": 2}, (STARTS + 11 * WEEK, "window")),
        ("2", {"weeks": 6, "cycles": 4}, None),
        ("2", {"weeks": 6, "cycles": 5}, (STARTS + 24 * WEEK, "lifetime")),
        ("2", {"weeks": 5, "cycles": 3}, (STARTS + 10 * WEEK, "window")),
        ("5", {"weeks": 12, "cycles": 1}, (STARTS, "task")),
    ],
)
def test_when_devices_as_they_are_shipped_fall_silent(
    epsilon: str, changes: dict[str, int], expected: tuple[int, str] | None
) -> None:
    assert first_unpaid(asked(changed(NAMES, epsilon=epsilon), **changes), CAPS) == expected


@pytest.mark.parametrize(
    ("wanted", "changes", "told"),
    [
        (order("taps", "rounds", "ab"), {}, "one-shot mode"),
        (NAMES, {"weeks": 1}, "weeks must be a whole number from 2"),
        (NAMES, {"cycles": 0}, "cycles must be"),
        (NAMES, {"every": 0}, "every must be"),
        (replace(NAMES, name="x" * 200), {}, "name"),
    ],
)
def test_what_no_device_would_follow_is_refused_at_once(wanted: QueryOrder, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        asked(wanted, **changes)
