"""Exact simulation of name reports: the support of every name there can be, drawn only where somebody looks.

A name that h of r reporting users hold is supported by Bin(h, p) + Bin(r - h, q) reports, independently of all others
under an ideal hash. Of the names that nobody holds it is enough to know how many lie above a bound, which is one
binomial, and which: their support is drawn from the tail. Any other that is asked about later lies below that bound.
"""

from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.mechanisms.dialogue import CollectNames
from treetop.oracles.frequency_oracle import Counts
from treetop.simulation.population import PartyPopulation, Places


class Known:
    """Numbers that have been drawn, by name."""

    def __init__(self, names: Codes, numbers: Counts) -> None:
        order = np.argsort(names, kind="stable")
        self.names, self.numbers = names[order], numbers[order]

    def places(self, names: Codes) -> tuple[NDArray[np.bool_], Places]:
        """Return which of some names are known, and where."""
        places = np.minimum(np.searchsorted(self.names, names), max(len(self.names) - 1, 0))
        known = self.names[places] == names if len(self.names) else np.zeros(len(names), dtype=np.bool_)
        return known, places[known]

    def with_more(self, names: Codes, numbers: Counts) -> "Known":
        """Return these and those."""
        return Known(np.concatenate([self.names, names]), np.concatenate([self.numbers, numbers]))


