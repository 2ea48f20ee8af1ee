"""Who answers a party's requests in a simulation."""

from abc import ABC, abstractmethod

from numpy.random import Generator

from treetop.mechanisms.dialogue import CollectReports, DivideUsers, DrawGroup
from treetop.oracles.tallies import Tally
from treetop.privacy.once_per_user import OncePerUser
from treetop.simulation.population import PartyPopulation
from treetop.trie.user_groups import Group, GroupSizes


class SimulatedUsers(ABC):
    """The simulated users of one party: divided once, each group asked once."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        self.party, self.randomness = party, randomness
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

    @abstractmethod
    def _answer(self, request: CollectReports, group: Group) -> Tally:
        """Return the tally of the group's reports."""
