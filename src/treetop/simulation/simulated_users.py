"""The simulated users of a party: device by device, the reference, or drawn from the exact law of their tallies.

Exact simulation costs levels x candidates. For k-RR and OUE it draws from the law of the reports; for OLH from their
law under an ideal hash, whose buckets for different values are independent and uniform; for walsh under uniform masks,
as far as single names and pairs go.

The exact simulator tracks no more of the population than a run has looked at. A level's group is a random subset of
users without replacement. By exchangeability users need no identities: it is enough to know, for cells that partition
the sorted population, how many users each holds and how many of them earlier groups have used. Asking about a prefix
splits its cell at the prefix's ends; which of a cell's users were used is uniform among them, so the used ones fall to
the parts hypergeometrically.
"""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.errors import PromiseBroken
from treetop.mechanisms.dialogue import CollectNames, CollectReports, DivideUsers, DrawGroup, NameReports
from treetop.oracles.frequency_oracle import Columns, Tally
from treetop.oracles.hashing import chunk_keys
from treetop.oracles.name_reports import CountedNameReports, refuse_listed
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.walsh.device import no_name
from treetop.privacy.guarantee import OncePerUser
from treetop.simulation.drawn_names import DrawnNameReports
from treetop.simulation.population import PartyPopulation, Places
from treetop.trie.user_groups import Group, GroupSizes

EVERYBODY = Group(1)
"""The one group of users who are not divided."""


class SimulatedUsers(ABC):
    """The simulated users of one party: divided once, each group asked once."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        self.party = party
        self.randomness = randomness
        self.sizes: GroupSizes = {}
        self._once = OncePerUser()

    def divide(self, request: DivideUsers) -> None:
        """Fix the size of every group; the members are random."""
        for group, size in (self._drawn(request.sizes) if request.independent else request.sizes).items():
            self._admit(group, size)

    def draw(self, request: DrawGroup) -> None:
        """Let every user who is in no group yet join this one with the same probability."""
        undecided = self.party.users - sum(self.sizes.values())
        self._admit(request.group, int(self.randomness.binomial(undecided, request.share)))

    def _admit(self, group: Group, size: int) -> None:
        self._once.admit(group)
        left = self.party.users - sum(self.sizes.values())
        if size > left:
            raise PromiseBroken("group_too_large", group=group, size=size, left=left)
        self.sizes[group] = size

    def _drawn(self, sizes: GroupSizes) -> GroupSizes:
        """Let every user draw her group with the sizes as weights."""
        weights = [size / self.party.users for size in sizes.values()]
        drawn = self.randomness.multinomial(self.party.users, weights).tolist()
        return dict(zip(sizes, drawn, strict=True))

    def collect(self, request: CollectReports) -> Tally:
        """Answer for a group that has not answered before."""
        self._once.spend(request.group)
        return self._answer(request, request.group)

    def name_reports(self, request: CollectNames) -> NameReports:
        """Let every user report her name, or a chunk of its text; nobody reports anything else before or after."""
        refuse_listed(request.oracle)
        if request.bits != self.party.bits:
            raise AssertionError(f"names of {request.bits} bits are asked for, but codes have {self.party.bits}")
        self._admit(EVERYBODY, self.party.users)
        self._once.spend(EVERYBODY)
        return self._named(request)

    @abstractmethod
    def _named(self, request: CollectNames) -> NameReports:
        """Return what all users report."""

    @abstractmethod
    def _answer(self, request: CollectReports, group: Group) -> Tally:
        """Return the tally of the group's reports."""


CELLS_AT_ONCE = 1 << 22
"""Cells of reports that are perturbed together: this bounds the memory of a tally."""
SMALL_REPORT = 64
"""Cells that a smaller report counts as, so that a batch of small ones is bounded as well."""