class DrawnNameReports:
    """What the users of one party report, drawn as it is asked for."""

    def __init__(self, party: PartyPopulation, request: CollectNames, randomness: Generator) -> None:
        self._party, self._randomness = party, randomness
        self._p, self._q, self._cells = request.oracle.p, request.oracle.q, 1 << request.bits
        self._sizes = randomness.multinomial(party.users, request.weights)
        nothing = np.empty(0, dtype=party.codes.dtype)
        self._texts = Known(nothing, np.empty(0, dtype=np.int64))
        """Support by all reports, of texts whose holders' kinds were never looked at."""
        self._others = Known(nothing, np.empty(0, dtype=np.int64))
        """Support of names that nobody holds, as far as it was drawn."""
        self._least: int | None = None
        self._chunk_holders: dict[int, NDArray[np.int64]] = {}
        self._chunk_sizes = self._sizes[1:].copy()
        self._chunks: dict[tuple[int, int], Counts] = {}

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the reports of every kind."""
        return tuple(self._sizes.tolist())

    def _drawn(self, holders: Counts, reports: int) -> Counts:
        others = self._randomness.binomial(reports - holders, self._q)
        held = holders > 0
        others[held] += self._randomness.binomial(holders[held], self._p)
        return np.asarray(others, dtype=np.int64)

    @cached_property
    def _name_holders(self) -> Places:
        """Return how many users of every place report a whole name; those of texts that are done stay together."""
        counts = self._party.counts
        if len(self._sizes) == 1:
            return counts
        done = np.append(self._texts.places(self._party.codes)[0], True)
        colours = np.append(counts[~done], counts[done].sum())
        drawn = np.zeros(len(counts), dtype=np.int64)
        drawn[~done] = self._randomness.multivariate_hypergeometric(colours, self._sizes[0], method="marginals")[:-1]
        return drawn

    @cached_property
    def _held(self) -> Known:
        """Return the support of all names that somebody holds, those of texts that are done excepted."""
        codes, starts = np.unique(self._party.codes, return_index=True)
        if not len(codes):
            return Known(codes, starts)
        holders = np.add.reduceat(self._name_holders[:-1], starts)
        rest = ~self._texts.places(codes)[0]
        return Known(codes[rest], self._drawn(holders[rest], int(self._sizes[0])))

    def support(self, names: Codes) -> Counts:
        """Return how many reports of whole names support each of some."""
        found = np.empty(len(names), dtype=np.int64)
        held, places = self._held.places(names)
        found[held] = self._held.numbers[places]
        drawn, places = self._others.places(names)
        found[drawn] = self._others.numbers[places]
        new = ~held & ~drawn
        if new.any():
            found[new] = self._below(int(np.count_nonzero(new)))
            self._others = self._others.with_more(names[new], found[new])
        return found

    def _below(self, number: int) -> Counts:
        """Draw the support of names that nobody holds and that are not above the bound."""
        r = int(self._sizes[0])
        support = self._randomness.binomial(r, self._q, number)
        while self._least is not None and (again := np.flatnonzero(support >= self._least)).size:
            support[again] = self._randomness.binomial(r, self._q, len(again))
        return np.asarray(support, dtype=np.int64)

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:
        """Return all other names that so many reports of whole names support, ascending, and their support."""
        held = self._held
        enough = held.numbers >= least
        tail = binomial_tail(int(self._sizes[0]), self._q, least)
        free = self._cells - len(np.union1d(held.names, listed))
        number = int(self._randomness.binomial(free, min(tail.sum(), 1.0)))
        names = self._unheld(number, np.union1d(held.names, listed))
        support = (
            least + self._randomness.choice(len(tail), len(names), p=tail / tail.sum())
            if number
            else names.astype(np.int64)
        )
        self._others, self._least = Known(names, support), least
        found = Known(held.names[enough], held.numbers[enough]).with_more(names, support)
        others = ~np.isin(found.names, listed)
        return found.names[others], found.numbers[others]

    def _unheld(self, number: int, taken: Codes) -> Codes:
        """Draw so many distinct names that are not taken."""
        names = taken[:0]
        while len(names) < number:
            more = self._randomness.integers(0, self._cells, number - len(names), dtype=np.uint64).astype(taken.dtype)
            names = np.unique(np.concatenate([names, more]))
            places = np.minimum(np.searchsorted(taken, names), max(len(taken) - 1, 0))
            names = names[taken[places] != names] if len(taken) else names
        return names

    def _holders_of_chunks(self, place: int) -> NDArray[np.int64]:
        """Return how many users of a place report each chunk: they are drawn from those left."""
        if place not in self._chunk_holders:
            left = int(self._party.counts[place] - self._name_holders[place])
            drawn = self._randomness.multivariate_hypergeometric(self._chunk_sizes, left)
            self._chunk_sizes -= drawn
            self._chunk_holders[place] = drawn
        return self._chunk_holders[place]

    def _chunk(self, name: int, chunk: int) -> Counts:
        if (name, chunk) not in self._chunks:
            first, last = np.searchsorted(self._party.codes, [name, name + 1])
            holders = np.zeros(CHUNK_VALUES, dtype=np.int64)
            for place in range(int(first), int(last)):
                assert self._party.chunks is not None
                holders[self._party.chunks[place, chunk]] += self._holders_of_chunks(place)[chunk]
            self._chunks[name, chunk] = self._drawn(holders, int(self._sizes[1 + chunk]))
        return self._chunks[name, chunk]

    def chunk_support(self, names: Codes, chunk: int) -> Counts:
        """Return for each name how many reports of a chunk support each of its 256 values behind that name."""
        return np.array([self._chunk(name, chunk) for name in names.tolist()], dtype=np.int64).reshape(-1, CHUNK_VALUES)

    def text_support(self, names: Codes, chunks: NDArray[np.uint8]) -> Counts:
        """Return how many reports of all kinds support each of some texts."""
        if len(self._sizes) == 1:
            return self.support(names)
        if "_name_holders" not in self.__dict__:
            self._draw_texts(names, chunks)
        found = np.empty(len(names), dtype=np.int64)
        done, places = self._texts.places(names)
        found[done] = self._texts.numbers[places]
        rest = np.flatnonzero(~done)
        found[rest] = self.support(names[rest])
        for place in rest.tolist():
            found[place] += sum(
                int(self._chunk(int(names[place]), chunk)[value]) for chunk, value in enumerate(chunks[place].tolist())
            )
        return found

    def _draw_texts(self, names: Codes, chunks: NDArray[np.uint8]) -> None:
        """Draw texts whose name nobody else's has: whatever kind its holders report, they report that text."""
        party = self._party
        assert party.chunks is not None
        alone = _occur_once(names)
        place = np.minimum(np.searchsorted(party.codes, names), max(len(party.codes) - 1, 0))
        held = party.codes[place] == names if len(party.codes) else np.zeros(len(names), dtype=np.bool_)
        shared = np.isin(names, party.codes[1:][party.codes[1:] == party.codes[:-1]])
        same = np.ones(len(names), dtype=np.bool_)
        same[held] = (party.chunks[place[held]] == chunks[held]).all(axis=1)
        simple = alone & ~shared & same
        holders = np.where(held, party.counts[:-1][place] if len(party.codes) else 0, 0)[simple]
        self._texts = Known(names[simple], self._drawn(holders, party.users))


def _occur_once(names: Codes) -> NDArray[np.bool_]:
    _, inverse, times = np.unique(names, return_inverse=True, return_counts=True)
    return np.asarray(times[inverse] == 1, dtype=np.bool_)


def binomial_tail(trials: int, chance: float, least: int) -> NDArray[np.float64]:
    """Return P(Bin = least), P(Bin = least + 1) ..., as far as they matter."""
    from math import lgamma, log, log1p

    if least > trials:
        return np.zeros(1)
    first = max(least, 0)
    log_first = (
        lgamma(trials + 1)
        - lgamma(first + 1)
        - lgamma(trials - first + 1)
        + first * log(chance)
        + (trials - first) * log1p(-chance)
    )
    width = int(12 * np.sqrt(trials * chance * (1 - chance))) + 40
    k = np.arange(first, min(trials, first + width))
    steps = np.concatenate([[0.0], np.cumsum(np.log((trials - k) / (k + 1)) + log(chance) - log1p(-chance))])
    return np.exp(log_first + steps)
