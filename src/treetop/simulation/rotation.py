"""Who answers in which week of a campaign: every user draws one week of the cycle, uniformly, whatever she holds.

By exchangeability nobody needs to be named: how the holders of an item fall into the weeks is a multinomial draw.
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from treetop.datasets.federation import Federation, PartyItems, party_of_sets
from treetop.errors import InvalidInput


def drawn_slots(federation: Federation, weeks: int, randomness: Generator) -> tuple[Federation, ...]:
    """Return for every week of a cycle the users who answer in it, with the items that they held in the first one."""
    divided = [_divided(party, weeks, randomness) for party in federation.parties]
    slots = [tuple(party for party in slot if party.total) for slot in zip(*divided, strict=True)]
    for week, parties in enumerate(slots, start=1):
        if not parties:
            raise InvalidInput("rotation_users", users=federation.users, weeks=weeks, week=week)
    return tuple(replace(federation, parties=parties) for parties in slots)


def _divided(party: PartyItems, weeks: int, randomness: Generator) -> list[PartyItems]:
    """Deal the users of a party to the weeks."""
    if party.sets is not None:
        slot = randomness.integers(weeks, size=len(party.sets))
        return [party_of_sets(party.name, party.sets.of_users(slot == week)) for week in range(weeks)]
    users = randomness.multinomial(party.users, np.full(weeks, 1 / weeks))
    return [PartyItems(party.name, party.items[drawn > 0], drawn[drawn > 0]) for drawn in users.T]
