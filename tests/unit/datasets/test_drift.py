from itertools import islice, pairwise

import numpy as np
import pytest

from treetop.datasets.drift import moved, weekly_places
from treetop.datasets.federation import Federation, federation_from_mapping
from treetop.errors import InvalidInput


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
