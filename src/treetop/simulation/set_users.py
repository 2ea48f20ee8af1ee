"""Simulated users who hold sets: by the exact law of what a report supports, and device by device.

With k distinct values in T, a report supports the set J of them with probability p t^(1 - |J|) (1 - 1/t)^(k - |J|) for
|J| >= 1: under an ideal hash each of the t buckets holds just J with probability t^-|J| (1 - 1/t)^(k - |J|), and is
reported with p if it holds anything of T. A value outside of T is supported with probability 1 / t for every report.
Values that one user holds together are therefore not supported independently, and every user's J is drawn; the number
of other users who support a value is then one binomial draw. Users are never objects: a compiled loop runs over the
arrays of their sets.
"""

from functools import cached_property
from math import comb

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.encoding.text_code import CHUNK_BITS
from treetop.mechanisms.dialogue import CollectNames, CollectReports, NameReports
from treetop.oracles.frequency_oracle import Columns, Counts, Frequencies, Keys, Tally
from treetop.oracles.hashing import chunk_keys
from treetop.oracles.name_reports import CountedNameReports
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.set_counting import SetCounting
from treetop.oracles.walsh.device import no_name
from treetop.simulation.drawn_names import DrawnNameReports, Known, distinct
from treetop.simulation.population import PartyPopulation
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.user_groups import Group

Users = NDArray[np.int32]
Kinds = NDArray[np.uint8]


def support_chances(p: float, t: int, most: int) -> Frequencies:
    """Return for k = 0 .. m own values the probability that a report supports at most j of them, j = 0 .. m."""
    chances = np.ones((most + 1, most + 1))
    for k in range(most + 1):
        sizes = [comb(k, j) * p * float(t) ** (1 - j) * (1 - 1 / t) ** (k - j) for j in range(1, k + 1)]
        chances[k, :k] = 1 - np.cumsum(sizes[::-1])[::-1]  # P(|J| <= j) is 1 less the sum over all larger sizes
    return chances


class SetUsers(SimulatedUsers):
    """The part that both simulators share: users in random order, in which groups are consecutive stretches."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        super().__init__(party, randomness)
        if party.sets is None or party.sets.question is None:
            raise AssertionError("expected users who hold sets")
        self.sets = party.sets
        self.most = party.sets.question.items_per_user

    @cached_property
    def _order(self) -> Users:
        users = np.arange(self.party.users, dtype=np.int32)
        self.randomness.shuffle(users)
        return users

    def _members(self, group: Group) -> Users:
        groups = list(self.sizes)
        first = sum(self.sizes[earlier] for earlier in groups[: groups.index(group)])
        return self._order[first : first + self.sizes[group]]

    def oracle_of(self, request: CollectReports | CollectNames) -> SetCounting:
        """Return the oracle, which must be one for sets."""
        oracle = request.oracle
        if not isinstance(oracle, SetCounting) or oracle.items != self.most:
            raise AssertionError(f"users report on {self.most} items, and {oracle.name} does not")
        return oracle


class ExactSetUsers(SetUsers):
    """Every user's T and J are drawn; hashes are not."""

    def drawn(
        self, oracle: SetCounting, members: Users, kinds: Kinds, values: NDArray[np.int32], number: int
    ) -> tuple[Counts, Counts]:
        """Return for each of `number` values how many users have it in T, and how many of these support it.

        values[kind, index] is the value that users of an item at that index report by that kind, or -1.
        """
        from treetop.simulation.set_kernels import draw_support  # noqa: PLC0415  numba loads only where there are sets

        holders = np.zeros(number, dtype=np.int64)
        own = np.zeros(number, dtype=np.int64)
        chances = support_chances(oracle.p, oracle.report_slots, self.most)
        of_items = np.ascontiguousarray(values[:, self.party.place_of])
        arrays = self.sets.starts, self.sets.items, of_items, chances, holders, own
        draw_support(self.randomness, members, kinds, *arrays)
        return holders, own

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        oracle = self.oracle_of(request)
        domain = request.domain
        members = self._members(group)
        slots = domain.slots_of(self.party.values(domain)).astype(np.int32)
        slots[slots == len(domain)] = -1  # a code that is no candidate
        slots = np.append(slots, np.int32(len(domain) if oracle.slots > len(domain) else -1))
        kinds = np.zeros(len(members), dtype=np.uint8)
        holders, own = self.drawn(oracle, members, kinds, slots[None], oracle.slots)
        return Tally(own + self.randomness.binomial(len(members) - holders, oracle.q), len(members))

    def _named(self, request: CollectNames) -> NameReports:
        return DrawnSetReports(self, request)


