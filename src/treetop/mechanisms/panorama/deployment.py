"""Panorama in a deployment: what devices draw, and how their reports are divided."""

from abc import abstractmethod
from typing import Any

from treetop.encoding.text_code import CHUNK_BITS
from treetop.mechanisms.dialogue import Roster
from treetop.mechanisms.panorama.plan import PanoramaParameters, PanoramaPlan
from treetop.mechanisms.panorama.texts import ListedNames
from treetop.mechanisms.protocol import Mechanism
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.walsh import WalshHashing
from treetop.trie.user_groups import Group, GroupSizes

WHOLE_WEIGHT = 1 << 30
"""What the weights of all kinds of reports add up to in a task, nearly: they are whole numbers there."""


class DeployedNames(Mechanism[PanoramaParameters]):
    """All that a deployment asks of Panorama, whose dialogues are in `mechanism`."""

    listed: ListedNames
    discovers: bool
    texts: bool

    modes = ("one-shot",)
    reports_names = True
    tolerates_small_groups = True
    hashing_oracle = WalshHashing.name

    @abstractmethod
    def plan(self, parameters: PanoramaParameters, roster: Roster) -> PanoramaPlan:
        """Return what is public before the first report."""

    @abstractmethod
    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        """Return how names are reported."""

    def task_lengths(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        """Return the bits of a name, and of a name with its first chunks; refuse an oracle that cannot count them."""
        if self.discovers:
            oracle = self.oracle(parameters)
            oracle.every_name(parameters.bits, oracle.report_slots)
        b, chunks = parameters.bits, parameters.text_chunks if self.texts else 0
        return (0, *(b + CHUNK_BITS * chunk for chunk in range(chunks + 1)))

    def group_weights(self, parameters: PanoramaParameters) -> GroupSizes:
        """Return the weights of every kind of report, as whole numbers."""
        plan = PanoramaPlan.of(parameters, len(self.listed), signed=False, discovers=self.discovers, texts=self.texts)
        return {Group(1 + kind): round(WHOLE_WEIGHT * weight) for kind, weight in enumerate(plan.weights)}
