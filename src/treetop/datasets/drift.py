"""Weeks of data in which the most popular items change: for simulations of a question that is asked again and again.

Popularity has places, and items move between them. From every week to the next, d of the first k places are drawn
uniformly, where d is `drift` rounded up or down at random, so that it is right on average. The items there change
places with d others, drawn uniformly from places k + 1 to 10 k. Whoever held one of two such items holds the other one
from then on, at every party: a user keeps her place, and the histogram its shape. So exactly d of the k most popular
items of a week were not among those of the week before, and an item that fell may come up again.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation
from treetop.errors import InvalidInput

DRIFT = 1.6
REACH = 10
"""Items that come up stood among the first so many times k."""


def weekly_places(
    federation: Federation, *, drift: float, k: int, randomness: Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield for every week, without end, which item the holders of each item of the first week hold now."""
    if not 0 <= drift <= k:
        raise InvalidInput("drift_out_of_range", k=k, drift=drift)
    held = np.zeros(len(federation.items), dtype=np.int64)
    for party in federation.parties:
        np.add.at(held, party.items, party.users)
    places = np.argsort(-held, kind="stable")
    first = places[:k]
    others = places[k : min(REACH * k, np.count_nonzero(held))]
    if len(others) < k:
        raise InvalidInput("drift_needs_items", k=2 * k, others=len(first) + len(others))
    now = np.arange(len(federation.items))
    while True:
        yield now.copy()
        d = int(drift) + int(randomness.random() < drift - int(drift))
        leave = randomness.choice(first, d, replace=False)
        join = randomness.choice(others, d, replace=False)
        now[leave], now[join] = now[join], now[leave]


def moved(federation: Federation, places: NDArray[np.int64]) -> Federation:
    """Return the federation of a week, by the places of `weekly_places`."""
    return replace(federation, parties=tuple(party.moved_to(places) for party in federation.parties))
