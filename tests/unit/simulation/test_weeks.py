from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.stats import chi2

from treetop.datasets.federation import Federation, PartyItems, federation_from_mapping, party_of_sets
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput
from treetop.simulation.weeks import drawn_slots, moved, weekly_places


def federation(items: int = 60) -> Federation:
    histogram = {str(item): 1000 - 7 * item for item in range(items)}
    return federation_from_mapping({"a": histogram, "b": {item: users // 2 for item, users in histogram.items()}})


def popular(week: Federation, k: int) -> set[int]:
    held = np.zeros(len(week.items), dtype=np.int64)
    for party in week.parties:
        np.add.at(held, party.items, party.users)
    return {int(week.items[place]) for place in np.argsort(-held, kind="stable")[:k].tolist()}


def weeks(number: int, drift: float, k: int = 5, seed: int = 1, data: Federation | None = None) -> list[Federation]:
    data = data or federation()
    places = weekly_places(data, drift=drift, k=k, randomness=np.random.default_rng(seed))
    return [moved(data, each) for each in islice(places, number)]


@pytest.mark.parametrize("drift", [0, 2, 5])
def test_as_many_of_the_first_items_are_new_as_was_asked_for(drift: int) -> None:
    tops = [popular(week, 5) for week in weeks(20, drift)]
    assert tops[0] == set(range(5))
    assert {len(after - before) for before, after in pairwise(tops)} == {drift}


def test_a_fraction_is_right_on_average() -> None:
    tops = [popular(week, 5) for week in weeks(2001, 1.6)]
    changed = np.array([len(after - before) for before, after in pairwise(tops)])
    assert set(changed.tolist()) == {1, 2}
    assert abs(changed.mean() - 1.6) < 6.2 * np.sqrt(0.6 * 0.4 / len(changed))


def test_users_keep_their_place_and_the_histogram_its_shape() -> None:
    data = federation()
    for week in weeks(5, 3.0, data=data):
        for before, after in zip(data.parties, week.parties, strict=True):
            assert sorted(before.users.tolist()) == sorted(after.users.tolist())
    one, two = (weeks(3, 2.0, seed=seed)[2] for seed in (1, 2))
    assert popular(one, 5) == popular(weeks(3, 2.0, seed=1)[2], 5)
    assert popular(one, 5) != popular(two, 5)


def test_items_that_come_up_stood_among_the_first_ten_times_k() -> None:
    came = set().union(*(popular(week, 2) for week in weeks(300, 2.0, k=2)))
    assert came == set(range(20))


def test_what_cannot_drift_is_refused() -> None:
    with pytest.raises(InvalidInput, match="drift must be a number of items from 0 to k = 5, found 6"):
        weeks(1, 6)
    with pytest.raises(InvalidInput, match="found nan"):
        weeks(1, float("nan"))
    with pytest.raises(InvalidInput, match="2 k = 10 of them at least, found 9"):
        weeks(1, 1, data=federation(9))


WEEKS = 4


def test_everybody_answers_in_one_week() -> None:
    data = federation_from_mapping({"a": {"x": 500, "y": 40, "z": 1}, "b": {"x": 7, "w": 90}})
    slots = drawn_slots(data, WEEKS, np.random.default_rng(1))
    assert len(slots) == WEEKS
    for party in data.parties:
        held = np.zeros(len(data.items), dtype=np.int64)
        for slot in slots:
            for each in slot.parties:
                if each.name == party.name:
                    np.add.at(held, each.items, each.users)
        assert held[party.items].tolist() == party.users.tolist()
        assert held.sum() == party.total


def test_weeks_are_uniform_whatever_is_held() -> None:
    """600,000 users: a week that is 5 % too likely has a chi-square of about 500, far above the limit at 1e-9."""
    data = federation_from_mapping({"a": {"x": 400_000, "y": 200_000}})
    slots = drawn_slots(data, WEEKS, np.random.default_rng(2))
    for item in range(2):
        users = np.array([int(slot.parties[0].users[slot.parties[0].items == item].sum()) for slot in slots])
        expected = users.sum() / WEEKS
        assert ((users - expected) ** 2 / expected).sum() < chi2.isf(1e-9, WEEKS - 1)


def test_users_with_sets_rotate_whole() -> None:
    sets = UserSets(np.array([0, 2, 3, 3, 6]), np.array([0, 1, 1, 0, 1, 2], dtype=np.int32))
    data = Federation("sets", ["x", "y", "z"], (party_of_sets("a", sets),))
    slots = drawn_slots(data, 2, np.random.default_rng(5))
    sizes = sorted(size for slot in slots for size in slot.parties[0].sets.sizes.tolist())  # type: ignore[union-attr]
    assert sizes == [0, 1, 2, 3]


def test_a_party_that_nobody_is_left_of_is_not_asked() -> None:
    lonely = PartyItems("one", np.array([0]), np.array([1]))
    many = PartyItems("many", np.array([0, 1]), np.array([500, 500]))
    slots = drawn_slots(Federation("data", ["x", "y"], (lonely, many)), WEEKS, np.random.default_rng(1))
    assert sorted(len(slot.parties) for slot in slots) == [1, 1, 1, 2]


def test_too_few_users_are_refused() -> None:
    with pytest.raises(InvalidInput, match="1 users are too few for 4 weeks: nobody is left for week"):
        drawn_slots(federation_from_mapping({"a": {"x": 1}}), WEEKS, np.random.default_rng(1))
