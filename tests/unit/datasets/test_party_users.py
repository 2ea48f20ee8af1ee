from collections import Counter

import numpy as np
from tests.support.refusals import refused

from treetop.datasets.federation import Federation, federation_from_mapping, party_of_sets
from treetop.datasets.party_split import HeldItems, HeldSets, users_of
from treetop.datasets.user_sets import UserSets
from treetop.encoding.device_items import LARGEST_SET
from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.set_reports import SetQuestion

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


OWN = UserSets(np.array([0, 2, 3, 3]), np.array([0, 2, 1], dtype=np.int32), np.array([2, 1, 3]))
SETS = Federation("sets", ["5", "7", "x"], (party_of_sets("north", OWN),))


def test_users_with_sets_are_dealt_with_all_their_items() -> None:
    everybody, some = (users_of(SETS, "north", users, 1) for users in (None, 2))
    assert isinstance(everybody, HeldSets)
    assert isinstance(some, HeldSets)
    codes = everybody.codes(codec_named("ids", 8), (), SetQuestion(8, "holders"))
    assert sorted(map(str, codes)) == sorted(map(str, [{b"5": 5, b"x": None}, {b"7": 7}, {}]))
    assert list(some.codes(codec_named("ids", 8), (), SetQuestion(8, "holders"))) == [codes[0], codes[1]]
    assert (len(everybody), len(some)) == (3, 2)


def test_where_uses_count_every_use_is_an_entry() -> None:
    held = users_of(SETS, "north", None, 1)
    assert isinstance(held, HeldSets)
    used = list(held.codes(codec_named("ids", 8), (), SetQuestion(1, "use_shares")))
    assert sorted(sorted(each.values(), key=str) for each in used) == [[], [5, 5, None], [7, 7, 7]]
    many = HeldSets(["5"], UserSets(np.array([0, 1]), np.zeros(1, dtype=np.int32), np.array([LARGEST_SET + 1])))
    with refused("set_too_large", InvalidInput, largest_set=65536, most=65537):
        many.codes(codec_named("ids", 8), (), SetQuestion(1, "use_shares"))


def test_one_item_is_a_set_of_one() -> None:
    sets = HeldItems(["5", "x"], np.array([1, 0])).as_sets.codes(codec_named("ids", 8), (), SetQuestion(8, "holders"))
    assert list(sets) == [{b"x": None}, {b"5": 5}]


def test_wrong_parties_and_numbers_are_refused() -> None:
    with refused("unknown_name", UnknownName, kind="party", found="norht", nearest="north"):
        users_of(FEDERATION, "norht", None, 0)
    for users in (0, 61):
        with refused("party_users_too_few", InvalidInput, party="north", total=60):
            users_of(FEDERATION, "north", users, 0)
