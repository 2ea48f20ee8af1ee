"""Forty crafted questions that a device must not answer, whatever it holds."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.fake_party import PINNED
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import (
    CHILDREN,
    ENROLMENT,
    PUBLISHED,
    in_one_group,
    new_ledger,
    question,
    task,
    third_level,
    validation,
)

from treetop.errors import QuestionRefused, TreetopError
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps
from treetop.federation.device.list_checks import check_question, smallest_domain
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.oracles.krr.device import keep_threshold
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group, Role

KRR = third_level()
ASKED = question(KRR)
VALIDATING = in_one_group("krr", Group(3, Role.VALIDATE_FREQUENT))
VALIDATION = validation(VALIDATING)
FIRST_LEVEL = in_one_group("krr", Group(1))
SMALL = replace(KRR, max_slots=10)
Faulty = tuple[DeviceTask, Question, Publication]


def asked(**change: Any) -> Faulty:
    return KRR, replace(ASKED, **change), PUBLISHED


def validating(**change: Any) -> Faulty:
    return VALIDATING, replace(VALIDATION, **change), PUBLISHED


def at_level_one(prefixes: tuple[int, ...], pruned: tuple[int, ...] = ()) -> Faulty:
    return FIRST_LEVEL, Question(FIRST_LEVEL.digest, Group(1), 2, prefixes, pruned), Publication(0, (0,))


def published(length: int, *prefixes: Any) -> Faulty:
    return KRR, ASKED, Publication(length, prefixes)


FAULTS: dict[str, Faulty] = {
    "another task": asked(task=bytes(32)),
    "a task of another name": asked(task=third_level(name="vegetables").digest),
    "a task of a higher epsilon": asked(task=third_level(epsilon="2").digest),
    "the level before": asked(group=Group(2)),
    "the level after": asked(group=Group(4)),
    "level 0": asked(group=Group(0)),
    "another role": asked(group=Group(3, Role.VALIDATE_FREQUENT)),
    "the other validation set": validating(group=Group(3, Role.VALIDATE_INFREQUENT)),
    "a shorter length": asked(length=4),
    "a longer length": asked(length=8),
    "a negative length": asked(length=-1),
    "no candidates": asked(prefixes=()),
    "one candidate, the target": asked(prefixes=CHILDREN[:1]),
    "two candidates": asked(prefixes=CHILDREN[:2]),
    "one less than d_min": asked(prefixes=CHILDREN[:7], pruned=CHILDREN[7:]),
    "a missing sibling": asked(prefixes=CHILDREN[1:]),
    "a missing family": asked(prefixes=CHILDREN[4:]),
    "a stranger in place of a sibling": asked(prefixes=(0, *CHILDREN[1:])),
    "a stranger more": asked(prefixes=(0, *CHILDREN)),
    "unsorted": asked(prefixes=CHILDREN[::-1]),
    "two swapped": asked(prefixes=(CHILDREN[1], CHILDREN[0], *CHILDREN[2:])),
    "a duplicate": asked(prefixes=(CHILDREN[0], *CHILDREN)),
    "a duplicate in place of a sibling": asked(prefixes=(CHILDREN[1], *CHILDREN[1:])),
    "a prefix too long": asked(prefixes=(*CHILDREN[:-1], 64)),
    "a negative prefix": asked(prefixes=(-1, *CHILDREN[1:])),
    "a prefix that is a text": asked(prefixes=(*CHILDREN[:-1], "63")),
    "a prefix that is a truth value": asked(prefixes=(True, *CHILDREN[1:])),
    "too many pruned": asked(prefixes=CHILDREN[7:], pruned=CHILDREN[:7]),
    "a pruned one that is asked about": asked(pruned=CHILDREN[:1]),
    "a pruned stranger": asked(pruned=(0,)),
    "a pruned one in place of a sibling": asked(prefixes=CHILDREN[1:], pruned=(0,)),
    "pruned ones unsorted": asked(prefixes=CHILDREN[2:], pruned=(CHILDREN[1], CHILDREN[0])),
    "pruned ones twice": asked(prefixes=CHILDREN[1:], pruned=(CHILDREN[0], CHILDREN[0])),
    "more slots than the task allows": (SMALL, replace(ASKED, task=SMALL.digest), PUBLISHED),
    "level 1 with a candidate missing": at_level_one((0, 1, 2)),
    "level 1 pruned": at_level_one((0, 1, 2), (3,)),
    "other prefixes published": published(4, 1, 5, 9, 14),
    "more prefixes published": published(4, 1, 2, 5, 9, 15),
    "nothing published": published(4),
    "published at another length": published(3, 1, 5, 6, 7),
    "published unsorted": published(4, 15, 9, 5, 1),
    "published twice": published(4, 1, 1, 5, 9, 15),
    "published too long": published(4, 1, 5, 9, 16),
    "a validation list of one": validating(prefixes=(4,)),
    "a validation list of more than 2k": validating(prefixes=(4, 5, 6, 7, 20, 21, 22)),
    "a validation list of strangers": validating(prefixes=(0, 1, 2, 3, 8, 9)),
    "a validation list with one stranger": validating(prefixes=(0, 4, 5, 20, 21, 63)),
    "a validation list with pruned ones": validating(pruned=(6,)),
    "a validation list longer than its ancestors": (VALIDATING, VALIDATION, Publication(8, (1, 2))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_crafted_question_is_refused_alike_for_every_value(fault: str) -> None:
    of, crafted, known = FAULTS[fault]
    refusals = set()
    for value in (*range(0, 256, 5), None):
        ledger = new_ledger()
        device = Device(lambda value=value: value, FixedEntropy(1), ledger)  # type: ignore[misc]
        with pytest.raises(TreetopError) as refused:
            device.answer(of, ENROLMENT, crafted, known)
        refusals.add(str(refused.value))
        assert ledger.spent == 0
    assert len(refusals) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_refusal_comes_before_the_value_is_read(fault: str) -> None:
    def read() -> int:
        raise AssertionError("the value was read")

    of, crafted, known = FAULTS[fault]
    with pytest.raises(QuestionRefused):
        Device(read, FixedEntropy(1), new_ledger()).answer(of, ENROLMENT, crafted, known)


def test_there_are_forty_crafted_questions() -> None:
    assert len(FAULTS) >= 40


@pytest.mark.parametrize(
    "honest",
    [
        (KRR, ASKED, PUBLISHED),
        asked(prefixes=CHILDREN[:-2], pruned=CHILDREN[-2:]),
        asked(prefixes=CHILDREN[6:], pruned=CHILDREN[:6]),
        (VALIDATING, VALIDATION, PUBLISHED),
        (VALIDATING, VALIDATION, Publication(1, (0, 1))),
        at_level_one((0, 1, 2, 3)),
    ],
)
def test_an_honest_question_is_answered(honest: Faulty) -> None:
    of, fair, known = honest
    assert Device(lambda: 77, FixedEntropy(1), new_ledger()).answer(of, ENROLMENT, fair, known)


def tiny(lengths: tuple[int, ...] = (0, 1, 8), k: int = 3, group: Group = Group(1)) -> Faulty:  # noqa: B008  frozen
    """A task whose own lengths and k allow a list of two candidates, signed by the server like any other."""
    of = replace(in_one_group("krr", group, "4"), lengths=lengths, k=k)
    return of, Question(of.digest, group, lengths[group.level], (0, 1)), Publication(0, (0,))


@pytest.mark.parametrize("crafted", [
    tiny(), tiny((0, 2, 8), 1, Group(2, Role.VALIDATE_FREQUENT)),
    tiny((0, 7, 8), 1, Group(1, Role.VALIDATE_INFREQUENT)),
])  # fmt: skip
def test_a_list_below_the_owners_floor_is_refused_whatever_the_task_allows(crafted: Faulty) -> None:
    of, asked_for, known = crafted
    entropy, ledger = FixedEntropy(1), new_ledger()
    with pytest.raises(QuestionRefused, match="slots: expected 5 at least, found 3"):
        Device(lambda: 77, entropy, ledger).answer(of, ENROLMENT, asked_for, known)
    assert entropy.total == 0
    assert ledger.entries == ()
    assert Device(lambda: 77, entropy, new_ledger(Caps(least_slots=3))).answer(of, ENROLMENT, asked_for, known)


@pytest.mark.parametrize(("slots", "percent"), [(2, 98), (3, 96), (5, 93), (81, 41), (257, 18)])
def test_what_a_floor_buys_at_epsilon_four_is_what_the_threat_model_says(slots: int, percent: int) -> None:
    kept = keep_threshold(Budget("4").odds_below, slots) / 2**64
    assert round(100 * kept) == percent


@pytest.mark.parametrize(("floor", "answered"), [(2, True), (17, True), (18, False)])
def test_the_owner_sets_the_floor(floor: int, answered: bool) -> None:
    device = Device(lambda: 77, FixedEntropy(1), new_ledger(Caps(least_slots=floor)))
    if answered:
        assert device.answer(KRR, ENROLMENT, ASKED, PUBLISHED)
    else:
        with pytest.raises(QuestionRefused, match="slots: expected 18 at least, found 17"):
            device.answer(KRR, ENROLMENT, ASKED, PUBLISHED)


@pytest.mark.parametrize(("floor", "slots"), [(5, None), (6, 5), (65, 5)])
def test_a_task_that_can_never_meet_the_floor_is_refused_when_it_is_read(floor: int, slots: int | None) -> None:
    trusted = TrustedTask(task("krr"), "north", PINNED)
    if slots is None:
        trusted.check_list_lengths(floor)
        return
    with pytest.raises(
        QuestionRefused, match=rf"slots at level 1 \(estimate\): expected {floor} at least, found {slots}"
    ):
        trusted.check_list_lengths(floor)


def test_what_is_asked_of_the_own_party_counts() -> None:
    """At the first party a validation group estimates; the others' lists of 2k + 1 slots are not its own."""
    of = replace(VALIDATING, parties=("first", "second"))
    TrustedTask(of, "first", PINNED).check_list_lengths(8)
    with pytest.raises(QuestionRefused, match="level 3 .validate frequent.: expected 8 at least, found 7 at most"):
        TrustedTask(of, "second", PINNED).check_list_lengths(8)
    TrustedTask(replace(of, oracle="olh"), "second", PINNED).check_list_lengths(8)
    TrustedTask(replace(of, max_slots=5), "first", PINNED).check_list_lengths(5)
    with pytest.raises(QuestionRefused, match="found 5 at most"):
        TrustedTask(replace(of, max_slots=5), "first", PINNED).check_list_lengths(6)


def test_a_one_shot_task_has_no_questions() -> None:
    one_shot = task("olh")
    with pytest.raises(QuestionRefused, match="one-shot"):
        check_question(one_shot, Group(3), replace(ASKED, task=one_shot.digest), PUBLISHED)


def test_the_smallest_domain() -> None:
    assert smallest_domain(KRR, Group(1)) == 4
    assert smallest_domain(KRR, Group(3)) == 8
    assert smallest_domain(KRR, Group(3, Role.VALIDATE_FREQUENT)) == 6


def test_the_slot_of_a_prefix_is_its_place_or_the_dummy() -> None:
    assert [ASKED.slot_of(prefix) for prefix in (4, 63, 0, None)] == [0, 15, 16, 16]


def test_the_digest_tells_lists_apart() -> None:
    others = [asked(prefixes=CHILDREN[1:]), asked(length=7), asked(group=Group(2)), asked(task=bytes(32))]
    assert len({ASKED.digest, *(other[1].digest for other in others)}) == 5
