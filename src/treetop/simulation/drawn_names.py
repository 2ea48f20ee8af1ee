"""Exact simulation of name reports: the support of every possible name, drawn only when it is asked for.

A name that h of r reporting users hold is supported by Bin(h, p) + Bin(r - h, q) reports, independently of all others
under an ideal hash, and so is every chunk value behind a name. The names above a bound that nobody holds are drawn by
jumping from one to the next; any other that is asked about later lies below that bound.

The kind of each user's report is drawn as late. Where a text shares its name with no other, every report of its holders
supports that text, so its support by all reports does not depend on their kinds.
"""

from functools import cached_property
from math import lgamma, log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES
from treetop.mechanisms.dialogue import CollectNames
from treetop.oracles.frequency_oracle import Counts, Frequencies
from treetop.oracles.walsh.device import no_name
from treetop.simulation.population import PartyPopulation, Places

FAR = 12.0
"""Standard deviations above the mean beyond which no support is drawn; a normal tail has 2e-33 there."""


class Known(NamedTuple):
    """Numbers that have been drawn, by their names, which ascend."""

    names: Codes
    numbers: Counts

    def find(self, names: Codes) -> tuple[NDArray[np.bool_], Places]:
        """Return which of some names are known, and the indices of these."""
        indices = self.names.searchsorted(names)
        known = indices < len(self.names)
        known[known] = self.names[indices[known]] == names[known]
        return known, indices[known]

    def with_more(self, names: Codes, numbers: Counts) -> "Known":
        """Return these and others, which ascend as well."""
        both = np.concatenate([self.names, names])
        order = both.argsort(kind="stable")  # two ascending runs: merged fast
        return Known(both[order], np.concatenate([self.numbers, numbers])[order])


