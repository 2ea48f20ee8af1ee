"""Who reports names in a simulation: every user once, and through an oracle that can."""

import numpy as np
import pytest
from tests.support.named_users import ASKED, COUNTS, LISTED, LISTED_CHUNKS, NO_NAME, party, request
from tests.support.refusals import refused

from treetop.errors import InvalidInput, PromiseBroken
from treetop.mechanisms.dialogue import CollectNames, DivideUsers, DrawGroup
from treetop.simulation.run import simulator_named
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.user_groups import Group

EACH = pytest.mark.parametrize("simulator", ["exact", "devices"])


def users(simulator: str, *, texts: bool = True) -> SimulatedUsers:
    return simulator_named(simulator)(party(texts=texts), np.random.default_rng(1))


@EACH
def test_every_user_reports_once(simulator: str) -> None:
    everybody = users(simulator)
    assert sum(everybody.name_reports(request()).kinds) == sum(COUNTS)
    with refused("group_taken", PromiseBroken, group="the group of level 1 (estimate)"):
        everybody.name_reports(request())
    with refused("group_too_large", PromiseBroken, group="the group of level 2 (estimate)", size=10, left=0):
        everybody.divide(DivideUsers({Group(2): 10}))
    everybody.draw(DrawGroup(Group(3), 1.0))
    assert everybody.sizes[Group(3)] == 0


@EACH
def test_users_who_were_divided_report_no_name(simulator: str) -> None:
    everybody = users(simulator)
    everybody.divide(DivideUsers({Group(2): 10}))
    with refused("group_too_large", PromiseBroken, group="the group of level 1 (estimate)", size=300, left=290):
        everybody.name_reports(request())


@EACH
def test_a_question_that_cannot_be_answered_is_refused_before_anybody_is_asked(simulator: str) -> None:
    everybody = users(simulator)
    with refused("names_need_hashing", InvalidInput, name="krr"):
        everybody.name_reports(request(oracle="krr"))
    with pytest.raises(AssertionError, match="names of 9 bits are asked for, but codes have 10"):
        everybody.name_reports(CollectNames(9, request().oracle))
    everybody.name_reports(request())


@EACH
def test_olh_counts_names_that_are_given(simulator: str) -> None:
    reports = users(simulator).name_reports(request(oracle="olh"))
    assert reports.text_support(LISTED, LISTED_CHUNKS).shape == (5,)
    assert reports.support(np.array([5, NO_NAME], dtype=np.uint64)).min() > 20


def test_devices_cannot_look_at_every_name_with_olh() -> None:
    with refused("names_not_counted", InvalidInput, name="olh", bits=10):
        users("devices").name_reports(request(oracle="olh")).above(30, ASKED)


@EACH
def test_ids_have_no_texts(simulator: str) -> None:
    reports = users(simulator, texts=False).name_reports(request((1.0,)))
    assert reports.kinds == (300,)
    support = reports.support(np.array([5, 300, NO_NAME], dtype=np.uint64))
    assert reports.text_support(LISTED, LISTED_CHUNKS[:, :0]).tolist()[0] == support[0]
    assert support.min() > 30
