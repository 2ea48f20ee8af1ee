import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.refusals import refused

from treetop.datasets.federation import federation_from_mapping
from treetop.datasets.party_split import deal, first_parties, proportional_sizes, with_share_of_users, with_users
from treetop.errors import InvalidInput


def test_a_share_of_users_is_a_part_of_each_party() -> None:
    whole = federation_from_mapping({"a": {"x": 600, "y": 400}, "b": {"x": 10, "z": 1}})
    part = with_share_of_users(whole, 0.25, np.random.default_rng(1))
    assert [party.total for party in part.parties] == [250, 3]
    assert all(np.all(party.users > 0) for party in part.parties)
    assert part.items == whole.items
    x, y = part.parties[0].users
    assert x <= 600
    assert y <= 400
    assert with_share_of_users(whole, 1.0, np.random.default_rng(1)) is whole


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5])
def test_other_shares_are_refused(share: float) -> None:
    with refused("share_out_of_range", InvalidInput):
        with_share_of_users(federation_from_mapping({"a": ["x"]}), share, np.random.default_rng(1))


def test_users_are_dealt_in_the_sizes_asked_for() -> None:
    places = deal(100, {"a": 50, "b": 20}, np.random.default_rng(2))
    assert np.bincount(places + 1).tolist() == [30, 50, 20]
    assert places[:50].tolist() != sorted(places[:50].tolist())


def test_too_few_users_shrink_all_parties() -> None:
    places = deal(10, {"a": 60, "b": 40}, np.random.default_rng(2))
    assert np.bincount(places).tolist() == [6, 4]


@pytest.mark.parametrize("sizes", [{}, {"a": 0}])
def test_sizes_must_be_positive(sizes: dict[str, int]) -> None:
    with refused("party_size", InvalidInput):
        deal(10, sizes, np.random.default_rng(2))


def test_a_number_of_users_is_drawn_from_all_parties_in_proportion() -> None:
    whole = federation_from_mapping({"a": {"x": 600, "y": 400}, "b": {"x": 100}, "c": ["z"]})
    part = with_users(whole, 111, np.random.default_rng(1))
    assert [party.total for party in part.parties] == [99, 11, 1]
    assert with_users(whole, 5_000, np.random.default_rng(1)) is whole
    with refused("users_too_few", InvalidInput, number=3, users=2):
        with_users(whole, 2, np.random.default_rng(1))


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=20), st.data())
def test_proportional_sizes_add_up_and_fit(totals: list[int], data: st.DataObject) -> None:
    users = data.draw(st.integers(len(totals), sum(totals)))
    sizes = proportional_sizes(totals, users)
    assert sum(sizes) == users
    assert all(1 <= size <= total for size, total in zip(sizes, totals, strict=True))


def test_the_first_parties_are_kept() -> None:
    whole = federation_from_mapping({"a": ["x"], "b": ["y"]})
    assert [party.name for party in first_parties(whole, 1).parties] == ["a"]
    with refused("parties_too_few", InvalidInput, name="data", parties=2, asked=3):
        first_parties(whole, 3)