class DrawnNameReports:
    """The reports of one party's users, drawn as they are asked for.

    A text that was counted by all reports may be counted so again, but no longer by kind: the kinds of its holders'
    reports were never drawn.
    """

    def __init__(self, party: PartyPopulation, request: CollectNames, randomness: Generator) -> None:
        self._party = party
        self._randomness = randomness
        self._p = request.oracle.p
        self._q = request.oracle.q
        self._bits = request.bits
        self._sizes: Counts = randomness.multinomial(party.users, request.weights)
        self._bound = int(self._sizes[0]) + 1
        """A name whose support was not drawn yet has less than this."""
        nothing = Known(party.codes[:0], np.empty(0, dtype=np.int64))
        self._texts = nothing
        self._rows = np.empty((0, len(self._sizes) - 1), dtype=np.uint8)
        """Support by all reports, and chunks, of texts whose holders' kinds are not drawn."""
        self._kinds_drawn = False
        self._chunk_values = [nothing] * (len(self._sizes) - 1)
        """For every chunk the support of its values: the name, then the value."""
        self._chunk_sizes = self._sizes[1:].copy()
        """Reports of every chunk by users whose chunk is not drawn yet."""

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the reports of every kind."""
        return tuple(self._sizes.tolist())

    def _drawn(self, holders: Counts, reports: int) -> Counts:
        """Draw the support among the reports of values with that many holders: Bin(h, p) + Bin(r - h, q)."""
        support = np.empty(len(holders), dtype=np.int64)
        held = holders > 0
        some = holders[held]
        support[~held] = self._randomness.binomial(reports, self._q, len(holders) - len(some))
        support[held] = self._randomness.binomial(some, self._p) + self._randomness.binomial(reports - some, self._q)
        return support

    @cached_property
    def _name_holders(self) -> Places:
        """Return the number of users at every index who report a whole name.

        Holders of texts that were counted by all reports stay one colour: their kinds are not needed.
        """
        self._kinds_drawn = True
        counts = self._party.counts
        if len(self._sizes) == 1:
            return counts
        together = np.append(self._texts.find(self._party.codes)[0], False)
        colours = np.append(counts[~together], counts[together].sum())
        holders = np.zeros(len(counts), dtype=np.int64)
        drawn = self._randomness.multivariate_hypergeometric(colours, self._sizes[0], method="marginals")
        holders[~together] = drawn[:-1]
        return holders

    @cached_property
    def _names(self) -> Known:
        """Return the support of whole names as far as it was drawn: first of those that somebody holds.

        Users without a code come last, and hold the last name.
        """
        codes = np.append(self._party.codes, np.uint64(no_name(self._bits)))
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        holders = np.add.reduceat(self._name_holders, starts)
        names = codes[starts]
        rest = ~self._texts.find(names)[0]
        return Known(names[rest], self._drawn(holders[rest], self.kinds[0]))

    def support(self, names: Codes) -> Counts:
        """Return for each of some names how many reports of whole names support it."""
        self._refuse_texts(names)
        new = distinct(names[~self._names.find(names)[0]])
        if len(new):
            self._names = self._names.with_more(new, self._below(len(new)))
        return self._names.numbers[self._names.find(names)[1]]

    def _refuse_texts(self, names: Codes) -> None:
        if self._texts.find(names)[0].any():
            raise AssertionError("texts that were counted by all reports are not looked at by kind afterwards")

    def _below(self, number: int) -> Counts:
        """Draw the support of names that nobody holds and that are below the bound, by rejection.

        `above` has drawn all names at or above the bound: the others follow the binomial law given that they are below.
        """
        support: Counts = self._randomness.binomial(self.kinds[0], self._q, number)
        while (again := np.flatnonzero(support >= self._bound)).size:
            support[again] = self._randomness.binomial(self.kinds[0], self._q, len(again))
        return support

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:
        """Return all other names that at least `least` reports of whole names support, ascending, and their support."""
        least = max(least, 0)
        others = listed[~self._texts.find(listed)[0]]
        self.support(others)  # drawn before the bound falls, which does not hold for them
        tail = binomial_tail(self.kinds[0], self._q, least)[: max(self._bound - least, 0)]
        names = self._unknown(self._chance_above(least, tail.sum()))
        steps = tail.cumsum()
        support = least + steps.searchsorted(self._randomness.random(len(names)) * steps[-1:], side="right")
        self._names = self._names.with_more(names, support)
        self._bound = min(self._bound, least)
        enough = self._names.numbers >= least
        enough[self._names.find(others)[1]] = False
        return self._names.names[enough], self._names.numbers[enough]

    def _chance_above(self, least: int, tail: float) -> float:
        """Return the probability that a name below the bound, not drawn yet, has at least this support."""
        below, beneath = (chance_below(self.kinds[0], self._q, limit) for limit in (self._bound, least))
        if self._bound <= least or not below:
            return 0.0
        # Above the mean the probability is small, and the difference from 1 would lose its digits.
        return 1 - beneath / below if least <= self.kinds[0] * self._q else tail / below

    def _unknown(self, chance: float) -> Codes:
        """Draw every name that is not known yet with this probability: in ascending order, by geometric gaps."""
        taken = self._names.with_more(*self._texts).names.astype(np.int64)
        cells = (1 << self._bits) - len(taken)
        found = [np.empty(0, dtype=np.int64)]
        last = -1
        while chance > 0 and last < cells - 1:
            # A little more than the expected number of gaps, so that one round mostly reaches the last cell.
            gaps = self._randomness.geometric(chance, int(1.05 * chance * (cells - last)) + 32)
            found.append(last + np.minimum(gaps, cells).cumsum())
            last = int(found[-1][-1])
        places = np.concatenate(found)
        places = places[: places.searchsorted(cells)]
        # Cells number the names that are not taken: skip the taken ones before each.
        names = places + (taken - np.arange(len(taken))).searchsorted(places, side="right")
        return names.astype(self._party.codes.dtype)

    @cached_property
    def _chunk_holders(self) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Return at which indices the users of each chunk were drawn, and their numbers."""
        shape = len(self._party.codes), len(self._chunk_sizes)
        return np.zeros(shape[0], dtype=np.bool_), np.zeros(shape, dtype=np.int32)

    def _deal(self, places: Places) -> None:
        """Draw how many users at some indices report each chunk, from the reports of it that are not dealt yet."""
        dealt, holders = self._chunk_holders
        places = places[~dealt[places]]
        if not len(places):
            return
        left = self._party.counts[places] - self._name_holders[places]
        left = np.append(left, self._chunk_sizes.sum() - left.sum())
        for chunk, size in enumerate(self._chunk_sizes):
            drawn = self._randomness.multivariate_hypergeometric(left, size, method="marginals")
            left -= drawn
            holders[places, chunk], self._chunk_sizes[chunk] = drawn[:-1], drawn[-1]
        dealt[places] = True

    def _value_support(self, chunk: int, names: Codes, values: Codes) -> Counts:
        """Return how many reports of a chunk support each pair of a name and a value behind it."""
        keys = names << CHUNK_BITS | values.astype(names.dtype)
        known = self._chunk_values[chunk]
        new = distinct(keys[~known.find(keys)[0]])
        if len(new):
            places = self._party.holding(distinct(new >> CHUNK_BITS))
            self._deal(places)
            held, where = Known(new, new).find(self._party.chunk_values(chunk)[places])
            holders = np.zeros(len(new), dtype=np.int64)
            np.add.at(holders, where, self._chunk_holders[1][places[held], chunk])
            known = known.with_more(new, self._drawn(holders, self.kinds[1 + chunk]))
            self._chunk_values[chunk] = known
        return known.numbers[known.find(keys)[1]]

    def chunk_support(self, names: Codes, chunk: int) -> Counts:
        """Return for each name how many reports of a chunk support each of its 256 values behind that name."""
        self._refuse_texts(names)
        values = np.tile(np.arange(CHUNK_VALUES), len(names))
        support = self._value_support(chunk, names.repeat(CHUNK_VALUES), values)
        return support.reshape(len(names), CHUNK_VALUES)

    def text_support(self, names: Codes, chunks: NDArray[np.uint8]) -> Counts:
        """Return how many reports of all kinds support each of some texts."""
        if len(self._sizes) == 1:
            return self.support(names)
        if not (self._kinds_drawn or len(self._texts.names)):
            self._draw_texts(names, chunks)
        counted, places = self._texts.find(names)
        if (self._rows[places] != chunks[counted]).any():
            raise AssertionError("another text with the same name was counted by all reports before")
        found = np.empty(len(names), dtype=np.int64)
        others = names[~counted]
        found[counted] = self._texts.numbers[places]
        if len(others):
            rows = enumerate(chunks[~counted].T)
            found[~counted] = self.support(others) + sum(self._value_support(i, others, row) for i, row in rows)
        return found

    def _draw_texts(self, names: Codes, chunks: NDArray[np.uint8]) -> None:
        """Draw texts that share their name with no other: reports of every kind by their holders support them."""
        codes = self._party.codes
        order = names.argsort(kind="stable")
        names = names[order]
        chunks = chunks[order]
        repeated = names[1:][names[1:] == names[:-1]]
        shared = codes[1:][codes[1:] == codes[:-1]]
        several = distinct(np.concatenate([repeated, shared, [np.uint64(no_name(self._bits))]]))
        held, places = Known(codes, codes).find(names)
        alone = ~Known(several, several).find(names)[0]
        alone[held] &= (self._party.text_chunks[places] == chunks[held]).all(axis=1)
        holders = np.zeros(len(names), dtype=np.int64)
        holders[held] = self._party.counts[places]
        self._texts = Known(names[alone], self._drawn(holders[alone], self._party.users))
        self._rows = chunks[alone]


