"""Exact simulation: tallies drawn from their exact distribution, at a cost of levels x candidates.

For k-RR and OUE this is the law of the reports; for OLH it is their law under an ideal hash, whose buckets for
different values are independent and uniform; for walsh under uniform masks, as far as single names and pairs go.

Who is still to be asked is kept for no more of the population than a run has looked at. A level's group is a random
subset of users without replacement. By exchangeability nobody needs to be named: it is enough to know, for cells that
partition the sorted population, how many users each holds and how many of them earlier groups have used. Asking about a
prefix splits its cell at the prefix's ends; which of a cell's users were used is uniform among them, so the used ones
fall to the parts hypergeometrically.
"""

import numpy as np
from numpy.random import Generator

from treetop.mechanisms.dialogue import CollectNames, CollectReports, NameReports
from treetop.oracles.frequency_oracle import Tally
from treetop.simulation.drawn_names import DrawnNameReports
from treetop.simulation.population import PartyPopulation, Places
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.user_groups import Group


class LazyCells:
    """A partition of the places 0 .. n of a party's sorted codes."""

    def __init__(self, users_before: Places, randomness: Generator) -> None:
        self._users_before = users_before
        self._randomness = randomness
        self._edges: Places = np.array([0, len(users_before) - 1])
        self._users: Places = np.array([users_before[-1]])
        self._used: Places = np.array([0])

    def draw_group(self, starts: Places, ends: Places, size: int) -> Places:
        """Draw `size` users nobody has asked yet; return how many of them lie in each of some disjoint ranges."""
        self._split_at(starts, ends)
        unused = self._users - self._used
        drawn = self._randomness.multivariate_hypergeometric(unused, size, method="marginals")
        self._used = self._used + drawn
        before = np.zeros(len(self._edges), dtype=np.int64)
        drawn.cumsum(out=before[1:])
        inside: Places = before[self._cell_at(ends)] - before[self._cell_at(starts)]
        return inside

    def _cell_at(self, edges: Places) -> Places:
        """Return which cell begins at each edge; where every place is an edge there is nothing to look up."""
        return edges if len(self._edges) == len(self._users_before) else self._edges.searchsorted(edges)

    def _split_at(self, starts: Places, ends: Places) -> None:
        """Make every place an edge, and deal the used users of a cell to its parts."""
        edges = np.concatenate([self._edges, starts, ends])
        edges.sort(kind="stable")  # three ascending runs: merged fast
        new = np.ones(len(edges), dtype=np.bool_)
        np.not_equal(edges[1:], edges[:-1], out=new[1:])
        edges = edges[new]
        if len(edges) == len(self._edges):
            return
        firsts = edges.searchsorted(self._edges)
        used = np.zeros(len(edges) - 1, dtype=np.int64)
        used[firsts[:-1]] = self._used
        before = self._users_before[edges]
        self._deal(used, before, firsts[:-1], firsts[1:])
        self._edges = edges
        self._users = before[1:] - before[:-1]
        self._used = used

    def _deal(self, used: Places, before: Places, left: Places, right: Places) -> None:
        """Deal what lies in part `left` to the parts left .. right - 1: to two halves, then to theirs, and so on."""
        while True:
            divided = (right - left > 1) & (used[left] > 0)
            left, right = left[divided], right[divided]
            if not len(left):
                return
            middle = (left + right) // 2
            stay = self._randomness.hypergeometric(
                before[middle] - before[left], before[right] - before[middle], used[left]
            )
            used[middle] = used[left] - stay
            used[left] = stay
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])


class ExactUsers(SimulatedUsers):
    """Users who are counted, never drawn one by one."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        super().__init__(party, randomness)
        self._cells = LazyCells(party.users_before, randomness)

    def _named(self, request: CollectNames) -> NameReports:
        """Return the support of names, which is drawn as it is asked for."""
        return DrawnNameReports(self.party, request, self.randomness)

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        starts, ends = self.party.places(request.domain.prefixes, request.domain.length)
        held = self._cells.draw_group(starts, ends, self.sizes[group])
        holders = np.empty(len(held) + 1, dtype=np.int64)
        holders[:-1] = held
        holders[-1] = self.sizes[group] - held.sum()
        return request.oracle.sample_tally(holders, self.randomness)
