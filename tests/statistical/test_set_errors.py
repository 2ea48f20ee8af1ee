"""Where users report some of their items, which ones is a draw like any other, and standard errors have it.

1,500 users in two parties hold four of six listed items each and report one of them at epsilon 4. All six are named, so
nothing is selected. The mean square of the 300 x 6 standardised errors has a standard error of 0.033; 0.92 is expected,
as the errors shown are the largest that sets of any sizes can have, and 4.4 where only the noise of reports is counted.
The limits lie 3.6 and 5.4 standard errors away; the seed is fixed.
"""

import numpy as np
import pytest
from tests.equivalence.test_set_federation_law import IDS, ONE, SEVERAL, federation_answer

from treetop.datasets.federation import Federation, PartyItems, party_of_sets
from treetop.datasets.user_sets import UserSets
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.mechanisms.query import Query
from treetop.oracles.registry import set_oracle
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.query.preparation import prepared
from treetop.query.sets import asked_of_sets
from treetop.simulation.run import run

RUNS, HELD = 300, 4
ITEMS = [f"item {place}" for place in range(6)]


def _party(name: str, users: int, random: np.random.Generator) -> PartyItems:
    chosen = np.sort(np.argsort(random.random((users, len(ITEMS))), axis=1)[:, :HELD], axis=1)
    return party_of_sets(name, UserSets(np.arange(users + 1) * HELD, chosen.ravel().astype(np.int32)))


def test_standard_errors_have_the_choice_of_items() -> None:
    random = np.random.default_rng(1)
    federation = Federation("sets", ITEMS, (_party("a", 1000, random), _party("b", 500, random)))
    question = Query(len(ITEMS), 4.0, catalogue=ItemCatalogue(tuple(ITEMS)))
    taken = prepared(*asked_of_sets(federation, question, items_per_user=1, reading="shares", seed=1))
    shares = dict(zip(taken.population.truth.codes.tolist(), taken.population.truth.users.tolist(), strict=True))
    squares = []
    for repetition in range(RUNS):
        found = run(taken.mechanism, taken.parameters, taken.population, seed=1, repetition=repetition)
        ranking = found.ranking
        assert len(ranking) == len(ITEMS)
        errors = ranking.counts - [shares[code] for code in ranking.prefixes.tolist()]
        squares.extend(errors**2 / ranking.variances)
        by_party = sum(
            np.array([named[code][1] ** 2 for code in ranking.prefixes.tolist()])
            for named in (party.by_prefix for party in found.estimates.values())
        )
        assert by_party == pytest.approx(ranking.variances)
    assert 0.80 < np.mean(squares) < 1.10


@pytest.mark.parametrize("asked", [ONE, SEVERAL])
def test_a_federation_says_so_too(asked: SetQuestion) -> None:
    """Every party's error: the noise of n reports, by p and q of the oracle, and c (1 - c / n) for the choice."""
    answer = federation_answer(asked, IDS, seed=1)
    oracle = set_oracle("walsh", Epsilon(3.0), asked.items_per_user)
    users = {party["name"]: party["users"] for party in answer["parties"]}
    for row in answer["items"]:
        variance = 0.0
        for party in row["by_party"]:
            n, p, q = users[party["party"]], oracle.p, oracle.q
            f = min(max(party["count"] / n, 0.0), 1.0)
            own = n * (q * (1 - q) / (p - q) ** 2 + f * (1 - p - q) / (p - q) + f * (1 - f))
            assert party["stderr"] == pytest.approx(own**0.5)
            variance += own
        assert row["stderr"] == pytest.approx(variance**0.5)
