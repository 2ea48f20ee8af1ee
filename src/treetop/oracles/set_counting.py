"""Reports of sets: many devices at once, and the p and q by which they are counted.

A report supports what its user has in T with p = e^eps / Omega, Omega = m e^eps + t - m, and anything else with 1 / t;
counting, variance and marks take these two as they do for one item. The items of one user are not supported
independently of each other, so there is no `sample_tally` from numbers of holders: `simulation.set_users` draws users.
"""

from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Columns, Counts, Keys, max_of, own_and_others
from treetop.oracles.hashing import buckets, outcomes, premixed
from treetop.oracles.olh.counting import RARE, HashCounting
from treetop.oracles.random_words import RandomWords, Words32
from treetop.oracles.set_reports import SetFace, SetLocalHashing, SetOracle, SetWalshHashing
from treetop.oracles.walsh.counting import ParityCounting
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import WORDS

Starts = NDArray[np.int64]
"""User u has the entries from starts[u] to starts[u + 1]."""


class SetCounting(HashCounting):
    """What is the same for OLH and walsh: sets of keys instead of keys."""

    form: type[SetOracle]

    def __init__(self, epsilon: Epsilon, size: int, items: int) -> None:
        self.items = items
        super().__init__(epsilon, size)

    @classmethod
    def over_list(cls, epsilon: Epsilon, size: int) -> NoReturn:
        """Refuse: a device with a set hashes its items, also where it knows a list."""
        raise AssertionError(f"a list of {size} at {epsilon} is not asked about by reports of sets")

    @cached_property
    def face(self) -> SetFace:
        """Return the device's face, whose integers simulated devices use."""
        return self.form(self.items).set_face(self.odds)

    @cached_property
    def report_slots(self) -> int:
        """Return t."""
        return self.form(self.items).slots_for(self.odds)

    def probabilities(self) -> tuple[float, float]:
        """Return p = e^eps / Omega and q = 1 / t."""
        m = self.items
        t = self.report_slots
        odds = self.epsilon.odds
        return odds / (m * odds + t - m), 1 / t

    def hashed(self, seeds: Words32, keys: Keys) -> NDArray[np.int64]:
        """Return the bucket of every key, each under its own seed."""
        return buckets(seeds, *premixed(keys), self.report_slots).astype(np.int64)

    def perturb_sets(self, starts: Starts, keys: Keys, words: RandomWords) -> Columns:
        """Run by simulated devices: one report for each user, whose T has the keys of her entries, m at most."""
        from treetop.oracles.kernels import reported_buckets  # noqa: PLC0415  numba loads only where one counts

        users = len(starts) - 1
        seeds = words.words32(users)
        drawn = words.words64(users)
        found = self.hashed(seeds.repeat(np.diff(starts)), keys)
        columns = seeds, np.empty(users, dtype=self.layout(self.report_slots)["bucket"])
        reported_buckets(starts, found, drawn, *self._edges, columns[1])
        return columns

    @cached_property
    def _edges(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return h A for every h, and the first word of each other bucket: where the device's divisions step."""
        A = self.face.own
        t = self.report_slots
        m = self.items
        own = np.array([h * A for h in range(m + 1)], dtype=np.uint64)
        others = np.zeros((m + 1, t), dtype=np.uint64)
        for h in range(m + 1):
            others[h, : t - h] = [h * A + -(-j * (WORDS - h * A) // (t - h)) for j in range(t - h)]
        return own, others

    def perturbed(self, values: Keys, words: RandomWords) -> Columns:
        """Run by simulated devices that hold one item each."""
        return self.perturb_sets(np.arange(len(values) + 1), values, words)

    def sample_tally(self, holders: Counts, randomness: Generator) -> NoReturn:  # noqa: ARG002
        """Refuse: numbers of holders do not say who holds what together."""
        raise AssertionError(f"{len(holders)} numbers of holders do not give the law of {self.name} for sets")

    def _max_supported(self, keys: int) -> tuple[int, float]:
        """Return the bounds for one item with m p for p: a report is of a bucket in T with that chance at most."""
        law = own_and_others(min(1.0, self.items * self.p), keys - 1, self.q)
        most = max_of(law, RARE)
        return most, float(law[most + 1 :].sum())


class SetHashCounting(SetCounting):
    """OLH for sets."""

    form = SetLocalHashing


class SetParityCounting(SetCounting, ParityCounting):
    """Walsh for sets."""

    form = SetWalshHashing

    def hashed(self, seeds: Words32, keys: Keys) -> NDArray[np.int64]:
        """Return the outcome of every key, each under its own seed."""
        return outcomes(seeds, keys, self.report_slots).astype(np.int64)
