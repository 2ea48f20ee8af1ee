"""Who is still to be asked, kept for no more of the population than a run has looked at.

A level's group is a random subset of users without replacement. By exchangeability nobody needs to be named: it
is enough to know, for cells that partition the sorted population, how many users each holds and how many of them
earlier groups have used. Asking about a prefix splits its cell at the prefix's ends; which of a cell's users were
used is uniform among them, so the used ones fall to the parts hypergeometrically.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.simulation.population import Places


class LazyCells:
    """A partition of the places 0 .. n of a party's sorted codes."""

    def __init__(self, users_before: Places, randomness: Generator) -> None:
        self._users_before = users_before
        self._randomness = randomness
        self._edges: Places = np.array([0, len(users_before) - 1])
        self._used: Places = np.array([0])

    def draw_group(self, starts: Places, ends: Places, size: int) -> Places:
        """Draw `size` users nobody has asked yet; return how many of them lie in each of some disjoint ranges."""
        self._split_at(np.concatenate([starts, ends]))
        unused = self._users(self._edges) - self._used
        drawn = self._randomness.multivariate_hypergeometric(unused, size, method="marginals")
        self._used = self._used + drawn
        before = np.concatenate([[0], np.cumsum(drawn)])
        inside: Places = before[np.searchsorted(self._edges, ends)] - before[np.searchsorted(self._edges, starts)]
        return inside

    def _users(self, edges: Places) -> Places:
        return np.diff(self._users_before[edges])

    def _split_at(self, places: Places) -> None:
        """Make every place an edge."""
        edges = np.union1d(self._edges, places)
        if len(edges) > len(self._edges):
            firsts = np.searchsorted(edges, self._edges)
            self._used = self._deal(edges, firsts, self._used)
            self._edges = edges

    def _deal(self, edges: Places, firsts: Places, used: Places) -> Places:
        """Deal each cell's used users to its parts: to its two halves at random, then to theirs, and so on.

        `firsts` are the places in `edges` of the cells' edges, whose users are already known.
        """
        while len(firsts) < len(edges):
            left, right = firsts[:-1], firsts[1:]
            middles = (left + right + 1) // 2
            below, above = self._users_before[edges[middles]], self._users_before[edges[right]]
            in_left = below - self._users_before[edges[left]]
            to_left = self._hypergeometric(in_left, above - below, used)
            divided = middles < right
            firsts = np.union1d(firsts, middles)
            used = np.stack([to_left, used - to_left], axis=1).ravel()[
                np.stack([np.ones_like(divided), divided], axis=1).ravel()
            ]
        return used

    def _hypergeometric(self, good: Places, bad: Places, sample: Places) -> NDArray[np.int64]:
        return self._randomness.hypergeometric(good, bad, sample)
