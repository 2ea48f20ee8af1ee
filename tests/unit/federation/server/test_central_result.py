"""What an answer promises of a party's users, from what the party said when its groups closed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.orders import query_order
from tests.support.tasks import task

from treetop.answers.answer import Answer
from treetop.errors import InvalidInput
from treetop.federation.server.expected_users import ExpectedUsers
from treetop.federation.server.result import PartyRecord, answer_of
from treetop.federation.task import DeviceTask, LeastReports, WeightedGroup
from treetop.mechanisms.dialogue import LevelTrace
from treetop.mechanisms.registry import mechanism_named
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee, central_guarantee
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

LEAST = LeastReports(500, 100)
GROUPS = (WeightedGroup(Group(1), 1), WeightedGroup(Group(2), 3), WeightedGroup(Group(2, Role.VALIDATE_FREQUENT), 1))


def result_of(of: DeviceTask, record: PartyRecord, central: CentralGuarantee | None = None) -> Answer:
    nothing = np.empty(0)
    ranking = GlobalRanking(nothing.astype(np.uint64), nothing, nothing, nothing.astype(np.int64))
    return answer_of(
        of, mechanism_named(of.mechanism), ranking, [record], {}, listed=None, choices=(), expected=ExpectedUsers(),
        notes=(), fakes_needed=None, central=central,
    )  # fmt: skip


def promised(of: DeviceTask, record: PartyRecord) -> float:
    central = result_of(of, record).parties[0].central
    assert central is not None
    return central.epsilon


def of_task(**changes: Any) -> DeviceTask:
    return task("olh", "1", lengths=(0, 4, 8), groups=GROUPS, least=LEAST, mechanism="taps", **changes)


def by_hand(*groups: int) -> float:
    return central_guarantee(groups, Epsilon("1"), 1e-8).epsilon


def test_one_shot_groups_hide_as_many_as_reported() -> None:
    record = PartyRecord("a", 50_000, groups={Group(1): 9_000, Group(2): 30_000, GROUPS[2].group: 11_000})
    assert promised(of_task(), record) == by_hand(9_000)


def test_a_level_that_was_never_counted_tells_nothing() -> None:
    record = PartyRecord("a", 50_000, groups={Group(1): 99, Group(2): 30_000, GROUPS[2].group: 0})
    assert promised(of_task(), record) == by_hand(30_000)
    record.groups[Group(1)] = 100
    assert promised(of_task(), record) > by_hand(30_000)


def in_rounds(*groups: WeightedGroup) -> DeviceTask:
    return task("krr", "1", lengths=(0, 4, 8), groups=groups, least=LEAST, mechanism="taps", parties=("b", "a"))


def test_in_rounds_what_was_counted_is_what_hides() -> None:
    record = PartyRecord("a", 39_000, groups={Group(1): 9_000, Group(2): 30_000})
    record.traces.append(LevelTrace(2, 8, 10, 20_000, "krr", 3))
    assert promised(in_rounds(*GROUPS[:2]), record) == by_hand(100)  # of level 1 only the minimum is known
    record.traces.append(LevelTrace(1, 4, 10, 8_000, "krr", 3))
    assert promised(in_rounds(*GROUPS[:2]), record) == by_hand(8_000)
    record.groups[GROUPS[2].group] = 11_000
    assert promised(in_rounds(*GROUPS), record) == by_hand(100)  # of a validation set, too


def test_in_rounds_a_rare_group_is_not_hidden_by_its_rarity() -> None:
    """A server that picks the beacon puts whom it likes into a group of weight 2^-27."""
    rare = in_rounds(WeightedGroup(Group(1), 1), WeightedGroup(Group(2), 1 << 27))
    record = PartyRecord("a", 50_000, groups={Group(1): 1, Group(2): 49_999})
    record.traces += [LevelTrace(1, 4, 10, 1, "krr", 3), LevelTrace(2, 8, 10, 49_999, "krr", 3)]
    counted = replace(rare, least=LeastReports(1, 1))
    assert promised(counted, record) == 1
    assert promised(rare, record) == by_hand(49_999)  # below the minimum, it was never counted


def test_names_and_chunks_are_one_group() -> None:
    order = query_order("fruit", ("a",), epsilon="1")
    record = PartyRecord("a", 40_000, groups={entry.group: 10 for entry in order.planned.task.groups})
    record.groups[Group(1)] = 39_000
    assert promised(order.planned.task, record) == by_hand(sum(record.groups.values()))


def test_less_than_was_asked_for_is_a_note() -> None:
    record = PartyRecord("a", 50_000, groups={Group(1): 9_000, Group(2): 30_000, GROUPS[2].group: 11_000})
    asked = CentralGuarantee(0.001, 1e-9)
    result = result_of(of_task(), record, asked)
    central = result.parties[0].central
    assert central is not None
    assert central.delta == 1e-9
    short = Note("central_shortfall", promised=str(central), wanted=str(asked))
    assert Note("at_party", party="a", note=short) in result.notes
    assert not any(note.code == "at_party" for note in result_of(of_task(), record).notes)


def test_an_order_computes_its_epsilon_from_the_smallest_party() -> None:
    central = CentralGuarantee(0.5, 1e-8)
    order = query_order("fruit", ("a", "b"), expected={"a": 90_000, "b": 30_000}, central=central)
    assert order.local_epsilon == "3.7"
    assert query_order("fruit", ("a",), epsilon="1.50").local_epsilon == "1.50"
    with pytest.raises(InvalidInput, match="expected users of every party, found none of 'b'"):
        query_order("fruit", ("a", "b"), expected={"a": 90_000}, central=central).local_epsilon  # noqa: B018
    with pytest.raises(InvalidInput, match="an epsilon of 4 at most"):
        query_order("fruit", ("a",), expected={"a": 90_000}, central=CentralGuarantee(2.0, 1e-8)).local_epsilon  # noqa: B018
