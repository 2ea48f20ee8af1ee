import json
from dataclasses import replace

import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused
from tests.support.tasks import GROUPS, task

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.device.group_assignment import Enrolment, assigned_group, drawn_group
from treetop.federation.documents import DocumentCode, DocumentRefused
from treetop.federation.task import (
    LAST_SECOND,
    MAX_CYCLES,
    MAX_PARTIES,
    MAX_WEEKS,
    MAX_WEIGHT,
    CampaignWeek,
    Deadlines,
    DeviceTask,
    LeastReports,
    WeightedGroup,
)
from treetop.oracles.protocol import MAX_SLOTS
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group, Role

PARTIES = tuple(map(str, range(MAX_PARTIES)))


def test_a_task_is_read_back_from_its_one_canonical_form() -> None:
    one = task()
    assert DeviceTask.from_canonical_bytes(one.canonical_bytes()) == one


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"}, {"attribute": "another"}, {"budget": Budget("1.5")}, {"oracle": "krr"}, {"k": 4},
        {"lengths": (0, 2, 4, 6, 9)}, {"groups": GROUPS[:3]}, {"max_slots": 100},
    ],
)  # fmt: skip
def test_every_field_changes_the_digest(change: dict[str, object]) -> None:
    assert replace(task(), **change).digest != task().digest  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""}, {"attribute": ""}, {"k": 0}, {"k": True}, {"lengths": (0,)}, {"lengths": (1, 2)},
        {"lengths": (0, 2, 2)}, {"lengths": (0, 300)},
        {"lengths": ()}, {"groups": ()}, {"groups": GROUPS + GROUPS[:1]},
        {"groups": (WeightedGroup(Group(1), 0),)}, {"groups": (WeightedGroup(Group(5), 1),)},
        {"groups": (WeightedGroup(Group(0), 1),)}, {"parties": ("a", "a")}, {"parties": ("",)},
            {"settings": (("b", "1"), ("a", "1"))}, {"deadlines": Deadlines(2, 1, 3)}, {"least": LeastReports(0, 1)},
        {"max_slots": 1}, {"max_slots": 1 << 30},
    ],
)  # fmt: skip
def test_a_task_that_cannot_be_asked_is_no_task(change: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="cannot be asked"):
        replace(task(), **change)  # type: ignore[arg-type]


def test_an_unknown_oracle_is_named() -> None:
    with refused("unknown_name", UnknownName, kind="oracle", found="krrr", nearest="krr"):
        task("krrr")


@pytest.mark.parametrize(
    "broken",
    [
        b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000, task().canonical_bytes() + b" ",
        task().canonical_bytes().replace(b'"k":3', b'"k":3,"extra":1'),
        task().canonical_bytes().replace(b'"k":3', b'"k": 3'),
        task().canonical_bytes().replace(b'"k":3', b'"k":3.0'),
        task().canonical_bytes().replace(b'"epsilon":"1"', b'"epsilon":"1.0"'),
        task().canonical_bytes().replace(b'"estimate"', b'"guess"'),
        json.dumps(json.loads(task().canonical_bytes())).encode(),
    ],
)  # fmt: skip
def test_anything_but_the_canonical_form_is_refused(broken: bytes) -> None:
    with pytest.raises(DocumentRefused):
        DeviceTask.from_canonical_bytes(broken)


def test_what_can_be_written_at_its_largest_can_be_read() -> None:
    groups = tuple(WeightedGroup(Group(level, role), MAX_WEIGHT) for level in range(1, 257) for role in Role)
    largest = replace(
        task(), k=MAX_SLOTS, max_slots=MAX_SLOTS, lengths=tuple(range(257)), groups=groups, parties=PARTIES,
        deadlines=Deadlines(*[LAST_SECOND] * 4), least=LeastReports(MAX_WEIGHT, MAX_WEIGHT),
        campaign=CampaignWeek("f" * 64, MAX_CYCLES - 1, MAX_WEEKS - 1),
    )  # fmt: skip
    assert DeviceTask.from_canonical_bytes(largest.canonical_bytes()) == largest
    with pytest.raises(InvalidInput):
        replace(largest, parties=(*PARTIES, "one more"))


def test_fields_of_a_newer_version_are_named() -> None:
    newer = json.loads(task().canonical_bytes()) | {"colour": "red", "shape\u202e": 1}
    data = json.dumps(newer, sort_keys=True, separators=(",", ":")).encode()
    with refused("document_fields", DocumentRefused, what="fields of task", found="colour, shape\u202e") as refusal:
        DeviceTask.from_canonical_bytes(data)
    assert refusal.value.code == DocumentCode.FIELDS
    assert "\u202e" not in str(refusal.value)


def test_groups_are_drawn_by_weight() -> None:
    entropy, one = FixedEntropy(3), task()
    drawn = [drawn_group(one, entropy).level for _ in range(10_000)]
    assert [round(drawn.count(level) / 1_000) for level in (1, 2, 3, 4)] == [1, 2, 3, 4]


def test_party_and_device_agree_on_an_assigned_group() -> None:
    one = task("krr")
    groups = [assigned_group(one, Enrolment(str(number).encode(), b"beacon")) for number in range(2_000)]
    assert groups == [assigned_group(one, Enrolment(str(number).encode(), b"beacon")) for number in range(2_000)]
    assert [round(groups.count(Group(level)) / 200) for level in (1, 2, 3, 4)] == [1, 2, 3, 4]
    other = [assigned_group(one, Enrolment(str(number).encode(), b"another beacon")) for number in range(2_000)]
    assert other != groups
