"""The reference simulation: every user is in a group, holds a value and perturbs it."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treetop.mechanisms.dialogue import CollectReports
from treetop.oracles.frequency_oracle import Keys
from treetop.oracles.tallies import Tally
from treetop.simulation.population import Places
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.user_groups import Group

NO_CODE_KEY = np.uint64(2**64 - 1)
"""What users without a code hash: any value that no candidate has will do."""
CELLS_AT_ONCE = 1 << 22


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

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        oracle, domain = request.oracle, request.domain
        value_of = self._slots(domain) if oracle.needs_candidates else self._keys(domain)
        keys = np.append(domain.keys(domain.prefixes), NO_CODE_KEY)[: oracle.slots]
        total = Tally(np.zeros(oracle.slots, dtype=np.int64), 0)
        for members in _some_at_once(self._members(group), oracle.report_cells):
            reports = oracle.perturb(value_of[members], self.randomness)
            total += oracle.tally(reports, keys)
        return total

    def _slots(self, domain: CandidateDomain) -> Places:
        """Return the slot of every code of the party: its candidate's, or the dummy's."""
        return np.append(domain.slots_of(self.party.values(domain)), len(domain))

    def _keys(self, domain: CandidateDomain) -> Keys:
        """Return the key of what the holders of every code are asked for."""
        return np.append(domain.keys(self.party.values(domain)), NO_CODE_KEY)


def _some_at_once(members: NDArray[np.int32], report_cells: int) -> Iterator[NDArray[np.int32]]:
    """Yield stretches of members whose reports fit into bounded memory."""
    length = max(1, CELLS_AT_ONCE // report_cells)
    for start in range(0, len(members), length):
        yield members[start : start + length]
