"""Which item every single user of a party holds: a histogram, dealt out to people."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetop.datasets.federation import Federation
from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, UnknownName


@dataclass(frozen=True, eq=False)
class HeldItems:
    """User i holds item `indices[i]` of the list."""

    items: Sequence[str]
    indices: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indices)

    def codes(self, codec: ItemCodec) -> list[int | None]:
        """Return every user's code, None where the item has none."""
        held, users = np.unique(self.indices, return_inverse=True)
        encoded = codec.encode([self.items[index] for index in held.tolist()])
        fitting = zip(encoded.codes.tolist(), encoded.fits.tolist(), strict=True)
        codes = [int(code) if fits else None for code, fits in fitting]
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
