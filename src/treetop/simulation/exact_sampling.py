"""Exact simulation: tallies drawn from their exact distribution, at a cost of levels x candidates.

For k-RR and OUE this is the law of the reports; for OLH it is their law under an ideal hash, whose buckets for
different values are independent and uniform.
"""

import numpy as np
from numpy.random import Generator

from treetop.mechanisms.requests import CollectReports
from treetop.oracles.tallies import Tally
from treetop.simulation.lazy_cells import LazyCells
from treetop.simulation.population import PartyPopulation
from treetop.simulation.respondents import Respondents
from treetop.trie.user_groups import Group


class ExactRespondents(Respondents):
    """Users who are counted, never drawn one by one."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        super().__init__(party, randomness)
        self._cells = LazyCells(party.users_before, randomness)

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        starts, ends = self.party.places(request.domain.prefixes, request.domain.length)
        held = self._cells.draw_group(starts, ends, self.sizes[group])
        others = self.sizes[group] - held.sum()
        return request.oracle.sample_tally(np.append(held, others), self.randomness)
