"""The counting face of an oracle: many devices at once, the tally of their reports, and what it says of frequencies.

A report supports its true slot with probability p and any other slot with probability q, and everything an oracle
estimates follows from these two numbers (Wang et al. 2017, "pure" protocols). Reports are columns of numbers, the same
in simulations, in report files and, byte by byte, on the wire.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.errors import InvalidInput
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.random_words import GeneratorWords, RandomWords
from treetop.privacy.epsilon import Epsilon

Counts = NDArray[np.int64]
Frequencies = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """How many reports support each slot; tallies of disjoint reports add up."""

    support: Counts
    """In 64 bits, except in a spectrum of all names (`oracles.walsh.spectrum`): there in 32 where they suffice."""
    reports: int

    def __add__(self, other: Self) -> Self:
        return type(self)(self.support + other.support, self.reports + other.reports)


Keys = NDArray[np.uint64]
Columns = tuple[NDArray[Any], ...]
"""One array for each number of a report: k-RR slots; OUE rows of packed bits; OLH and walsh seeds and buckets."""
Reports = TypeVar("Reports")
NO_KEYS: Keys = np.empty(0, dtype=np.uint64)
CELLS_AT_ONCE = 1 << 15
"""Random numbers of reports that are perturbed together: they fit a processor's cache."""
MAX_REPORTS = (1 << 31) - 1
"""Counters of a compiled loop have 32 bits; with more reports, add tallies."""
TAIL = 1e-12
"""How rarely honest reports are called crafted."""


