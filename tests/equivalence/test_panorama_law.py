"""Panorama in a federation has the law of the exact simulation: lists, names on no list, chunks of texts, catalogues.

Small federations, many of them, whose devices run the real oracle and whose parties run the real transform. Compared
are the answers as sets of names and where they were read (two-sample chi-square), and mean and variance of the count of
one listed name, which all kinds of reports count. 250 of each see a shift of 0.75 standard deviations in the mean, or a
variance 3 times as large, with probability above 0.99; a false alarm is one in 10^9, and the seeds are fixed.
"""

from typing import Any

import numpy as np
import pytest
from tests.equivalence.test_federation_law import smallest_p
from tests.statistical.settings import FALSE_ALARM
from tests.support.federations import Federation, naming

from treetop.adapters.memory import report_collection
from treetop.datasets.federation import federation_from_mapping
from treetop.federation.task_codec import codec_of
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.oracles.hashing import chunk_keys
from treetop.simulation.population import Population
from treetop.simulation.run import run

HOLDERS = {
    "a": {"ab": 400, "cd": 240, "ef": 160, "xy": 140, "zz": 60},
    "b": {"ab": 300, "ef": 280, "cd": 200, "qq": 220},
}
WATCHED = "ab"
WORDS = ItemList(("ab", "cd", "no"))
SHORT = {"bits": 10, "text_chunks": 1, "text_share": 0.4, "hash_key": "law"}
TEXTS: dict[str, Any] = {"word_list": WORDS, "epsilon": "1", "settings": SHORT}
LONG_TEXTS = {**TEXTS, "settings": {"bits": 12, "text_chunks": 3, "text_share": 0.4, "hash_key": "law"}}
CATALOGUE = {"catalogue": ItemList(("ab", "cd", "ef", "xy", "no")), "epsilon": "0.7", "settings": {}}
Runs = tuple[list[frozenset[str]], Any]


def asked(more: dict[str, Any], seed: int = 1) -> Federation:
    return naming(HOLDERS, seed, **more)


def federations(runs: int, more: dict[str, Any]) -> Runs:
    answers, counts = [], []
    for seed in range(runs):
        rows = asked(more, seed + 1).query().run().content["items"]
        answers.append(frozenset(f"{row['item']} {row['source']}" for row in rows))
        counts.append({row["item"]: row["count"] for row in rows}.get(WATCHED, 0.0))
    return answers, np.array(counts)


def simulations(runs: int, more: dict[str, Any]) -> Runs:
    one = asked(more)
    codec = codec_of(one.task, one.order.listed.items if one.order.listed else ())
    crowd = Population(federation_from_mapping(HOLDERS), codec)
    mechanism, parameters = mechanism_of(one.task, one.order.listed), parameters_of(one.task)
    answers, counts = [], []
    for seed in range(runs):
        ranking = run(mechanism, parameters, crowd, seed=seed).ranking
        names = ranking.names_of(ranking.prefixes, codec.show)
        answers.append(frozenset(f"{name} {source}" for name, source in names))
        found = dict(zip((name for name, _ in names), ranking.counts.tolist(), strict=True))
        counts.append(found.get(WATCHED, 0.0))
    return answers, np.array(counts)


@pytest.mark.parametrize("more", [TEXTS, CATALOGUE], ids=["list and texts", "catalogue"])
def test_a_federation_has_the_law_of_the_simulation(more: dict[str, Any]) -> None:
    assert smallest_p(federations(250, more), simulations(250, more)) >= FALSE_ALARM


def test_the_comparison_sees_a_chunk_that_is_reported_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two users in five report a part of their text: a listed name then loses their support."""
    simulated = simulations(250, TEXTS)
    monkeypatch.setattr(
        report_collection, "chunk_keys", lambda names, chunk, *rest: chunk_keys(names, chunk + 1, *rest)
    )
    assert smallest_p(federations(100, TEXTS), simulated) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("more", [TEXTS, LONG_TEXTS, CATALOGUE], ids=["one chunk", "three chunks", "catalogue"])
def test_a_federation_has_the_law_of_the_simulation_in_long(more: dict[str, Any]) -> None:
    assert smallest_p(federations(2000, more), simulations(2000, more)) >= FALSE_ALARM
