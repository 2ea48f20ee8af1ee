"""An item of the planned frequency is found in nine of ten runs.

Each check runs many exact simulations of one item above a flat background of items that are too rare to be found. With
250 runs and a true power of 0.90 the standard error is 0.019; the band 0.80 to 0.97 is left by chance with a
probability below 1e-3, and a frequency 30 % lower, whose power is below 0.6, is nearly always rejected.
"""

from typing import Any

import pytest

from treetop.datasets.federation import Federation, federation_from_mapping
from treetop.planning.plan import plan
from treetop.query.strategy import FindRequest, choose
from treetop.simulation.run import run

USERS = (60_000, 40_000)
RUNS = 250
LEAST, MOST = 0.80, 0.97
BACKGROUND = 2_000
CATALOGUE, LONE, HASHED = 0, 2, 3


def _federation(frequency: float) -> Federation:
    """Let one item have the frequency and share the other users evenly among many: ids spread over 48 bits."""
    parties = {}
    for party, users in enumerate(USERS):
        held = round(frequency * users)
        others = {str(1 + rank * 140_737_488_355): (users - held) // BACKGROUND for rank in range(1, BACKGROUND)}
        parties[f"party {party}"] = {str(200_000_000_000_001): held, **others}
        parties[f"party {party}"]["5"] = users - sum(parties[f"party {party}"].values())
    return federation_from_mapping(parties)


def _share_found(frequency: float, epsilon: float, asked: dict[str, Any], runs: int = RUNS) -> float:
    federation = _federation(frequency)
    taken = choose(federation, FindRequest(10, epsilon, **asked))
    name = "200000000000001"
    code = int(taken.population.codec.encode([name]).codes[0])
    hits = 0
    for repetition in range(runs):
        outcome = run(taken.mechanism, taken.parameters, taken.population, seed=11, repetition=repetition)
        hits += code in outcome.ranking.prefixes.tolist()
    return hits / runs


def _planned(place: int, epsilon: float, size: int = BACKGROUND) -> float:
    found = plan(USERS, epsilon=epsilon, catalogue_size=size).rows[place].found
    assert found is not None
    return found


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_catalogue(epsilon: float) -> None:
    asked = {"catalogue": _federation(0.1).items}
    frequency = _planned(CATALOGUE, epsilon, len(asked["catalogue"]))
    assert LEAST < _share_found(frequency, epsilon, asked) < MOST
    assert _share_found(0.7 * frequency, epsilon, asked) < LEAST


def test_canopy_where_no_beginning_is_shared() -> None:
    frequency = _planned(LONE, 3.0)
    assert LEAST < _share_found(frequency, 3.0, {"encoding": "ids"}, 120) <= 1.0


def test_hashed_names() -> None:
    asked: dict[str, Any] = {"strategy": "hashed", "text_recovery": False}
    frequency = _planned(HASHED, 3.0)
    assert LEAST < _share_found(frequency, 3.0, asked, 60) <= 1.0
