"""A federation whose devices hold sets has the law of the exact simulation: names, chunks of texts, catalogues, tries.

Small federations, many of them. Every device draws its key, takes T and reports through the device's own face; parties
count with the p and q of sets. The simulation draws the same users by the law of what a report supports. Compared are
the answers as sets (two-sample chi-square), mean and variance of one item's count, and of the difference of two items
that are held together, which independent reports would not have. 150 of each see a shift of one standard deviation in a
mean with probability above 0.99, and the 600 of the long test half of one, or a variance 2.3 times as large; a false
alarm is one in 10^9, and the seeds are fixed.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.equivalence.test_federation_law import answers_differ, moments_differ
from tests.statistical.settings import FALSE_ALARM
from tests.support.federations import FEW, Federation
from tests.support.orders import query_order

from treetop.datasets.federation import Federation as Data
from treetop.datasets.federation import party_of_sets
from treetop.datasets.user_sets import UserSets
from treetop.encoding.device_items import device_codes
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.task_codec import codec_of
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.oracles.set_reports import HOLDERS, SHARES, SetFace, SetQuestion
from treetop.simulation.population import Population
from treetop.simulation.run import run

ITEMS = ["7", "12", "200", "201", "90", "cherry"]
"""The last one is no id."""
SETS: dict[str, list[list[int]]] = {
    "a": [[0, 1], [0, 1, 2], [0, 1, 2, 3, 4], [5, 1], [2, 4]],
    "b": [[0, 1, 3], [0, 1], [3], [0, 2, 3, 5]],
}
USERS = 30
"""Of every set."""
WATCHED, BESIDE = "7", "12"
IDS: dict[str, Any] = {"encoding": "ids", "settings": {"bits": 8}}
TEXTS: dict[str, Any] = {
    "word_list": ItemList(("7", "12", "90", "no")),
    "settings": {"bits": 10, "text_chunks": 1, "text_share": 0.4, "hash_key": "law"},
}
CATALOGUE: dict[str, Any] = {"catalogue": ItemList(("7", "12", "200", "no")), "settings": {}}
TRIE: dict[str, Any] = {"mechanism": "canopy", "encoding": "ids", "settings": {"bits": 8, "step_bits": 4}}
SEVERAL, ONE = SetQuestion(3, HOLDERS), SetQuestion(1, SHARES)
Runs = tuple[list[frozenset[str]], NDArray[np.float64], NDArray[np.float64]]


def data(asked: SetQuestion) -> Data:
    parties = []
    for name, sets in SETS.items():
        held = [each for each in sets for _ in range(USERS)]
        starts = np.cumsum([0, *map(len, held)])
        flat = np.array([item for each in held for item in sorted(each)], dtype=np.int32)
        parties.append(party_of_sets(name, UserSets(starts, flat)))
    return Data("sets", ITEMS, tuple(parties)).asking(asked)


def order(asked: SetQuestion, more: dict[str, Any]) -> QueryOrder:
    return query_order("sets", tuple(SETS), **{"epsilon": "3", "k": 3, "least": FEW, "sets": asked, **more})


def federation_answer(asked: SetQuestion, more: dict[str, Any], seed: int) -> dict[str, Any]:
    wanted = order(asked, more)
    codec = codec_of(planned_task(wanted), wanted.listed.items if wanted.listed else ())
    code = device_codes(codec, ITEMS)
    held: Any = {
        name: [[code[item] for item in each] for each in sets for _ in range(USERS)] for name, sets in SETS.items()
    }
    return Federation.of(wanted, held, seed).query().run().content


def federations(runs: int, asked: SetQuestion, more: dict[str, Any]) -> Runs:
    answers = (federation_answer(asked, more, seed + 1) for seed in range(runs))
    return _watched([{row["item"]: row["count"] for row in answer["items"]} for answer in answers])


def simulations(runs: int, asked: SetQuestion, more: dict[str, Any]) -> Runs:
    wanted = order(asked, more)
    task = planned_task(wanted)
    codec = codec_of(task, wanted.listed.items if wanted.listed else ())
    crowd, mechanism, parameters = (
        Population(data(asked), codec),
        mechanism_of(task, wanted.listed),
        parameters_of(task),
    )
    found = []
    for seed in range(runs):
        ranking = run(mechanism, parameters, crowd, seed=seed).ranking
        names = (name for name, _ in ranking.names_of(ranking.prefixes, codec.show))
        found.append(dict(zip(names, ranking.counts.tolist(), strict=True)))
    return _watched(found)


def _watched(found: list[dict[str, float]]) -> Runs:
    one, two = (np.array([counts.get(name, 0.0) for counts in found]) for name in (WATCHED, BESIDE))
    return [frozenset(counts) for counts in found], one, one - two


def smallest_p(one: Runs, other: Runs) -> float:
    return min(answers_differ(one[0], other[0]), *moments_differ(one[1], other[1]), *moments_differ(one[2], other[2]))


CASES = [(SEVERAL, IDS), (SEVERAL, TEXTS), (SEVERAL, CATALOGUE), (SEVERAL, TRIE), (ONE, IDS)]
NAMES = ["ids", "list and texts", "catalogue", "trie", "one of a set"]


@pytest.fixture(scope="module")
def simulated() -> Runs:
    return simulations(150, SEVERAL, TRIE)


def test_a_federation_of_sets_has_the_law_of_the_simulation(simulated: Runs) -> None:
    assert smallest_p(federations(150, SEVERAL, TRIE), simulated) >= FALSE_ALARM


def test_the_comparison_sees_a_device_that_speaks_of_one_item(simulated: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = SetFace.chosen
    monkeypatch.setattr(SetFace, "chosen", lambda self, key, held: chosen(self, key, held)[:1])
    assert smallest_p(federations(150, SEVERAL, TRIE), simulated) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "more"), CASES, ids=NAMES)
def test_a_federation_of_sets_has_the_law_of_the_simulation_in_long(asked: SetQuestion, more: dict[str, Any]) -> None:
    assert smallest_p(federations(600, asked, more), simulations(600, asked, more)) >= FALSE_ALARM
