"""Parties as sorted codes and running sums of users, which is all that a simulation needs."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems
from treetop.datasets.user_sets import UserSets
from treetop.encoding.bit_strings import Codes, first_and_last_code, prefixes_of
from treetop.encoding.item_codecs import EncodedItems, ItemCodec
from treetop.encoding.text_code import CHUNK_BITS
from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import Member, Roster
from treetop.oracles.set_reports import USE_SHARES, SetQuestion
from treetop.trie.support import CandidateDomain
from treetop.wording import Note

USERS_BELOW = 10**9
"""numpy's hypergeometric generator refuses populations of this size and more."""

Places = NDArray[np.int64]
Weights = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PartyPopulation:
    """One party's users in ascending order of their codes; users whose item has no code come last."""

    name: str
    bits: int
    codes: Codes
    users_before: Places
    """users_before[i] users hold a code before index i; two entries more than codes."""
    chunks: NDArray[np.uint8] | None = None
    """With hashed texts: the code chunks at every index; items that share a hash then keep separate indices."""
    sets: UserSets | None = None
    """Where a user may hold several items: who holds which. A user then counts at each index whose item she holds."""
    place_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """With sets: the index of every item of the federation; the last one where it has no code or no holder."""

    @classmethod
    def of(cls, party: PartyItems, encoded: EncodedItems, bits: int) -> "PartyPopulation":
        """Sort a party's items by code; items that share a code become one."""
        if encoded.chunks is not None:
            return cls._of_texts(party, encoded.codes, encoded.chunks, bits)
        fits = encoded.fits[party.items]
        codes, place = np.unique(encoded.codes[party.items[fits]], return_inverse=True)
        users = np.zeros(len(codes) + 1, dtype=np.int64)
        np.add.at(users, place, party.users[fits])
        users[-1] = party.users[~fits].sum()
        found = cls(_checked_size(party), bits, codes, np.concatenate([[0], np.cumsum(users)]))
        return found.with_sets(party, party.items[fits], place, len(encoded.fits))

    @classmethod
    def _of_texts(cls, party: PartyItems, codes: Codes, chunks: NDArray[np.uint8], bits: int) -> "PartyPopulation":
        order = np.argsort(codes[party.items], kind="stable")
        items = party.items[order]
        users = np.append(party.users[order], 0)
        before = np.concatenate([[0], np.cumsum(users)])
        found = cls(_checked_size(party), bits, codes[items], before, chunks[items])
        return found.with_sets(party, items, np.arange(len(items)), len(codes))

    def with_sets(self, party: PartyItems, items: Places, places: Places, number: int) -> "PartyPopulation":
        """Return the party with its users' sets, if there are any; `number` items in all, of which some have a code."""
        if party.sets is None:
            return self
        if party.sets.question is None:
            raise InvalidInput("sets_without_question")
        place_of = np.full(number, len(self.codes), dtype=np.int32)
        place_of[items] = places
        return replace(self, sets=party.sets, place_of=place_of)

    def sampled(self, randomness: Generator) -> "PartyPopulation":
        """Return the party of users who each drew one of their items, by the reading of the question."""
        sets = self.sets
        if sets is None or sets.question is None:
            raise AssertionError("users draw one of their items where they hold sets")
        some = sets.of_users(sets.sizes > 0) if (sets.sizes == 0).any() else sets
        if sets.question.reading == USE_SHARES and some.counts is not None:
            before = np.concatenate([[0], np.cumsum(some.counts)])
            drawn = randomness.integers(before[some.starts[:-1]], before[some.starts[1:]])
            entries = before.searchsorted(drawn, side="right") - 1
        else:
            entries = randomness.integers(some.starts[:-1], some.starts[1:])
        users = np.bincount(self.place_of[some.items[entries]], minlength=len(self.codes) + 1)
        users[-1] += len(sets) - len(some)
        return replace(self, users_before=np.concatenate([[0], np.cumsum(users)]), sets=None)

    @property
    def users(self) -> int:
        """Return |U^i|, users without a code included: their devices answer as well."""
        return int(self.users_before[-1]) if self.sets is None else len(self.sets)

    @cached_property
    def weights(self) -> Weights:
        """Return the true weight of every code: its users, or their weights under the reading of sets."""
        if self.sets is None:
            return self.counts[:-1]
        entries = self.sets.weights
        if entries is not None:
            return np.bincount(self.place_of[self.sets.items], entries, len(self.codes) + 1)[:-1]
        return self.counts[:-1] - self._held_twice

    @property
    def _held_twice(self) -> Places:
        """Return for every code how often a user holds it by a second item: she counts once for a code."""
        again = np.zeros(len(self.codes), dtype=np.int64)
        sets = self.sets
        items = len(self.place_of)
        if sets is None:
            return again
        names = np.append(self.codes.searchsorted(self.codes), len(self.codes))[self.place_of]  # a code's first index
        held = np.bincount(sets.items, minlength=items) > 0
        several = (np.bincount(names[held], minlength=len(self.codes) + 1) > 1)[names] & (names < len(self.codes))
        if not several.any():
            return again
        entries = np.flatnonzero(several[sets.items])
        owners = sets.starts.searchsorted(entries, side="right")
        places = names[sets.items[entries]]
        order = np.lexsort((places, owners))  # a user's equal codes become neighbours: all but the first are repeats
        owners = owners[order]
        places = places[order]
        np.add.at(again, places[1:][(owners[1:] == owners[:-1]) & (places[1:] == places[:-1])], 1)
        return again

    @property
    def outside(self) -> float:
        """Return the users without a code; of sets the users with an item that has none, or their shares of these."""
        if self.sets is None:
            return float(self.counts[-1])
        without = self.place_of[self.sets.items] == len(self.codes)
        entries = self.sets.weights
        if entries is None:
            return float(self.sets.holding(without))
        empty = np.count_nonzero(self.sets.sizes == 0)  # their users report an item without a code
        return float(entries[without].sum() + empty)

    @property
    def counts(self) -> Places:
        """Return the users of every code, and last the users without one."""
        return np.diff(self.users_before)

    def values(self, domain: CandidateDomain) -> Codes:
        """Return the value that the holders of every code report: its prefix."""
        return prefixes_of(self.codes, self.bits, domain.length)

    @property
    def text_chunks(self) -> NDArray[np.uint8]:
        """Return the code chunks at every index, a row each."""
        if self.chunks is None:
            raise AssertionError("chunks are asked for, but the population was not encoded as hashed texts")
        return self.chunks

    def chunk_values(self, chunk: int) -> Codes:
        """Return the hash at every index, followed by a chunk of its text."""
        values: Codes = (self.codes << CHUNK_BITS) | self.text_chunks[:, chunk].astype(self.codes.dtype)
        return values

    def holding(self, codes: Codes) -> Places:
        """Return the indices, one or several, at which each of some ascending codes is held."""
        firsts = self.codes.searchsorted(codes)
        numbers = self.codes.searchsorted(codes, side="right") - firsts
        # Number all indices, and shift the stretch of each code to its first one.
        places: Places = np.repeat(firsts + numbers - numbers.cumsum(), numbers) + np.arange(numbers.sum())
        return places

    def places(self, prefixes: Codes, length: int) -> tuple[Places, Places]:
        """Return the indices at which the codes below each prefix begin and end."""
        first, last = first_and_last_code(prefixes, self.bits, length)
        starts = self.codes.searchsorted(first)
        if length < self.bits:
            return starts, self.codes.searchsorted(last, side="right")
        within = starts < len(self.codes)
        held = np.zeros(len(starts), dtype=np.int64)  # a whole code has one index, or none: no second search
        held[within] = self.codes[starts[within]] == first[within]
        return starts, starts + held


