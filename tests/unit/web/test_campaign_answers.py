"""The answer of a campaign's week, with what its server knows of the weeks before."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request
from tests.support.answers import DEPLOYED

from treetop.answers.parts import CampaignPlace, ItemChange, Refusals
from treetop.services.server.schemas import ItemShown, WeekShown
from treetop.web.server_pages import ServerPages
from treetop.web.site import Visit

TASK = "ab" * 32
STORED = replace(DEPLOYED, campaign=CampaignPlace("cd" * 32, 1, 2, Refusals()))


def week(task: str) -> WeekShown:
    rows = [
        ItemShown(
            item=row.item, count=row.count, frequency=row.frequency, stderr=row.stderr, significant=row.significant,
            source=row.source, change="up", score=4.5,
        )
        for row in STORED.items
    ]  # fmt: skip
    return WeekShown(
        number=2, cycle=1, week=2, opens=0, ends=1, state="answered", doing="answered", task=task, compared_with=1,
        items=rows, gone=["rum"],
    )  # fmt: skip


def answer_of(weeks: list[WeekShown], stored: Any = STORED) -> Any:
    context = SimpleNamespace(
        queries=SimpleNamespace(result=lambda _: json.dumps(stored.to_json()).encode()),
        campaigns=SimpleNamespace(state=lambda _: SimpleNamespace(answers=weeks)),
    )
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": [], "path_params": {"task": TASK}})
    return ServerPages(cast(Any, context), cast(Any, None), cast(Any, None)).answer(Visit(request, None, b""))


def test_a_week_says_what_changed() -> None:
    place = answer_of([week("ef" * 32), week(TASK)]).campaign
    assert place.compared_with == 1
    assert place.changes == (
        ItemChange("chai", "up", 4.5), ItemChange("#0f", "up", 4.5), ItemChange("rum", "gone", None)
    )  # fmt: skip


@pytest.mark.parametrize("weeks", [[], [week("ef" * 32)]])
def test_a_week_that_is_not_listed_stays_as_it_is(weeks: list[WeekShown]) -> None:
    assert answer_of(weeks).campaign == STORED.campaign


def test_an_answer_of_no_campaign_stays_as_it_is() -> None:
    alone = replace(DEPLOYED, campaign=None)
    assert answer_of([week(TASK)], alone) == alone
