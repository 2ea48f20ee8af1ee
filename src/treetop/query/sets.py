"""Users who hold many items: what is asked of them, and the private survey of how many that is.

The survey is for `items_per_user="auto"`: every user joins it by a chance of 5 %, and whoever does reports only the
class of her set's size, by k-RR under the same epsilon; she reports no items. All others do, and the answer is about
them. The m taken is the one that most lifts an item above its noise: E[min(|S|, m)] / sqrt(V(epsilon, m)), between 8
and 64.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems, party_of_sets
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput
from treetop.mechanisms.query import Query
from treetop.mechanisms.strategy import check_takes_sets
from treetop.oracles.frequency_oracle import Frequencies
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.registry import set_oracle
from treetop.oracles.set_reports import HOLDERS, SHARES, USE_SHARES, SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note

AUTO_ITEMS = "auto"
SURVEYED = 0.05
SIZE_CLASSES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""A size belongs to the largest of these that it reaches."""
ITEMS_TRIED = (8, 12, 16, 24, 32, 48, 64)
SURVEY_STREAM = 1 << 31
"""Spawn key of the survey's randomness: no repetition has this number."""


def asked_of_sets(
    federation: Federation, query: Query, *, items_per_user: object, reading: str | None, seed: int
) -> tuple[Federation, Query]:
    """Settle what every user is asked about her set, or refuse what the data or the mechanism have no use for."""
    if not federation.holds_sets:
        if items_per_user not in (None, 1, "1") or reading not in (None, HOLDERS):
            found = (
                f"items_per_user = {items_per_user}"
                if items_per_user not in (None, 1, "1")
                else f"the reading {reading!r}"
            )
            raise InvalidInput("data_without_sets", found=found)
        return federation, query
    m: int | None = None
    if items_per_user == AUTO_ITEMS and reading not in (SHARES, USE_SHARES):
        federation, m = _surveyed(federation, query, default_rng(SeedSequence(seed, spawn_key=(SURVEY_STREAM,))))
    elif items_per_user is not None:
        m = whole_items(items_per_user)
    asked = SetQuestion.of(m, reading)
    settings = {name: value for name, value in query.settings.items() if name != "items_per_user"}
    if asked.items_per_user > 1:
        check_takes_sets(query.mechanism, asked.items_per_user)
    return federation.asking(asked), replace(query, settings=settings, sets=asked)


def settled_sets(
    federation: Federation, *, items_per_user: object, reading: str | None
) -> tuple[Federation, dict[str, object]]:
    """Settle what many runs ask about a user's set, whatever their epsilon; return it, and the setting that says so."""
    if items_per_user == AUTO_ITEMS:
        raise InvalidInput("items_per_user_auto_unsettled", auto_items=AUTO_ITEMS)
    asked, query = asked_of_sets(federation, Query(), items_per_user=items_per_user, reading=reading, seed=0)
    items = query.items_per_user
    return asked, {} if items == 1 else {"items_per_user": items}


def whole_items(given: object) -> int:
    """Return the number of items asked for; whether it is in range is for the query to say."""
    number = int(given) if isinstance(given, str) and given.isascii() and given.isdigit() else given
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidInput("items_per_user_not_number", auto_items=AUTO_ITEMS, given=given)
    return number


def size_classes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of every size, by its number."""
    return np.searchsorted(SIZE_CLASSES, sizes, side="right") - 1


def best_items(shares: Frequencies, oracle: Any, epsilon: Epsilon) -> int:
    """Return the m that most lifts an item above its noise, given the shares of the size classes."""
    sizes = np.array(SIZE_CLASSES)

    def lift(m: int) -> float:
        deviation = float(set_oracle(oracle, epsilon, m).variance(0.0, 1) ** 0.5)
        return float(shares @ np.minimum(sizes, m)) / deviation

    return max(ITEMS_TRIED, key=lift)


def _surveyed(federation: Federation, query: Query, randomness: Generator) -> tuple[Federation, int]:
    """Ask some users of every party for the size of their set alone, and return the others, and m."""
    epsilon = Epsilon(query.epsilon)
    oracle = KRandomizedResponse().over(epsilon, len(SIZE_CLASSES))
    frequencies = np.zeros(len(SIZE_CLASSES))
    asked = 0
    parties = []
    for party in federation.parties:
        sets = _sets_of(party)
        joins = randomness.random(len(sets)) < SURVEYED
        joins &= not joins.all()  # somebody must be left to report items
        holders = np.bincount(size_classes(sets.sizes[joins]), minlength=len(SIZE_CLASSES))
        tally = oracle.sample_tally(holders, randomness)
        frequencies += tally.reports * oracle.estimate(tally)
        asked += tally.reports
        parties.append(party_of_sets(party.name, sets.of_users(~joins)))
    shares = np.maximum(frequencies, 0)
    shares /= max(shares.sum(), 1.0)
    m = best_items(shares, query.oracle, epsilon)
    note = Note("set_sizes_surveyed", users=asked, items_per_user=m)
    return replace(federation, parties=tuple(parties), notes=(*federation.notes, note)), m


def _sets_of(party: PartyItems) -> UserSets:
    if party.sets is None:
        raise InvalidInput("party_without_sets", name=party.name)
    return party.sets