class FrequencyOracle(ABC, Generic[Reports]):
    """One question with d slots, the dummy counted in d, asked under epsilon-LDP."""

    name: ClassVar[str]
    listed: ClassVar[bool]
    """Whether devices answer with a slot of a published list; otherwise they hash the key of their value."""
    one_slot: ClassVar[bool] = False
    """Whether a report supports one slot only, so that the support of all slots adds up to the reports."""
    screens: ClassVar[bool] = False
    """Whether dishonest reports can be detected."""

    p: float
    q: float

    def __init__(self, epsilon: Epsilon, size: int) -> None:
        if size < 2:
            raise InvalidInput("domain_too_small", size=size)
        self.epsilon = epsilon
        self.size = size
        self.p, self.q = self.probabilities()

    @classmethod
    def over_list(cls, epsilon: Epsilon, size: int) -> "FrequencyOracle[Reports]":
        """Return the oracle for a list that devices know, whose dummy is counted."""
        return cls(epsilon, size)

    @abstractmethod
    def probabilities(self) -> tuple[float, float]:
        """Return p and q: how likely a report supports the slot it came from, and any other."""

    @abstractmethod
    def perturbed(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: one report for each value (a slot, or a key where keys are hashed)."""

    @classmethod
    @abstractmethod
    def layout(cls, report_slots: int) -> np.dtype[Any]:
        """Return the columns of a report as a structured type; on the wire its numbers are big-endian."""

    @classmethod
    @abstractmethod
    def support(cls, columns: Columns, report_slots: int, keys: Keys) -> Counts:
        """Run by the party: the support of every slot, or of every key, in compiled loops; no epsilon is needed."""

    @classmethod
    def in_range(cls, columns: Columns, report_slots: int) -> bool:
        """Return whether the reports have only slots, buckets or bits that there are."""
        return int(columns[-1].max(initial=0)) < report_slots

    @cached_property
    def odds(self) -> Fraction:
        """Return the rational just below e^epsilon that devices compute their thresholds from."""
        return self.epsilon.odds_below

    @property
    def report_slots(self) -> int:
        """Return the number in the envelope of reports: d, unless values are hashed into buckets."""
        return self.size

    @property
    def slots(self) -> int:
        """Return how many slots a tally counts: all d, unless an oracle has no report for the dummy."""
        return self.size

    @property
    def report_cells(self) -> int:
        """Return the random numbers of one report."""
        return 1

    @property
    def report_bits(self) -> int:
        """Return the information in a report, in bits."""
        return 8 * self.layout(self.report_slots).itemsize

    def perturb(self, values: NDArray[Any], words: RandomWords) -> Columns:
        """Run by simulated devices: reports of many values, in batches that fit the cache."""
        forms = columns_of(self.layout(self.report_slots)).values()
        columns = tuple(np.empty((len(values), *form.shape), dtype=form.base) for form in forms)
        at_once = max(1, CELLS_AT_ONCE // self.report_cells)
        for start in range(0, len(values), at_once):
            batch = slice(start, start + at_once)
            for column, reports in zip(columns, self.perturbed(values[batch], words), strict=True):
                column[batch] = reports
        return columns

    def tally(self, columns: Columns, keys: Keys = NO_KEYS) -> Tally:
        """Run by the party: count the support of every slot, or of every candidate's key."""
        return Tally(self.support(columns, self.report_slots, keys), len(columns[0]))

    @classmethod
    def no_reports(cls, report_slots: int, keys: Keys = NO_KEYS) -> Tally:
        """Return the tally of no reports."""
        return Tally(np.zeros(report_slots if cls.listed else len(keys), dtype=np.int64), 0)

    @classmethod
    def every_name(cls, bits: int, report_slots: int) -> Any:  # noqa: ARG003
        """Return an empty sum of reports that counts all names of that length, or refuse where there is none."""
        raise InvalidInput("names_not_counted", name=cls.name, bits=bits)

    def sample_tally(self, holders: Counts, randomness: Generator) -> Tally:
        """Draw the tally of users of whom holders[v] hold slot v: by drawing reports, unless the law is known.

        A key stands for each slot where keys are hashed, and one for all that no slot stands for.
        """
        words = GeneratorWords(randomness)
        slots = np.arange(self.size, dtype=np.int64 if self.listed else np.uint64)
        if not self.listed:
            slots[-1] = NO_CODE_KEY
        keys = slots[: self.slots].astype(np.uint64)
        tally = self.no_reports(self.report_slots, keys)
        for slot, users in zip(slots, holders.tolist(), strict=True):
            tally += self.tally(self.perturb(np.full(users, slot), words), keys)
        return tally

    def as_reports(self, columns: Columns) -> Any:
        """Return columns as `treetop.perturb` gives them to a person."""
        return columns

    def surprising(self, columns: Columns, keys: Keys) -> int:  # noqa: ARG002
        """Run by the party: how many reports honest devices do not send, or rarely."""
        return 0

    def beyond_chance(self, surprising: int, reports: int, keys: int) -> int:  # noqa: ARG002
        """Return the number of surprising reports if honest devices would hardly send that many, otherwise 0."""
        return surprising

    def estimate(self, tally: Tally) -> Frequencies:
        """Return unbiased signed frequencies (c / n - q) / (p - q); without reports, nothing is known: zeros."""
        if tally.reports == 0:
            return np.zeros(len(tally.support))
        # E[c / n] = f p + (1 - f) q for every pure protocol (Wang et al. 2017), solved for f. Never clipped here:
        # clipped estimates are biased, and sums over parties would add the bias up.
        return (tally.support / tally.reports - self.q) / (self.p - self.q)

    def variance(self, frequency: Any, reports: int) -> Any:
        """Return Var[f^] in full: q(1-q) / (n (p-q)^2) + f (1-p-q) / (n (p-q)).

        The support c is the sum of Bin(n f, p) and Bin(n (1 - f), q) (Wang et al. 2017). The paper prints the limit
        f -> 0, which Eqs. 9 and 10 use.
        """
        n = reports
        p = self.p
        q = self.q
        if n == 0:
            return frequency * 0 + np.inf
        return q * (1 - q) / (n * (p - q) ** 2) + frequency * (1 - p - q) / (n * (p - q))


def columns_of(layout: np.dtype[Any]) -> dict[str, np.dtype[Any]]:
    """Return the columns of a layout by name."""
    return {name: layout[name] for name in layout.names or ()}


def independent_support(holders: Counts, slots: int, p: float, q: float, randomness: Generator) -> Tally:
    """Draw Bin(n_v, p) + Bin(n - n_v, q) for each slot: slots are supported independently of each other."""
    reports = int(holders.sum())
    held = holders[:slots]
    support = randomness.binomial(held, p) + randomness.binomial(reports - held, q)
    return Tally(support, reports)


def refuse_many(reports: int) -> None:
    """Refuse more reports than the counters of a compiled loop hold."""
    if reports > MAX_REPORTS:
        raise InvalidInput("too_many_reports", max_reports=MAX_REPORTS, reports=reports)


def refuse_large(what: str, values: NDArray[Any], size: int) -> None:
    """Refuse a value outside its range: a compiled loop would write outside its table."""
    largest = int(values.max(initial=0))
    if largest >= size:
        raise InvalidInput("value_too_large", what=what, size=size, largest=largest)


# Laws of what honest reports look like. Reports in their far tail do not break a count; they show an attack (threat
# model, T10).


def own_and_others(p: float, others: int, q: float) -> Frequencies:
    """Return the law of Bern(p) + Bin(others, q): the chance of 0, 1, ..., others + 1."""
    chances = np.zeros(others + 2)
    chances[:-1] = (1 - p) * binomial(others, q)
    chances[1:] += p * binomial(others, q)
    return chances


def binomial(trials: int, q: float) -> Frequencies:
    """Return the chances of 0 to all, each from the one before, in logarithms: no power of q is too small."""
    index = np.arange(trials)
    ratios = np.log((trials - index) / (index + 1)) + np.log(q) - np.log1p(-q)
    logarithms: Frequencies = trials * np.log1p(-q) + np.concatenate([[0.0], np.cumsum(ratios)])
    return np.exp(logarithms)


def max_of(law: Frequencies, tail: float) -> int:
    """Return the smallest number whose excess has at most that chance."""
    return len(law) - 1 - int(np.searchsorted(np.cumsum(law[::-1]), tail, side="right"))
