import numpy as np
import pytest
from scipy.stats import chi2

from treetop.datasets.federation import Federation, PartyItems, federation_from_mapping, party_of_sets
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput
from treetop.simulation.rotation import drawn_slots

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
