"""Simulated users who hold sets: chances, what is true of them, and what no simulator does."""

from itertools import combinations, product

import numpy as np
import pytest
from tests.support.named_users import BITS, CODES
from tests.support.refusals import refused
from tests.support.set_holders import NO_CODE, SETS, USERS, names_asked, party, prefixes_asked, user_sets

from treetop.datasets.federation import Federation, PartyItems
from treetop.datasets.user_sets import UserSets
from treetop.encoding.item_codecs import Ids, codec_named
from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import CollectNames, DivideUsers
from treetop.oracles.registry import oracle_named
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.simulation import set_kernels
from treetop.simulation.population import PartyPopulation, Population
from treetop.simulation.run import simulated_users
from treetop.simulation.set_users import DeviceByDeviceSetUsers, ExactSetUsers, support_chances
from treetop.trie.user_groups import Group

KERNELS = ("chosen_items", "draw_support")


def test_chances_are_those_of_all_hashes() -> None:
    """Two and three values in four buckets: every hash and every report, added up."""
    p, t = 0.2, 4
    for k in (0, 1, 2, 3):
        law = np.zeros(k + 1)
        for buckets in product(range(t), repeat=k):
            h = len(set(buckets))
            for reported in range(t):
                chance = p if reported in buckets else (1 - h * p) / (t - h)
                law[buckets.count(reported)] += chance / t**k
        assert np.cumsum(law)[:-1] == pytest.approx(support_chances(p, t, 3)[k, :k])
    assert support_chances(p, t, 3)[2, 2] == 1


def test_every_choice_of_items_is_equally_likely() -> None:
    """Three of six items, 20,000 users: chi-square over the 20 choices below 60, which one in 10^6 seeds exceeds."""
    starts = np.arange(0, 6 * 20_000 + 1, 6)
    items, chosen = np.tile(np.arange(6, dtype=np.int32), 20_000), np.empty(60_000, dtype=np.int32)
    users = np.arange(20_000, dtype=np.int32)
    assert set_kernels.chosen_items(np.random.default_rng(2), users, starts, items, 3, chosen) == 60_000
    found = np.sort(chosen.reshape(-1, 3), axis=1)
    counts = np.array([(found == choice).all(axis=1).sum() for choice in combinations(range(6), 3)])
    assert counts.sum() == 20_000
    assert ((counts - 1000) ** 2 / 1000).sum() < 60


