"""A small party whose users report names: two texts share one, and some users have none."""

import numpy as np
from numpy.typing import NDArray

from treetop.mechanisms.dialogue import CollectNames
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import PartyPopulation

BITS = 10
NO_NAME = (1 << BITS) - 1
CODES = np.array([5, 5, 300, 700, 900], dtype=np.uint64)
CHUNKS = np.array([[1, 2], [1, 9], [33, 200], [7, 7], [60, 61]], dtype=np.uint8)
COUNTS = (60, 40, 90, 30, 45, 35)
"""The last ones have no code."""
LISTED = np.array([5, 5, 17, 300, 700], dtype=np.uint64)
LISTED_CHUNKS = np.array([[1, 2], [1, 9], [4, 4], [33, 200], [7, 8]], dtype=np.uint8)
"""Both texts that share a name, one that nobody holds, one that is held, one whose name another text has."""
ASKED = np.append(LISTED, np.uint64(NO_NAME))
WEIGHTS = (0.6, 0.25, 0.15)


def names(*some: int) -> NDArray[np.uint64]:
    return np.array(some, dtype=np.uint64)


def party(*, texts: bool = True) -> PartyPopulation:
    return PartyPopulation("one", BITS, CODES, np.concatenate([[0], np.cumsum(COUNTS)]), CHUNKS if texts else None)


def request(weights: tuple[float, ...] = WEIGHTS, oracle: str = "walsh") -> CollectNames:
    return CollectNames(BITS, oracle_named(oracle, Epsilon(2), 1 << BITS), weights)
