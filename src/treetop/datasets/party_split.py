"""Users dealt to parties, a part of every party's users, and which item every single user holds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems
from treetop.encoding.device_items import device_codes
from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, UnknownName


def with_share_of_users(federation: Federation, share: float, randomness: Generator) -> Federation:
    """Keep a random share of every party's users, drawn without replacement."""
    if not 0 < share <= 1:
        raise InvalidInput(f"the share of users must be above 0 and at most 1, found {share}")
    if share == 1:
        return federation
    parties = tuple(_some_users(party, share, randomness) for party in federation.parties)
    return replace(federation, parties=parties)


def first_parties(federation: Federation, number: int) -> Federation:
    """Keep the parties that stand first."""
    if not 1 <= number <= len(federation.parties):
        raise InvalidInput(f"{federation.name} has {len(federation.parties)} parties, found {number} asked for")
    return replace(federation, parties=federation.parties[:number])


def with_users(federation: Federation, users: int, randomness: Generator) -> Federation:
    """Keep so many users in all, drawn without replacement: of every party its share, one at least."""
    if users < len(federation.parties):
        raise InvalidInput(f"expected one user for each of {len(federation.parties)} parties at least, found {users}")
    if users >= federation.users:
        return federation
    sizes = proportional_sizes([party.total for party in federation.parties], users)
    parties = (_drawn_users(*pair, randomness) for pair in zip(federation.parties, sizes, strict=True))
    return replace(federation, parties=tuple(parties))


def proportional_sizes(totals: Sequence[int], users: int) -> list[int]:
    """Return sizes of 1 at least that add up to `users`, as proportional as whole numbers can be."""
    spare = users - len(totals)
    room = [total - 1 for total in totals]
    exact = [Fraction(spare * one, max(sum(room), 1)) for one in room]
    sizes = [int(share) for share in exact]
    by_remainder = sorted(range(len(totals)), key=lambda index: sizes[index] - exact[index])
    for index in by_remainder[: spare - sum(sizes)]:
        sizes[index] += 1
    return [1 + size for size in sizes]


def _some_users(party: PartyItems, share: float, randomness: Generator) -> PartyItems:
    return _drawn_users(party, max(1, round(share * party.total)), randomness)


def _drawn_users(party: PartyItems, wanted: int, randomness: Generator) -> PartyItems:
    if party.sets is not None:
        raise InvalidInput(f"party {party.name!r} holds sets of items: expected one item of each user, to draw users")
    users = randomness.multivariate_hypergeometric(party.users, wanted)
    held = users > 0
    return PartyItems(party.name, party.items[held], users[held].astype(np.int64))


def deal(users: int, sizes: Mapping[str, int], randomness: Generator) -> NDArray[np.int64]:
    """Return for each of many users the index of her party, or -1 for none.

    Every party gets exactly the users it asks for, at random; where there are too few users for all of them,
    parties shrink in proportion.
    """
    if not sizes or any(size < 1 for size in sizes.values()):
        raise InvalidInput(f"every party needs a size of 1 at least, found {dict(sizes)}")
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
        """Return every user's code, None where the item has none; items are put through some steps first."""
        held, users = np.unique(self.indices, return_inverse=True)
        codes = device_codes(codec, [self.items[index] for index in held.tolist()], steps)
        return [codes[user] for user in users.tolist()]


def users_of(federation: Federation, party: str, users: int | None, seed: int) -> HeldItems:
    """Deal a party's items out to its users, or to some of them drawn without replacement; the seed says who is who."""
    found = {each.name: each for each in federation.parties}
    if party not in found:
        raise UnknownName("party", party, found)
    held = np.repeat(found[party].items, found[party].users)
    if users is not None and not 1 <= users <= len(held):
        raise InvalidInput(f"party {party!r} has {len(held):,} users, found {users:,} asked for")
    np.random.default_rng(seed).shuffle(held)
    return HeldItems(federation.items, held[:users])