def _checked_size(party: PartyItems) -> str:
    """Return the name of a party that can be simulated."""
    if party.total >= USERS_BELOW:
        raise InvalidInput("party_too_large", name=party.name, total=party.total, users_below=USERS_BELOW)
    return party.name


@dataclass(frozen=True, eq=False)
class TrueRanking:
    """Every code of the federation, the most popular one first; equal ones by the smaller code."""

    codes: Codes
    users: Weights


class Population:
    """A federation's users under one encoding."""

    def __init__(self, federation: Federation, codec: ItemCodec, known: "Population | None" = None) -> None:
        encoded: EncodedItems = codec.encode(federation.items) if known is None else known._encoded
        self.federation = federation
        self.codec = codec
        self.parties = tuple(PartyPopulation.of(party, encoded, codec.bits) for party in federation.parties)
        self.notes: tuple[Note, ...] = _notes(federation, encoded, codec) if known is None else known.notes
        self._encoded: EncodedItems = encoded

    def among(self, federation: Federation) -> "Population":
        """Return other users of the same list of items, under the same codes."""
        return Population(federation, self.codec, self)

    @cached_property
    def roster(self) -> Roster:
        """Return the parties' names and sizes."""
        return Roster.of(Member(party.name, party.users) for party in self.parties)

    @cached_property
    def truth(self) -> TrueRanking:
        """Return the true ranking of all codes."""
        everything = np.concatenate([party.codes for party in self.parties])
        codes, place = np.unique(everything, return_inverse=True)
        weights = np.concatenate([party.weights for party in self.parties])
        users = np.zeros(len(codes), dtype=weights.dtype)
        np.add.at(users, place, weights)
        order = np.argsort(-users, kind="stable")
        return TrueRanking(codes[order], users[order])

    def true_counts(self, codes: Codes) -> list[int]:
        """Return the true number of users who hold each code, or their weight under the reading of sets."""
        users = dict(zip(self.truth.codes.tolist(), self.truth.users.tolist(), strict=True))
        return [round(users.get(code, 0)) for code in codes.tolist()]

    @property
    def question(self) -> SetQuestion | None:
        """Return the question to users who hold sets; None: everybody holds one item."""
        sets = self.parties[0].sets
        return None if sets is None else sets.question

    def check_k(self, k: int) -> None:
        """Refuse to look for more items than there are."""
        if k <= (distinct := len(self.truth.codes)):
            return
        unfit = int(np.count_nonzero(~self._encoded.fits))
        others = f": {unfit:,} other items have no code in {self.codec.title}" if unfit else ""
        raise InvalidInput("k_too_large", distinct=distinct, others=others, k=k)

    def shown(self, code: int) -> str:
        """Return the item that a code stands for, read back from the federation's own items if need be."""
        return self._read_back.get(code) or self.codec.show(code)

    def show(self, codes: Codes) -> list[str]:
        """Return the items that codes stand for."""
        return [self.shown(code) for code in codes.tolist()]

    @cached_property
    def popular_texts(self) -> dict[int, bytes]:
        """Return for every code the text of its most popular item, which its hash should be read as."""
        users = np.zeros(len(self.federation.items), dtype=np.int64)
        for party in self.federation.parties:
            np.add.at(users, party.items, party.users)
        order = np.argsort(users, kind="stable")  # ascending: of items that share a code, the most popular comes last
        items = [self.federation.items[index].encode("utf-8", errors="surrogatepass") for index in order.tolist()]
        return dict(zip(self._encoded.codes[order].tolist(), items, strict=True))

    @cached_property
    def _read_back(self) -> dict[int, str]:
        """Return the dictionary of a codec that cannot decode; the first of several items names a code."""
        if not self.codec.hashes:
            return {}
        codes = self._encoded.codes.tolist()
        return dict(zip(reversed(codes), reversed(self.federation.items), strict=True))


def _notes(federation: Federation, encoded: EncodedItems, codec: ItemCodec) -> tuple[Note, ...]:
    """Note the items that share a code, were shortened, or have none."""
    unfit = int(np.count_nonzero(~encoded.fits))
    if unfit == len(federation.items):
        raise InvalidInput("no_item_fits", title=codec.title, items=federation.items[0])
    distinct = len(np.unique(encoded.codes[encoded.fits]))
    shared = len(federation.items) - unfit - distinct
    notes = [*federation.notes]
    if unfit:
        users = sum(
            int(party.users[~encoded.fits[party.items]].sum())
            if party.sets is None
            else party.sets.holding(~encoded.fits[party.sets.items])
            for party in federation.parties
        )
        example = federation.items[int(np.argmin(encoded.fits))]
        notes.append(Note("items_unfit", items=unfit, users=users, encoding=codec.title, example=example))
    if encoded.shortened:
        notes.append(Note("items_shortened", items=encoded.shortened))
    if shared:
        notes.append(Note("items_share_codes", items=shared))
    return tuple(notes)
