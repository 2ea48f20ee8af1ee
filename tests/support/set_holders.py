"""A small party whose users hold sets: prefixes and a name are shared, and some items have no code."""

import numpy as np
from tests.support.named_users import BITS, CHUNKS, CODES

from treetop.datasets.user_sets import UserSets
from treetop.mechanisms.dialogue import CollectNames, CollectReports
from treetop.oracles.registry import oracle_named, set_form
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import PartyPopulation
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group

NO_CODE = len(CODES)
"""The item that has no code; item i < 5 has code i."""
SETS: tuple[list[int], ...] = (
    [0, 2, 3], [0, 1], [2, 3, 4], [], [0, 3, 4], [0, 1, 2, 3, 4, NO_CODE], [2, 4, NO_CODE], [0, 2, 4],
)  # fmt: skip
USERS, ITEMS = 240, 3


def user_sets(users: int = USERS, items: int = ITEMS, reading: str = "holders") -> UserSets:
    """Users 0, 8, 16 .. hold the first set, and so on; a report speaks of at most three items."""
    held = [SETS[user % len(SETS)] for user in range(users)]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in held])])
    flat = np.array([item for each in held for item in each], dtype=np.int32)
    return UserSets(starts, flat, None, SetQuestion(items, reading))


def party(sets: UserSets | None = None, *, texts: bool = True) -> PartyPopulation:
    sets = user_sets() if sets is None else sets
    holders = np.bincount(sets.items, minlength=NO_CODE + 1)
    before = np.concatenate([[0], np.cumsum(holders)])
    places = np.arange(NO_CODE + 1, dtype=np.int32)
    return PartyPopulation("one", BITS, CODES, before, CHUNKS if texts else None, sets, places)


def names_asked(oracle: str = "walsh", items: int = ITEMS) -> CollectNames:
    return CollectNames(BITS, oracle_named(set_form(oracle, items), Epsilon(2), 1 << BITS), (0.6, 0.25, 0.15))


def prefixes_asked(length: int, prefixes: list[int], items: int = ITEMS) -> CollectReports:
    domain = CandidateDomain(length, np.array(prefixes, dtype=np.uint64))
    return CollectReports(Group(1), domain, oracle_named(set_form("olh", items), Epsilon(4), len(domain)))