def distinct(names: Codes) -> Codes:
    """Return names in ascending order, each once; `np.unique` takes many times as long."""
    ascending = np.sort(names, kind="stable")  # most are in order already
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(names) else ascending


def binomial_tail(trials: int, chance: float, least: int) -> Frequencies:
    """Return P(X = least), P(X = least + 1) ... of a binomial number, up to `FAR` deviations above the mean."""
    if least > trials:
        return np.zeros(0)
    log_first = (
        lgamma(trials + 1)
        - lgamma(least + 1)
        - lgamma(trials - least + 1)
        + least * log(chance)
        + (trials - least) * log1p(-chance)
    )
    mean = trials * chance
    far = max(least, mean) + FAR * sqrt(mean * (1 - chance)) + FAR  # a tiny mean has a deviation far below 1
    k = np.arange(least, min(trials, int(far)))
    # P(k + 1) / P(k) = (n - k) / (k + 1) * c / (1 - c), summed as logarithms: single terms underflow.
    steps = np.log((trials - k) / (k + 1)) + (log(chance) - log1p(-chance))
    tail: Frequencies = np.exp(log_first + np.append(0.0, steps.cumsum()))
    return tail


def chance_below(trials: int, chance: float, limit: int) -> float:
    """Return P(X < limit) of a binomial number, precise also where it is small."""
    if limit > trials * chance:
        return 1 - float(binomial_tail(trials, chance, limit).sum())
    # n - X is binomial with 1 - c: P(X < limit) is its upper tail, without a difference from 1.
    return float(binomial_tail(trials, 1 - chance, trials - limit + 1).sum())