class DrawnSetReports(DrawnNameReports):
    """The reports of users with sets: each user is drawn for the names that she holds; others are as for one item."""

    def __init__(self, users: ExactSetUsers, request: CollectNames) -> None:
        super().__init__(users.party, request, users.randomness)
        party = users.party
        randomness = users.randomness
        kinds = np.repeat(np.arange(len(self.kinds), dtype=np.uint8), self.kinds)
        randomness.shuffle(kinds)
        values = [np.append(party.codes, np.uint64(no_name(request.bits)))]  # at every index, by kind
        values += [party.chunk_values(chunk) for chunk in range(len(self.kinds) - 1)]
        known = [distinct(each) for each in values]
        ends = np.cumsum([len(each) for each in known])
        numbers = np.full((len(known), len(values[0])), -1, dtype=np.int32)  # without a code no chunk is supported
        for kind, (each, found) in enumerate(zip(values, known, strict=True)):
            numbers[kind, : len(each)] = ends[kind] - len(found) + found.searchsorted(each)
        everybody = np.arange(party.users, dtype=np.int32)
        holders, own = users.drawn(users.oracle_of(request), everybody, kinds, numbers, int(ends[-1]))
        parts = zip(np.split(holders, ends[:-1]), np.split(own, ends[:-1]), self.kinds, strict=True)
        support = [mine + randomness.binomial(reports - having, self._q) for having, mine, reports in parts]
        self._names, *self._chunk_values = map(Known, known, support)

    def _value_support(self, chunk: int, names: Codes, values: Codes) -> Counts:
        """Return how many reports of a chunk support each pair of a name and a value behind it."""
        keys = names << CHUNK_BITS | values.astype(names.dtype)
        known = self._chunk_values[chunk]
        if len(new := distinct(keys[~known.find(keys)[0]])):
            known = known.with_more(new, self._randomness.binomial(self.kinds[1 + chunk], self._q, len(new)))
            self._chunk_values[chunk] = known
        return known.numbers[known.find(keys)[1]]

    def text_support(self, names: Codes, chunks: NDArray[np.uint8]) -> Counts:
        """Return how many reports of all kinds support each of some texts."""
        return self.support(names) + sum(self._value_support(i, names, row) for i, row in enumerate(chunks.T))


class DeviceByDeviceSetUsers(SetUsers):
    """Every user draws T and hashes it, in vectors."""

    def _reports(self, oracle: SetCounting, members: Users, key_of: Keys) -> Columns:
        """Perturb the sets of some users; key_of has the key at every index."""
        from treetop.simulation.set_kernels import chosen_items  # noqa: PLC0415  numba loads only where there are sets

        numbers = np.minimum(self.sets.sizes[members], self.most)
        chosen = np.empty(int(numbers.sum()), dtype=np.int32)
        chosen_items(self.randomness, members, self.sets.starts, self.sets.items, self.most, chosen)
        starts = np.concatenate([[0], np.cumsum(numbers)])
        return oracle.perturb_sets(starts, key_of[self.party.place_of[chosen]], GeneratorWords(self.randomness))

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        oracle = self.oracle_of(request)
        domain = request.domain
        key_of = np.append(domain.keys(self.party.values(domain)), np.uint64(NO_CODE_KEY))
        keys = np.append(domain.keys(domain.prefixes), np.uint64(NO_CODE_KEY))[: oracle.slots]
        return oracle.tally(self._reports(oracle, self._members(group), key_of), keys)

    def _named(self, request: CollectNames) -> NameReports:
        """Let every user draw her kind, then report all of T by it."""
        oracle = self.oracle_of(request)
        weights = request.weights
        kinds = self.randomness.choice(len(weights), self.party.users, p=weights)
        columns = [self._named_reports(oracle, request, kind, kinds) for kind in range(len(weights))]
        sizes = tuple(len(reports[0]) for reports in columns)
        return CountedNameReports(oracle, request.bits, sizes, lambda kind: [columns[kind]])

    def _named_reports(
        self, oracle: SetCounting, request: CollectNames, kind: int, kinds: NDArray[np.int64]
    ) -> Columns:
        keys = self.party.codes.astype(np.uint64)
        if kind:
            keys = chunk_keys(keys, kind - 1, self.party.text_chunks[:, kind - 1], request.bits)
        members = np.flatnonzero(kinds == kind).astype(np.int32)
        return self._reports(oracle, members, np.append(keys, np.uint64(no_name(request.bits))))