class DeviceByDeviceUsers(SimulatedUsers):
    """Users who are shuffled, dealt to the groups and perturbed one by one, in vectors: the reference."""

    @cached_property
    def _users(self) -> NDArray[np.int32]:
        """Return the index of every user's code, in random order: groups are consecutive stretches of them."""
        users = np.repeat(np.arange(len(self.party.counts), dtype=np.int32), self.party.counts)
        self.randomness.shuffle(users)
        return users

    def _members(self, group: Group) -> NDArray[np.int32]:
        groups = list(self.sizes)
        first = sum(self.sizes[earlier] for earlier in groups[: groups.index(group)])
        return self._users[first : first + self.sizes[group]]

    def _named(self, request: CollectNames) -> NameReports:
        """Let every user draw her kind, and perturb the key of what she then reports."""
        kinds = self.randomness.choice(len(request.weights), self.party.users, p=request.weights)
        columns = [self._reports_of(request, kind, self._users[kinds == kind]) for kind in range(len(request.weights))]
        sizes = tuple(len(reports[0]) for reports in columns)
        return CountedNameReports(request.oracle, request.bits, sizes, lambda kind: [columns[kind]])

    def _reports_of(self, request: CollectNames, kind: int, users: NDArray[np.int32]) -> Columns:
        """Perturb whole names, or the keys of one chunk; a user without a code has one key for all kinds."""
        keys = self.party.codes.astype(np.uint64)
        if kind:
            keys = chunk_keys(keys, kind - 1, self.party.text_chunks[:, kind - 1], request.bits)
        keys = np.append(keys, np.uint64(no_name(request.bits)))
        return request.oracle.perturb(keys[users], GeneratorWords(self.randomness))

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        """Perturb and count the users of a group, in batches whose reports fit into bounded memory."""
        oracle = request.oracle
        domain = request.domain
        if oracle.listed:  # the slot of every code of the party: its candidate's, or the dummy's
            value_of = np.append(domain.slots_of(self.party.values(domain)), len(domain))
        else:
            value_of = np.append(domain.keys(self.party.values(domain)), np.uint64(NO_CODE_KEY))
        keys = np.append(domain.keys(domain.prefixes), np.uint64(NO_CODE_KEY))[: oracle.slots]
        members = self._members(group)
        words = GeneratorWords(self.randomness)
        total = oracle.no_reports(oracle.report_slots, keys)
        at_once = max(1, CELLS_AT_ONCE // max(SMALL_REPORT, oracle.report_cells))
        for start in range(0, len(members), at_once):
            total += oracle.tally(oracle.perturb(value_of[members[start : start + at_once]], words), keys)
        return total


class LazyCells:
    """A partition of the indices 0 .. n of a party's sorted codes."""

    def __init__(self, users_before: Places, randomness: Generator) -> None:
        self._users_before = users_before
        self._randomness = randomness
        self._edges: Places = np.array([0, len(users_before) - 1])
        self._users: Places = np.array([users_before[-1]])
        self._used: Places = np.array([0])

    def draw_group(self, starts: Places, ends: Places, size: int) -> Places:
        """Draw `size` users who have not been asked yet; return how many lie in each of some disjoint ranges."""
        self._split_at(starts, ends)
        unused = self._users - self._used
        # numpy's other method, "count", allocates an entry for every user.
        drawn = self._randomness.multivariate_hypergeometric(unused, size, method="marginals")
        self._used = self._used + drawn
        before = np.zeros(len(self._edges), dtype=np.int64)
        drawn.cumsum(out=before[1:])
        inside: Places = before[self._cell_at(ends)] - before[self._cell_at(starts)]
        return inside

    def _cell_at(self, edges: Places) -> Places:
        """Return the cell that begins at each edge: the edge itself where every index is one."""
        return edges if len(self._edges) == len(self._users_before) else self._edges.searchsorted(edges)

    def _split_at(self, starts: Places, ends: Places) -> None:
        """Make all of these indices edges, and deal the used users of a cell to its parts."""
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
        """Deal the used users of part `left` to the parts left .. right - 1: to two halves, then to theirs, and so on.

        Halving lets one vectorised draw split all cells: their number is the logarithm of a cell's parts.
        """
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
    """Users who are counted, never drawn one by one: their tallies follow the exact law of the module's docstring."""

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
