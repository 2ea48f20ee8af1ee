"""A device believes only what a pinned key signed, about its own task and party, in time: T2, T5, T8."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.fake_party import BEACON, KEY, PINNED
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import CHILDREN, PUBLISHED, in_one_group, new_ledger

from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.errors import PeerViolation, PromiseBroken, QuestionRefused
from treetop.federation.device.device import Device
from treetop.federation.device.trusted_task import LEEWAY, TrustedTask
from treetop.federation.documents import DocumentCode, DocumentRefused
from treetop.federation.task import Deadlines, DeviceTask
from treetop.federation.wire.signed_documents import (
    Beacon,
    Kind,
    Publication,
    PublishedList,
    Question,
    signed,
    signed_task,
)
from treetop.trie.user_groups import Group, Role

PARTIES = ("south", "north")
TASK = replace(in_one_group("krr", Group(3)), parties=PARTIES, deadlines=Deadlines(1_000, 2_000, 3_000))
MEMBER = TrustedTask(TASK, "north", PINNED)
SIGNED_BEACON = Beacon(TASK.digest, "north", 5, bytes(32), BEACON)
LISTED = PublishedList("north", Question(TASK.digest, Group(3), 6, CHILDREN), PUBLISHED)


def document(kind: Kind, content: bytes) -> bytes:
    return signed(kind, content, KEY)


def test_a_signed_task_of_the_own_party_is_believed() -> None:
    assert TrustedTask.of(signed_task(TASK, KEY), TASK.digest, "north", PINNED) == MEMBER


def flipped_fields() -> dict[str, Any]:
    """Every field of the task's canonical form, with something else in it."""
    content = json.loads(TASK.canonical_bytes())
    other: dict[str, Any] = {
        "attribute": "weight", "deadlines": {**content["deadlines"], "reports": 9_999}, "encoding": {"name": "words"},
        "epsilon": "4", "groups": [[1, "estimate", 1]], "k": 4, "least": {"estimate": 1, "validation": 1},
        "lengths": [0, 8], "mechanism": "canopy", "most_slots": 3, "name": "roots", "oracle": "oue",
        "parties": ["north"], "settings": {"levels": "3"}, "thresholds": {"keep": "0"},
    }  # fmt: skip
    assert set(other) == set(content)
    return other


@pytest.mark.parametrize("field", flipped_fields())
def test_a_task_with_any_field_changed_is_refused(field: str) -> None:
    """T8: under the old signature it is not signed; signed anew it is another task than was asked for."""
    parts = json.loads(signed_task(TASK, KEY))
    content = json.dumps(
        {**json.loads(TASK.canonical_bytes()), field: flipped_fields()[field]}, sort_keys=True, separators=(",", ":")
    )
    forged = json.dumps({**parts, "content": content}, sort_keys=True, separators=(",", ":")).encode()
    for other in (forged, document("task", content.encode())):
        with pytest.raises(PeerViolation):
            TrustedTask.of(other, TASK.digest, "north", PINNED)


def test_a_task_of_another_server_or_party_is_refused() -> None:
    stranger = SigningKey(b"s" * 32)
    with pytest.raises(PeerViolation, match="pinned key"):
        TrustedTask.of(signed_task(TASK, stranger), TASK.digest, "north", PINNED)
    assert TrustedTask.of(signed_task(TASK, stranger), TASK.digest, "north", PinnedKeys([KEY.public, stranger.public]))
    with pytest.raises(QuestionRefused, match="'west' among them"):
        TrustedTask.of(signed_task(TASK, KEY), TASK.digest, "west", PINNED)
    with pytest.raises(QuestionRefused, match="task"):
        TrustedTask.of(signed_task(TASK, KEY), bytes(32), "north", PINNED)


def test_a_document_of_another_kind_is_refused() -> None:
    with pytest.raises(PeerViolation, match="kind"):
        TrustedTask.of(document("list", TASK.canonical_bytes()), TASK.digest, "north", PINNED)
    with pytest.raises(PeerViolation, match="kind"):
        MEMBER.beacon(document("list", SIGNED_BEACON.to_bytes()))


@pytest.mark.parametrize(("now", "taken"), [
    (1_000 - LEEWAY - 1, False), (1_000 - LEEWAY, True), (2_500, True), (3_000 + LEEWAY, True),
    (3_000 + LEEWAY + 1, False),
])  # fmt: skip
def test_only_a_task_in_time_is_answered(now: int, taken: bool) -> None:
    if taken:
        MEMBER.check_time(now)
    else:
        with pytest.raises(QuestionRefused, match="time"):
            MEMBER.check_time(now)


