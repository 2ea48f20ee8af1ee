import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.campaigns import STARTS, campaign, weekly
from tests.support.tasks import GROUPS, task

from treetop.errors import InvalidInput, PeerViolation
from treetop.federation.campaign import WEEK, Campaign, template_of
from treetop.federation.documents import DocumentRefused
from treetop.federation.task import LAST_SECOND, CampaignWeek, Deadlines, DeviceTask, Encoding, WeightedGroup
from treetop.privacy.budget import Budget


def test_a_campaign_is_read_back_from_its_one_canonical_form() -> None:
    one = campaign()
    assert Campaign.from_canonical_bytes(one.canonical_bytes()) == one
    assert (one.name, one.attribute, one.budget) == ("browsers", one.template.attribute, one.template.budget)


@pytest.mark.parametrize(
    "change", [{"starts": STARTS + 1}, {"every": 60}, {"weeks": 4}, {"cycles": 1}, {"template": template_of(task())}]
)
def test_every_field_changes_the_digest(change: dict[str, Any]) -> None:
    assert campaign(**change).digest != campaign().digest


def test_a_campaign_and_a_task_never_share_a_digest() -> None:
    assert campaign().digest != campaign().template.digest


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"weeks": 1}, "weeks must be a whole number from 2 to 1,024, found 1"),
        ({"weeks": True}, "weeks must be a whole number from 2 to 1,024, found True"),
        ({"weeks": 1025}, "found 1025"), ({"cycles": 0}, "cycles must be a whole number from 1 to 1,024, found 0"),
        ({"every": 0}, "every must be"), ({"every": 1.5}, "found 1.5"), ({"starts": -1}, "starts must be"),
        ({"starts": LAST_SECOND}, "the last week must end"), ({"every": LAST_SECOND}, "the last week must end"),
        ({"template": replace(task(), item_list="0" * 64)}, "template must be without"),
        ({"template": replace(template_of(task()), campaign=CampaignWeek("0" * 64, 0, 0))}, "template must be without"),
    ],
)  # fmt: skip
def test_a_campaign_that_cannot_be_asked_is_none(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match="a campaign cannot be asked") as refused:
        campaign(**change)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "broken",
    [
        b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000, campaign().canonical_bytes() + b" ",
        campaign().canonical_bytes().replace(b'"weeks":3', b'"weeks":3,"zest":1'),
        campaign().canonical_bytes().replace(b'"weeks":3', b'"weeks":"3"'),
        campaign().canonical_bytes().replace(b'"weeks":3', b'"weeks":3.0'),
        campaign().canonical_bytes().replace(b'"cycles":2,', b""),
        campaign().canonical_bytes().replace(b'"epsilon":"1"', b'"epsilon":"1.0"'),
        json.dumps(json.loads(campaign().canonical_bytes())).encode(),
    ],
)  # fmt: skip
def test_anything_but_the_canonical_form_is_refused(broken: bytes) -> None:
    with pytest.raises(DocumentRefused):
        Campaign.from_canonical_bytes(broken)


@pytest.mark.parametrize(
    "place",
    [
        CampaignWeek("", 0, 0), CampaignWeek("0" * 63, 0, 0), CampaignWeek("G" * 64, 0, 0),
        CampaignWeek(3, 0, 0),  # type: ignore[arg-type]
        CampaignWeek("0" * 64, -1, 0), CampaignWeek("0" * 64, 0, 1024), CampaignWeek("0" * 64, 1024, 0),
        CampaignWeek("0" * 64, True, 0),
    ],
)  # fmt: skip
def test_a_week_that_cannot_be_is_no_task(place: CampaignWeek) -> None:
    with pytest.raises(InvalidInput, match="campaign must be 64 hexadecimal digits"):
        replace(task(), campaign=place)


def test_a_task_says_its_week_only_where_it_has_one() -> None:
    assert b"campaign" not in task().canonical_bytes()
    one = weekly(campaign(), 1, 2)
    assert DeviceTask.from_canonical_bytes(one.canonical_bytes()) == one
    assert one.digest != replace(one, campaign=None).digest


def test_weeks_follow_each_other_without_a_gap() -> None:
    one = campaign()
    places = [(cycle, week) for cycle in range(2) for week in range(3)]
    assert [one.opens(*place) for place in places] == [STARTS + WEEK * number for number in range(6)]
    for number, place in enumerate(places):
        assert one.place_at(one.opens(*place)) == one.place_at(one.ends(*place) - 1) == place
        assert one.task_name(*place) == f"browsers week {number + 1}"
    assert one.place_at(STARTS - 1) is None
    assert one.place_at(one.over) is None
    assert one.ends(1, 2) == one.over


@pytest.mark.parametrize("place", [(2, 0), (0, 3), (-1, 0), (0, -1)])
def test_a_campaign_has_no_other_weeks(place: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match="the campaign has cycles 0 to 1 of weeks 0 to 2"):
        campaign().week(*place)


def test_a_week_may_change_what_earlier_answers_change() -> None:
    one = campaign()
    groups = tuple(WeightedGroup(entry.group, 7) for entry in GROUPS[1:])
    seeded = weekly(one, 1, 1, item_list="a" * 64, groups=groups, encoding=Encoding("ids", "key of the week"))
    assert one.check_task(seeded) == CampaignWeek(one.digest.hex(), 1, 1)
    keyed = replace(seeded, settings=tuple(sorted((*seeded.settings, ("hash_key", "key of the week")))))
    assert one.check_task(keyed).week == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"campaign": None}, "campaign of the task: expected"),
        ({"campaign": CampaignWeek("0" * 64, 0, 0)}, "campaign of the task: expected"),
        ({"campaign": CampaignWeek(campaign().digest.hex(), 2, 0)}, "week of the task: expected 3 weeks in each of 2"),
        ({"campaign": CampaignWeek(campaign().digest.hex(), 0, 3)}, "week of the task"),
        ({"campaign": CampaignWeek(campaign().digest.hex(), 0, 1)}, "name of the task: expected 'browsers week 2'"),
        ({"name": "browsers"}, "name of the task: expected 'browsers week 1'"),
        ({"deadlines": Deadlines()}, "time of the task: expected within its week"),
        ({"deadlines": Deadlines(STARTS, STARTS, STARTS + WEEK + 1)}, "time of the task"),
        ({"deadlines": Deadlines(STARTS - 1, STARTS, STARTS)}, "time of the task"),
        ({"deadlines": Deadlines(STARTS, STARTS, STARTS, 60)}, "found another deadlines"),
        ({"budget": Budget("2")}, "found another budget"), ({"k": 4}, "found another k"),
        ({"attribute": "another"}, "found another attribute"), ({"oracle": "krr"}, "found another oracle"),
        ({"parties": ("x",), "k": 4}, "found another k, parties"), ({"encoding": Encoding("hash")}, "another encoding"),
    ],
)  # fmt: skip
def test_a_task_that_is_no_week_of_the_campaign_is_refused(change: dict[str, object], told: str) -> None:
    one = campaign()
    assert one.check_task(weekly(one)).week == 0
    with pytest.raises(PeerViolation) as refused:
        one.check_task(replace(weekly(one), **change))  # type: ignore[arg-type]
    assert told in str(refused.value)


def test_a_week_has_no_groups_of_its_own() -> None:
    one = campaign()
    few = replace(one, template=replace(one.template, groups=one.template.groups[:2]))
    with pytest.raises(PeerViolation, match="groups of the task"):
        few.check_task(weekly(few, groups=GROUPS))
