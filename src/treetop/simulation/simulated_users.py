"""Who answers a party's requests in a simulation; and the reference, in which every user perturbs her value."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.errors import PromiseBroken
from treetop.mechanisms.dialogue import CollectNames, CollectReports, DivideUsers, DrawGroup, NameReports
from treetop.oracles.frequency_oracle import Columns, Tally
from treetop.oracles.name_reports import CountedNameReports, refuse_listed
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.walsh.device import no_name
from treetop.oracles.walsh.hashing import chunk_keys
from treetop.privacy.guarantee import OncePerUser
from treetop.simulation.population import PartyPopulation
from treetop.trie.user_groups import Group, GroupSizes

EVERYBODY = Group(1)
"""Where users are not divided."""


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
        """Let every user report her name, or a chunk of its text: all of them, and nothing else before or after."""
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
SMALL_REPORT = 64
"""Cells that a report counts for at least."""


class DeviceByDeviceUsers(SimulatedUsers):
    """Users who are shuffled, dealt to the groups and perturbed one and all, in vectors."""

    @cached_property
    def _users(self) -> NDArray[np.int32]:
        """Return the place of every user's code, in random order: groups are consecutive stretches of them."""
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
        """Perturb and count the users of a group, so many at once that their reports fit into bounded memory."""
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
