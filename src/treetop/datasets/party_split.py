"""Users dealt to parties, and a part of every party's users."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems
from treetop.errors import InvalidInput


def with_share_of_users(federation: Federation, share: float, randomness: Generator) -> Federation:
    """Keep a random share of every party's users, drawn without replacement."""
    if not 0 < share <= 1:
        raise InvalidInput(f"the share of users must be above 0 and at most 1, found {share}")
    if share == 1:
        return federation
    parties = tuple(_some_users(party, share, randomness) for party in federation.parties)
    return replace(federation, parties=parties)


def _some_users(party: PartyItems, share: float, randomness: Generator) -> PartyItems:
    wanted = max(1, round(share * party.total))
    users = randomness.multivariate_hypergeometric(party.users, wanted)
    held = users > 0
    return PartyItems(party.name, party.items[held], users[held].astype(np.int64))


def deal(users: int, sizes: Mapping[str, int], randomness: Generator) -> NDArray[np.int64]:
    """Return for each of many users the place of the party that she falls to, or -1 for none.

    Every party gets exactly the users it asks for, at random; where there are too few users for all of them,
    parties shrink in proportion.
    """
    if not sizes or any(size < 1 for size in sizes.values()):
        raise InvalidInput(f"every party needs a size of 1 at least, found {dict(sizes)}")
    asked = np.array(list(sizes.values()), dtype=np.int64)
    if asked.sum() > users:
        asked = asked * users // asked.sum()
    places = np.full(users, -1, dtype=np.int64)
    places[: asked.sum()] = np.repeat(np.arange(len(asked)), asked)
    return randomness.permutation(places)
