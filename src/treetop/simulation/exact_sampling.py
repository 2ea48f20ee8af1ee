"""Exact simulation: tallies drawn from their exact distribution, at a cost of levels x candidates.

For k-RR and OUE this is the law of the reports; for OLH it is their law under an ideal hash, whose buckets for
different values are independent and uniform.
"""

import numpy as np
from numpy.random import Generator

from treetop.mechanisms.dialogue import CollectReports
from treetop.oracles.tallies import Tally
from treetop.simulation.lazy_cells import LazyCells
from treetop.simulation.population import PartyPopulation, Places
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.candidate_domain import CandidateDomain, ChunkDomain
from treetop.trie.user_groups import Group


class ExactUsers(SimulatedUsers):
    """Users who are counted, never drawn one by one."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        super().__init__(party, randomness)
        self._cells = LazyCells(party.users_before, randomness)

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        drawn = self._draw_chunk if isinstance(request.domain, ChunkDomain) else self._draw_prefixes
        held = drawn(request.domain, self.sizes[group])
        holders = np.empty(len(held) + 1, dtype=np.int64)
        holders[:-1] = held
        holders[-1] = self.sizes[group] - held.sum()
        return request.oracle.sample_tally(holders, self.randomness)

    def _draw_prefixes(self, domain: CandidateDomain, size: int) -> Places:
        starts, ends = self.party.places(domain.prefixes, domain.length)
        return self._cells.draw_group(starts, ends, size)

    def _draw_chunk(self, domain: CandidateDomain, size: int) -> Places:
        """Draw the holders of every single text behind the hashes, and add up those with the same chunk value."""
        slots = domain.slots_of(self.party.values(domain))
        asked = np.flatnonzero(slots < len(domain))
        drawn = self._cells.draw_group(asked, asked + 1, size)
        held: Places = np.bincount(slots[asked], drawn, len(domain)).astype(np.int64)
        return held
