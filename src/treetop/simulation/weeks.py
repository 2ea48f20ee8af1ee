"""The weeks of a simulated campaign: how items drift from one to the next, and who answers in which.

Drift: items are ranked by popularity, and move between ranks. From each week to the next, d of the first k ranks are
drawn uniformly, where d is `drift` rounded up or down at random, so that it is right on average. The items there swap
ranks with d others, drawn uniformly from ranks k + 1 to 10 k. At every party, the holders of one of two such items hold
the other from then on: a user keeps her rank, and the histogram its shape. So exactly d of the k most popular items of
a week were not among those of the week before, and an item that fell may come up again.

Rotation: every user draws one week of the cycle uniformly, independently of what she holds. By exchangeability users
need no identities: how the holders of an item fall into the weeks is a multinomial draw.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems, party_of_sets
from treetop.errors import InvalidInput

DRIFT = 1.6
"""Of the k most popular items, the number that change from one week to the next, on average."""
REACH = 10
"""Items that come up had a rank of at most this many times k."""


def weekly_places(
    federation: Federation, *, drift: float, k: int, randomness: Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield for every week, without end, the item that the holders of each item of the first week hold now."""
    if not 0 <= drift <= k:
        raise InvalidInput("drift_out_of_range", k=k, drift=drift)
    held = np.zeros(len(federation.items), dtype=np.int64)
    for party in federation.parties:
        np.add.at(held, party.items, party.users)
    ranking = np.argsort(-held, kind="stable")
    first = ranking[:k]
    others = ranking[k : min(REACH * k, np.count_nonzero(held))]
    if len(others) < k:
        raise InvalidInput("drift_needs_items", k=2 * k, others=len(first) + len(others))
    now = np.arange(len(federation.items))
    while True:
        yield now.copy()
        d = int(drift) + int(randomness.random() < drift - int(drift))
        leave = randomness.choice(first, d, replace=False)
        join = randomness.choice(others, d, replace=False)
        now[leave], now[join] = now[join], now[leave]  # right sides are copies: items swap their holders


def moved(federation: Federation, places: NDArray[np.int64]) -> Federation:
    """Return the federation of a week that `weekly_places` yielded."""
    return replace(federation, parties=tuple(party.moved_to(places) for party in federation.parties))


def drawn_slots(federation: Federation, weeks: int, randomness: Generator) -> tuple[Federation, ...]:
    """Return for every week of a cycle the users who answer in it, with the items that they held in the first."""
    divided = []
    for party in federation.parties:
        if party.sets is not None:  # a user answers with her whole set, so users are drawn one by one
            slot = randomness.integers(weeks, size=len(party.sets))
            divided.append([party_of_sets(party.name, party.sets.of_users(slot == week)) for week in range(weeks)])
        else:
            users = randomness.multinomial(party.users, np.full(weeks, 1 / weeks))
            divided.append([PartyItems(party.name, party.items[drawn > 0], drawn[drawn > 0]) for drawn in users.T])
    slots = [tuple(party for party in slot if party.total) for slot in zip(*divided, strict=True)]
    for week, parties in enumerate(slots, start=1):
        if not parties:
            raise InvalidInput("rotation_users", users=federation.users, weeks=weeks, week=week)
    return tuple(replace(federation, parties=parties) for parties in slots)
