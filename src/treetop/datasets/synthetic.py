"""SYN, the paper's synthetic federation: eight parties, Zipf and Poisson counts over Dirichlet-split items."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems
from treetop.errors import InvalidInput

GROUPS = 6
GROUP_SIZE = 7_000
"""Items of a group; parties share items because they take them from the same groups."""
IDS_BELOW = 2_000_000
CONCENTRATION = 0.5
"""Of the Dirichlet distribution by which a party's items fall to the groups."""
DEFAULT_SEED = 0


@dataclass(frozen=True)
class SynRow:
    """One row of the paper's dataset table."""

    users: int
    items: int
    shape: str
    parameter: float


ROWS = (
    SynRow(220_000, 5_484, "poisson", 10),
    SynRow(170_000, 6_260, "poisson", 8),
    SynRow(120_000, 6_688, "zipf", 1.1),
    SynRow(80_000, 6_796, "zipf", 1.3),
    SynRow(70_000, 4_590, "poisson", 6),
    SynRow(60_000, 4_429, "poisson", 4),
    SynRow(30_000, 4_813, "zipf", 1.5),
    SynRow(30_000, 5_024, "zipf", 1.7),
)


def synthetic(seed: int = DEFAULT_SEED, concentration: float = CONCENTRATION) -> Federation:
    """Draw SYN; the smaller the Dirichlet concentration, the less parties have in common.

    >>> import treetop
    >>> treetop.synthetic()
    Federation('syn': 8 parties, 780,000 users, 42,000 items)
    """
    if not concentration > 0 or not np.isfinite(concentration):
        raise InvalidInput("concentration_invalid", concentration=concentration)
    randomness = np.random.default_rng(seed)
    ids = randomness.choice(IDS_BELOW, GROUPS * GROUP_SIZE, replace=False)
    parties = tuple(_party(f"syn_{index}", row, concentration, randomness) for index, row in enumerate(ROWS))
    name = "syn" if (seed, concentration) == (DEFAULT_SEED, CONCENTRATION) else f"syn:{seed}"
    name += f":{concentration:g}" if concentration != CONCENTRATION else ""
    return Federation(name, [str(item) for item in ids.tolist()], parties, encoding="ids")


def _party(name: str, row: SynRow, concentration: float, randomness: Generator) -> PartyItems:
    """Take items, shuffle them into ranks, give one user to each and the others by the shape."""
    items = _items(row.items, concentration, randomness)
    randomness.shuffle(items)
    weights = np.fromiter(_weights(row), dtype=np.float64, count=row.items)
    users = 1 + randomness.multinomial(row.users - row.items, weights / weights.sum())
    return PartyItems(name, items, users.astype(np.int64))


def _items(number: int, concentration: float, randomness: Generator) -> NDArray[np.int64]:
    """Take the first floor(q_j U_i) items of group j, the missing ones one by one from random groups."""
    q = randomness.dirichlet(np.full(GROUPS, concentration))
    taken = np.minimum(np.floor(q * number).astype(np.int64), GROUP_SIZE)
    while taken.sum() < number:
        taken[randomness.choice(np.flatnonzero(taken < GROUP_SIZE))] += 1
    return np.concatenate([group * GROUP_SIZE + np.arange(first) for group, first in enumerate(taken)])


def _weights(row: SynRow) -> Iterator[float]:
    """Yield the weight of every rank: r^-alpha for r = 1.., or the Poisson probability of r = 0.. ."""
    if row.shape == "zipf":
        yield from (rank**-row.parameter for rank in range(1, row.items + 1))
        return
    probability = float(np.exp(-row.parameter))  # e^-l l^r / r!, each from the one before
    for rank in range(row.items):
        yield probability
        probability *= row.parameter / (rank + 1)
