"""Exact simulation of name reports: the support of every name there can be, drawn only where somebody looks.

A name that h of r reporting users hold is supported by Bin(h, p) + Bin(r - h, q) reports, independently of all others
under an ideal hash, and so is every chunk value behind a name. Which of the names that nobody holds lie above a bound
is drawn by jumping from one to the next; any other that is asked about later lies below that bound.

Who reports which kind is drawn as late: of a text that shares its name with no other, all that its holders report
supports that text, so for its support by all reports it need not be known at all.
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
"""Standard deviations above the mean, beyond which no support is drawn."""


class Known(NamedTuple):
    """Numbers that have been drawn, by their names, which ascend."""

    names: Codes
    numbers: Counts

    def find(self, names: Codes) -> tuple[NDArray[np.bool_], Places]:
        """Return which of some names are known, and the places of these."""
        places = self.names.searchsorted(names)
        known = places < len(self.names)
        known[known] = self.names[places[known]] == names[known]
        return known, places[known]

    def with_more(self, names: Codes, numbers: Counts) -> "Known":
        """Return these and others, which ascend as well."""
        both = np.concatenate([self.names, names])
        order = both.argsort(kind="stable")  # two ascending runs: merged fast
        return Known(both[order], np.concatenate([self.numbers, numbers])[order])


class DrawnNameReports:
    """What the users of one party report, drawn as it is asked for.

    A text that was counted by all reports may be counted so again, but its name is not looked at by kind any more.
    """

    def __init__(self, party: PartyPopulation, request: CollectNames, randomness: Generator) -> None:
        self._party = party
        self._randomness = randomness
        self._p = request.oracle.p
        self._q = request.oracle.q
        self._bits = request.bits
        self._sizes: Counts = randomness.multinomial(party.users, request.weights)
        self._bound = int(self._sizes[0]) + 1
        """No name whose support was not drawn yet has so much of it."""
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
        """Draw how many of so many reports support what so many users hold."""
        support = np.empty(len(holders), dtype=np.int64)
        held = holders > 0
        some = holders[held]
        support[~held] = self._randomness.binomial(reports, self._q, len(holders) - len(some))
        support[held] = self._randomness.binomial(some, self._p) + self._randomness.binomial(reports - some, self._q)
        return support

    @cached_property
    def _name_holders(self) -> Places:
        """Return how many users of every place report a whole name; those of texts that are counted stay together."""
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

        Whoever has no code stands in the last place, and holds the last name.
        """
        codes = np.append(self._party.codes, np.uint64(no_name(self._bits)))
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        holders = np.add.reduceat(self._name_holders, starts)
        names = codes[starts]
        rest = ~self._texts.find(names)[0]
        return Known(names[rest], self._drawn(holders[rest], self.kinds[0]))

    def support(self, names: Codes) -> Counts:
        """Return how many reports of whole names support each of some."""
        self._refuse_texts(names)
        new = distinct(names[~self._names.find(names)[0]])
        if len(new):
            self._names = self._names.with_more(new, self._below(len(new)))
        return self._names.numbers[self._names.find(names)[1]]

    def _refuse_texts(self, names: Codes) -> None:
        if self._texts.find(names)[0].any():
            raise AssertionError("texts that were counted by all reports are not looked at by kind afterwards")

    def _below(self, number: int) -> Counts:
        """Draw the support of names that nobody holds and that are not above the bound."""
        support: Counts = self._randomness.binomial(self.kinds[0], self._q, number)
        while (again := np.flatnonzero(support >= self._bound)).size:
            support[again] = self._randomness.binomial(self.kinds[0], self._q, len(again))
        return support

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:
        """Return all other names that so many reports of whole names support, ascending, and their support."""
        least = max(least, 0)
        others = listed[~self._texts.find(listed)[0]]
        self.support(others)  # before the bound, which says nothing of them
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
        """Return how likely a name that is not known yet has so much support, given that it is below the bound."""
        below, beneath = (chance_below(self.kinds[0], self._q, limit) for limit in (self._bound, least))
        if self._bound <= least or not below:
            return 0.0
        return 1 - beneath / below if least <= self.kinds[0] * self._q else tail / below

    def _unknown(self, chance: float) -> Codes:
        """Draw every name that is not known yet with this probability: ascending ones, by the gaps between them."""
        taken = self._names.with_more(*self._texts).names.astype(np.int64)
        cells = (1 << self._bits) - len(taken)
        found = [np.empty(0, dtype=np.int64)]
        last = -1
        while chance > 0 and last < cells - 1:
            gaps = self._randomness.geometric(chance, int(1.05 * chance * (cells - last)) + 32)
            found.append(last + np.minimum(gaps, cells).cumsum())
            last = int(found[-1][-1])
        places = np.concatenate(found)
        places = places[: places.searchsorted(cells)]
        names = places + (taken - np.arange(len(taken))).searchsorted(places, side="right")
        return names.astype(self._party.codes.dtype)

    @cached_property
    def _chunk_holders(self) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Return for which places it was drawn how many users report each chunk, and how many do."""
        shape = len(self._party.codes), len(self._chunk_sizes)
        return np.zeros(shape[0], dtype=np.bool_), np.zeros(shape, dtype=np.int32)

    def _deal(self, places: Places) -> None:
        """Draw how many users of some places report each chunk: all reports of a chunk are by users not drawn yet."""
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
        """Return how many reports of a chunk support each of some values behind as many names."""
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
        """Draw texts that have their name for themselves: whatever kind their holders report, it supports them."""
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
    """Return P(X = least), P(X = least + 1) ... of a binomial number, as far as they matter."""
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
    far = max(least, mean) + FAR * sqrt(mean * (1 - chance)) + FAR
    k = np.arange(least, min(trials, int(far)))
    steps = np.log((trials - k) / (k + 1)) + (log(chance) - log1p(-chance))
    tail: Frequencies = np.exp(log_first + np.append(0.0, steps.cumsum()))
    return tail


def chance_below(trials: int, chance: float, limit: int) -> float:
    """Return P(X < limit) of a binomial number, precise also where it is small."""
    if limit > trials * chance:
        return 1 - float(binomial_tail(trials, chance, limit).sum())
    return float(binomial_tail(trials, 1 - chance, trials - limit + 1).sum())