def test_enrolment_ends_before_reports_do() -> None:
    MEMBER.check_enrolment_time(2_000 + LEEWAY)
    with pytest.raises(QuestionRefused, match="enrolment"):
        MEMBER.check_enrolment_time(2_001 + LEEWAY)


@pytest.mark.parametrize("change", [
    {"task": bytes(32)}, {"party": "south"}, {"beacon": b"short"}, {"beacon": b""},
])  # fmt: skip
def test_a_beacon_for_others_is_refused(change: dict[str, Any]) -> None:
    assert MEMBER.beacon(document("beacon", SIGNED_BEACON.to_bytes())) == SIGNED_BEACON
    with pytest.raises(QuestionRefused, match="beacon"):
        MEMBER.beacon(document("beacon", replace(SIGNED_BEACON, **change).to_bytes()))


@pytest.mark.parametrize("listed", [
    replace(LISTED, party="south"),
    replace(LISTED, question=replace(LISTED.question, task=bytes(32))),
    replace(LISTED, question=replace(LISTED.question, group=Group(2))),
    replace(LISTED, question=replace(LISTED.question, group=Group(3, Role.VALIDATE_FREQUENT))),
])  # fmt: skip
def test_a_list_for_others_is_refused(listed: PublishedList) -> None:
    assert MEMBER.listed(document("list", LISTED.to_bytes(TASK)), Group(3)) == LISTED
    with pytest.raises(QuestionRefused, match="list"):
        MEMBER.listed(document("list", listed.to_bytes(TASK)), Group(3))


def test_a_list_with_thresholds_of_another_epsilon_is_refused() -> None:
    generous = replace(TASK, budget=replace(TASK.budget, text="4"))
    content = LISTED.to_bytes(generous)
    with pytest.raises(DocumentRefused) as refused:
        MEMBER.listed(document("list", content), Group(3))
    assert refused.value.code == DocumentCode.MEANING


@pytest.mark.parametrize("cut", [0, 1, 50, -1])
def test_half_a_document_is_refused(cut: int) -> None:
    for whole in (signed_task(TASK, KEY), document("beacon", SIGNED_BEACON.to_bytes())):
        with pytest.raises(PeerViolation):
            MEMBER.beacon(whole[:cut])


def test_the_second_of_two_signed_lists_gets_nothing() -> None:
    """T2: server and party sign and show another list for the same level; the ledger has the first one's digest."""
    enrolment, ledger = MEMBER.enrolment(7, SIGNED_BEACON), new_ledger()
    device = Device(lambda: 77, FixedEntropy(1), ledger)
    other = replace(LISTED.question, prefixes=CHILDREN[1:], pruned=CHILDREN[:1])
    device.answer(TASK, enrolment, LISTED.question, LISTED.published)
    with pytest.raises(PromiseBroken, match="another candidate list"):
        device.answer(TASK, enrolment, other, LISTED.published)


def test_groups_are_what_everybody_computes() -> None:
    first = TrustedTask(
        replace(TASK, groups=in_one_group("krr", Group(3, Role.VALIDATE_FREQUENT)).groups), "south", PINNED
    )
    assert first.group(7, SIGNED_BEACON) == Group(3)
    assert replace(first, party="north").group(7, SIGNED_BEACON) == Group(3, Role.VALIDATE_FREQUENT)


def test_that_a_list_was_allowed_is_remembered_for_that_very_list() -> None:
    """Equal objects are checked again: (1, 2, 3) equals (True, 2, 3), and only one of them may be asked."""
    from treetop.federation.device.list_checks import _check_once, check_question

    task = in_one_group("krr", Group(1))
    question, root = Question(task.digest, Group(1), 2, (0, 1, 2, 3)), Publication(0, (0,))
    _check_once.cache_clear()
    for _ in range(5):
        check_question(task, Group(1), question, root)
    assert _check_once.cache_info()[:2] == (4, 1)
    twin = replace(question, prefixes=(0, True, 2, 3))
    assert twin == question
    mutable: Any = [0, 1, 2, 3]
    for refused in (twin, replace(question, prefixes=mutable), replace(question, pruned=(1,))):
        for _ in range(2):
            with pytest.raises(QuestionRefused):
                check_question(task, Group(1), refused, root)
    for group, published in ((Group(2), root), (Group(1), Publication(0, (0, 0)))):
        with pytest.raises(QuestionRefused):
            check_question(task, group, question, published)
    other: DeviceTask = replace(task, max_slots=3)
    with pytest.raises(QuestionRefused):
        check_question(other, Group(1), question, root)
