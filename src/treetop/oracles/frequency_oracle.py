"""The protocol of a frequency oracle.

An oracle asks one question: "which of these d slots holds your value?", the last slot being the dummy for "none
of these". A report supports its true slot with probability p and any other slot with probability q, and
everything an oracle estimates follows from these two numbers (Wang et al. 2017, "pure" protocols).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.errors import InvalidInput
from treetop.oracles.tallies import Counts, Frequencies, Tally
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.guarantee import Guarantee

Keys = NDArray[np.uint64]
Reports = TypeVar("Reports")

CACHED = 64
"""Room given to a small report, so that those counted together fit into a processor's cache."""


class FrequencyOracle(ABC, Generic[Reports]):
    """One question with d slots, the dummy counted in d, asked under epsilon-LDP."""

    name: ClassVar[str]
    needs_candidates: ClassVar[bool]
    """Whether a device answers with a slot of a published list; otherwise it hashes the key of its value."""

    p: float
    q: float

    def __init__(self, epsilon: Epsilon, size: int) -> None:
        if size < 2:
            raise InvalidInput(f"a domain needs one candidate and the dummy at least, found {size} slots")
        self.epsilon = epsilon
        self.size = size
        self.p, self.q = self.probabilities()

    @abstractmethod
    def probabilities(self) -> tuple[float, float]:
        """Return p and q: how likely a report supports the slot it came from, and any other."""

    @abstractmethod
    def perturb(self, values: NDArray[Any], randomness: Generator) -> Reports:
        """Run by simulated devices: one report for each value (a slot, or a key where keys are hashed)."""

    @abstractmethod
    def tally(self, reports: Reports, keys: Keys) -> Tally:
        """Run by the party: count the support of every slot, or of every candidate's key."""

    @abstractmethod
    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw the tally of users of whom holders[v] hold slot v from its exact distribution."""

    @property
    def slots(self) -> int:
        """Return how many slots a tally counts: all d, unless an oracle has no report for the dummy."""
        return self.size

    @property
    def report_cells(self) -> int:
        """Return how much room a report takes while it is counted, in numbers."""
        return CACHED

    @property
    def guarantee(self) -> Guarantee:
        """Return what one report gives away."""
        return Guarantee(self.epsilon, self.name)

    def estimate(self, tally: Tally) -> Frequencies:
        """Return unbiased signed frequencies (c / n - q) / (p - q); without reports, nothing is known: zeros."""
        if tally.reports == 0:
            return np.zeros(len(tally.support))
        return (tally.support / tally.reports - self.q) / (self.p - self.q)

    def variance(self, frequency: Any, reports: int) -> Any:
        """Return Var[f^] in full: q(1-q) / (n (p-q)^2) + f (1-p-q) / (n (p-q)).

        The paper prints the limit f -> 0, which Eqs. 9 and 10 use.
        """
        n, p, q = reports, self.p, self.q
        if n == 0:
            return frequency * 0 + np.inf
        return q * (1 - q) / (n * (p - q) ** 2) + frequency * (1 - p - q) / (n * (p - q))


def independent_support(holders: Counts, slots: int, p: float, q: float, randomness: Generator) -> Tally:
    """Draw Bin(n_v, p) + Bin(n - n_v, q) for each slot: slots are supported independently of each other."""
    reports = int(holders.sum())
    held = holders[:slots]
    support = randomness.binomial(held, p) + randomness.binomial(reports - held, q)
    return Tally(support, reports)
