"""Users dealt to parties, samples of every party's users, and the items that each single user holds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems, party_of_sets
from treetop.datasets.user_sets import UserSets
from treetop.encoding.device_items import LARGEST_SET, device_codes, set_entries
from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.set_reports import USE_SHARES, SetQuestion


def with_share_of_users(federation: Federation, share: float, randomness: Generator) -> Federation:
    """Keep a random share of every party's users, drawn without replacement."""
    if not 0 < share <= 1:
        raise InvalidInput("share_out_of_range", share=share)
    if share == 1:
        return federation
    sizes = [max(1, round(share * party.total)) for party in federation.parties]
    parties = tuple(_drawn_users(*pair, randomness) for pair in zip(federation.parties, sizes, strict=True))
    return replace(federation, parties=parties)


def first_parties(federation: Federation, number: int) -> Federation:
    """Keep the first parties."""
    if not 1 <= number <= len(federation.parties):
        raise InvalidInput("parties_too_few", name=federation.name, parties=len(federation.parties), asked=number)
    return replace(federation, parties=federation.parties[:number])


def with_users(federation: Federation, users: int, randomness: Generator) -> Federation:
    """Keep that number of users in all, drawn without replacement: of every party its share, at least one."""
    if users < len(federation.parties):
        raise InvalidInput("users_too_few", number=len(federation.parties), users=users)
    if users >= federation.users:
        return federation
    sizes = proportional_sizes([party.total for party in federation.parties], users)
    parties = (_drawn_users(*pair, randomness) for pair in zip(federation.parties, sizes, strict=True))
    return replace(federation, parties=tuple(parties))


def proportional_sizes(totals: Sequence[int], users: int) -> list[int]:
    """Return sizes of at least 1 that add up to `users`, as proportional as whole numbers can be.

    This is the largest-remainder method on the users beyond the first of each party, in exact fractions.
    """
    spare = users - len(totals)
    room = [total - 1 for total in totals]
    exact = [Fraction(spare * one, max(sum(room), 1)) for one in room]
    sizes = [int(share) for share in exact]
    by_remainder = sorted(range(len(totals)), key=lambda index: sizes[index] - exact[index])
    for index in by_remainder[: spare - sum(sizes)]:
        sizes[index] += 1
    return [1 + size for size in sizes]


def _drawn_users(party: PartyItems, wanted: int, randomness: Generator) -> PartyItems:
    if party.sets is not None:
        drawn = np.sort(randomness.choice(party.total, wanted, replace=False))
        return party_of_sets(party.name, party.sets.of_users(drawn))
    users = randomness.multivariate_hypergeometric(party.users, wanted)
    held = users > 0
    return PartyItems(party.name, party.items[held], users[held].astype(np.int64))


def deal(users: int, sizes: Mapping[str, int], randomness: Generator) -> NDArray[np.int64]:
    """Return for each of many users the index of her party, or -1 for none.

    Every party gets exactly the users it asks for, at random; where there are too few users for all of them,
    parties shrink in proportion.
    """
    if not sizes or any(size < 1 for size in sizes.values()):
        raise InvalidInput("party_size", sizes=dict(sizes))
    asked = np.array(list(sizes.values()), dtype=np.int64)
    if asked.sum() > users:
        asked = asked * users // asked.sum()
    indices = np.full(users, -1, dtype=np.int64)
    indices[: asked.sum()] = np.repeat(np.arange(len(asked)), asked)
    return randomness.permutation(indices)


@dataclass(frozen=True, eq=False)
class HeldItems:
    """User i holds item `indices[i]` of the list."""

    items: Sequence[str]
    indices: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indices)

    def codes(self, codec: ItemCodec, steps: Collection[str] = ()) -> list[int | None]:
        """Return every user's code, None where the item has none; items are normalised first."""
        held, users = np.unique(self.indices, return_inverse=True)
        codes = device_codes(codec, [self.items[index] for index in held.tolist()], steps)
        return [codes[user] for user in users.tolist()]

    @property
    def as_sets(self) -> "HeldSets":
        """Return the same users with sets of one item."""
        return HeldSets(self.items, UserSets(np.arange(len(self) + 1), self.indices.astype(np.int32)))


@dataclass(frozen=True, eq=False)
class HeldSets:
    """User i holds the i-th set of items of the list."""

    items: Sequence[str]
    sets: UserSets

    def __len__(self) -> int:
        return len(self.sets)

    def codes(self, codec: ItemCodec, steps: Collection[str], asked: SetQuestion) -> "SetCodes":
        """Return every user's items with their codes; each item is normalised and encoded once."""
        uses = self.sets.counts if asked.reading == USE_SHARES else None
        if uses is not None:  # a device reads no more uses: a simulated one that did would report by another law
            before = np.concatenate([[0], np.cumsum(uses)])
            if (most := int(np.diff(before[self.sets.starts]).max(initial=0))) > LARGEST_SET:
                raise InvalidInput("set_too_large", largest_set=LARGEST_SET, most=most)
        entries = [next(iter(set_entries([item], steps))) for item in self.items]
        return SetCodes(self.sets, entries, device_codes(codec, self.items, steps), uses)


@dataclass(frozen=True, eq=False)
class SetCodes(Sequence[dict[bytes, int | None]]):
    """Every user's items as bytes with their codes, assembled when she is asked; with uses, one entry for each."""

    sets: UserSets
    entries: Sequence[bytes]
    item_codes: Sequence[int | None]
    uses: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, user: Any) -> Any:
        own = slice(int(self.sets.starts[user]), int(self.sets.starts[user + 1]))
        held = self.sets.items[own].tolist()
        if self.uses is None:
            return {self.entries[item]: self.item_codes[item] for item in held}
        used = np.repeat(held, self.uses[own]).tolist()
        return {self.entries[item] + b"\0%d" % use: self.item_codes[item] for use, item in enumerate(used)}


def users_of(federation: Federation, party: str, users: int | None, seed: int) -> HeldItems | HeldSets:
    """Deal a party's items out to its users, or to some of them drawn without replacement; the seed decides."""
    found = {each.name: each for each in federation.parties}
    if party not in found:
        raise UnknownName("party", party, found)
    own = found[party]
    randomness = np.random.default_rng(seed)
    if users is not None and not 1 <= users <= own.total:
        raise InvalidInput("party_users_too_few", party=party, total=own.total, users=users)
    if own.sets is not None:
        return HeldSets(federation.items, own.sets.of_users(randomness.permutation(own.total)[:users]))
    held = np.repeat(own.items, own.users)
    randomness.shuffle(held)
    return HeldItems(federation.items, held[:users])
