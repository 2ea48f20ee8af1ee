from collections import Counter

import numpy as np
import pytest

from treetop.datasets.federation import federation_from_mapping
from treetop.datasets.party_split import HeldItems, HeldSets, users_of
from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput, UnknownName

FEDERATION = federation_from_mapping({"north": {"5": 30, "7": 20, "x": 10}, "south": {"5": 1}})


def names(held: HeldItems | HeldSets) -> list[str]:
    assert isinstance(held, HeldItems)
    return [held.items[index] for index in held.indices.tolist()]


def test_all_users_hold_the_histogram() -> None:
    assert Counter(names(users_of(FEDERATION, "north", None, 1))) == {"5": 30, "7": 20, "x": 10}


def test_some_users_are_the_first_of_the_same_seed() -> None:
    everybody, some = (names(users_of(FEDERATION, "north", users, 1)) for users in (None, 25))
    assert some == everybody[:25]
    assert names(users_of(FEDERATION, "north", 25, 2)) != some


def test_codes_are_those_of_the_items() -> None:
    held = users_of(FEDERATION, "north", None, 3)
    assert isinstance(held, HeldItems)
    codes = held.codes(codec_named("ids", 8))
    assert codes == [None if name == "x" else int(name) for name in names(held)]
    assert HeldItems(["999"], np.zeros(2, dtype=np.int64)).codes(codec_named("ids", 8)) == [None, None]


def test_wrong_parties_and_numbers_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'north'"):
        users_of(FEDERATION, "norht", None, 0)
    for users in (0, 61):
        with pytest.raises(InvalidInput, match="has 60 users"):
            users_of(FEDERATION, "north", users, 0)