@pytest.mark.parametrize("simulator", [ExactSetUsers, DeviceByDeviceSetUsers])
def test_the_loops_as_python_run_them_give_the_same(
    simulator: type[ExactSetUsers | DeviceByDeviceSetUsers], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reports() -> list[list[int]]:
        first, second = (simulator(party(user_sets(48)), np.random.default_rng(5)) for _ in range(2))
        first.divide(DivideUsers({Group(1): 40}))
        named = second.name_reports(names_asked())
        return [first.collect(prefixes_asked(3, [0, 2, 5])).support.tolist(), named.support(CODES).tolist()]

    compiled = reports()
    for name in KERNELS:
        monkeypatch.setattr(set_kernels, name, getattr(set_kernels, name).py_func)
    monkeypatch.setattr(set_kernels, "choose", set_kernels.choose.py_func)
    assert reports() == compiled


def test_whoever_has_no_code_is_counted_where_the_oracle_counts_the_dummy() -> None:
    users = ExactSetUsers(party(), np.random.default_rng(1))
    named = users.name_reports(names_asked())
    estimate = (
        named.support(np.array([(1 << BITS) - 1], dtype=np.uint64))[0] / named.kinds[0]
        - users.oracle_of(names_asked()).q
    )
    assert estimate > 0
    assert sum(named.kinds) == USERS


def test_users_who_report_one_item_draw_it_by_the_reading() -> None:
    """Whoever holds nothing reports what an item without a code does."""
    sets = user_sets(8_000, 1)
    drawn = party(sets).sampled(np.random.default_rng(4))
    assert (drawn.users, drawn.sets) == (8_000, None)
    expected = np.zeros(NO_CODE + 1)
    for each in SETS:
        for item in each or [NO_CODE]:
            expected[item] += 1_000 / max(len(each), 1)
    assert np.all(np.abs(drawn.counts - expected) < 6 * np.sqrt(expected))
    counts = np.where(sets.items == 0, 1_000_000, 1)
    by_use = UserSets(sets.starts, sets.items, counts, SetQuestion(1, "use_shares"))
    drawn = party(by_use).sampled(np.random.default_rng(4))
    assert drawn.counts[0] > 4_990  # of 5,000 users who hold item 0, nearly all uses are of it
    with pytest.raises(AssertionError, match="where they hold sets"):
        drawn.sampled(np.random.default_rng(1))


def test_the_simulator_follows_the_question() -> None:
    randomness = np.random.default_rng(1)
    assert simulated_users("exact", party(user_sets(80, 1)), randomness).party.sets is None
    assert isinstance(simulated_users("exact", party(), randomness), ExactSetUsers)
    assert isinstance(simulated_users("devices", party(), randomness), DeviceByDeviceSetUsers)


def test_what_is_asked_in_another_form_is_a_mistake() -> None:
    users = ExactSetUsers(party(), np.random.default_rng(1))
    with pytest.raises(AssertionError, match="users report on 3 items, and walsh does not"):
        users.name_reports(CollectNames(BITS, oracle_named("walsh", Epsilon(2), 1 << BITS)))
    with pytest.raises(AssertionError, match="users report on 3 items, and walsh does not"):
        ExactSetUsers(party(), np.random.default_rng(1)).name_reports(names_asked(items=2))
    alone = PartyPopulation("one", BITS, CODES, np.arange(7))
    with pytest.raises(AssertionError, match="expected users who hold sets"):
        ExactSetUsers(alone, np.random.default_rng(1))


def federation(question: SetQuestion | None) -> Federation:
    """Users with {1, 3}, {3}, {2} and {2, x}; x is no id."""
    items = np.array([0, 1, 1, 2, 2, 3], dtype=np.int32)
    sets = UserSets(np.array([0, 2, 3, 4, 6]), items, None, question)
    return Federation("f", ["1", "3", "2", "x"], (PartyItems("p", np.arange(4), np.array([1, 2, 2, 1]), sets),))


def test_the_truth_is_what_the_reading_says() -> None:
    many = Population(federation(SetQuestion(8, "holders")), Ids(8))
    assert dict(zip(many.truth.codes.tolist(), many.truth.users.tolist(), strict=True)) == {1: 1, 2: 2, 3: 2}
    assert many.roster.all_users == 4
    assert many.question == SetQuestion(8, "holders")
    shares = Population(federation(SetQuestion(1, "shares")), Ids(8))
    assert dict(zip(shares.truth.codes.tolist(), shares.truth.users.tolist(), strict=True)) == {1: 0.5, 2: 1.5, 3: 1.5}
    assert shares.true_counts(np.array([1, 2, 9], dtype=np.uint64)) == [0, 2, 0]


def test_a_user_counts_once_for_a_code_that_two_of_her_items_share() -> None:
    codec = codec_named("words", 10)  # two letters: the rest is cut off
    sets = UserSets(np.array([0, 3, 4]), np.array([0, 1, 2, 1], dtype=np.int32), None, SetQuestion(8, "holders"))
    words = Federation("f", ["team", "teapot", "rum"], (PartyItems("p", np.arange(3), np.array([1, 2, 1]), sets),))
    found = Population(words, codec)
    assert sorted(found.truth.users.tolist()) == [1, 2]


def test_sets_without_a_question_are_refused() -> None:
    with refused("sets_without_question", InvalidInput):
        Population(federation(None), Ids(8))
