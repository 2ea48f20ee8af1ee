"""Servers go on without parties that left, and lists keep as many prefixes as they are told to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.support.over_ids import mechanism_over_ids, oracle_of
from tests.support.populations import population, three_parties, zipf

from treetop.mechanisms.dialogue import AskParties
from treetop.mechanisms.registry import MECHANISMS, parameters_for
from treetop.simulation.population import Population
from treetop.simulation.run import PartyRun, run
from treetop.simulation.simulated_users import ExactUsers
from treetop.trie.global_ranking import GlobalRanking

EVERY = pytest.mark.parametrize("name", MECHANISMS)


def parameters(name: str, epsilon: float = 4, **more: object) -> Any:
    few: dict[str, object] = {"bits": 8, "step_bits": 2} if name == "canopy" else {"bits": 8, "levels": 4}
    return parameters_for(mechanism_over_ids(name), 3, epsilon, oracle_of(name, "krr"), {**few, **more})


def without(name: str, lost: Mapping[str, int], crowd: Population) -> tuple[GlobalRanking, dict[str, list[Any]]]:
    """Drive a server whose parties leave after so many answers; return also what each party was told."""
    told, roster = parameters(name), crowd.roster
    parties = {
        party.name: PartyRun(
            mechanism_over_ids(name).party(told, roster, next(m for m in roster.members if m.name == party.name)),
            ExactUsers(party, np.random.default_rng(place)),
        )
        for place, party in enumerate(crowd.parties)
    }
    server, answer, said = mechanism_over_ids(name).server(told, roster), None, dict[str, list[Any]]()
    while True:
        try:
            request = server.send(answer)
        except StopIteration as end:
            return end.value, said
        assert isinstance(request, AskParties)
        answer = {}
        for party, message in request.messages.items():
            said.setdefault(party, []).append(message)
            if len(said[party]) <= lost.get(party, 99):
                answer[party] = parties[party].deliver(message)


@EVERY
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("party", ["a", "b", "c"])
def test_a_server_answers_without_a_party(name: str, party: str, after: int) -> None:
    ranking, _ = without(name, {party: after}, three_parties())
    assert len(ranking) == 3
    assert ranking.parties.max() <= (3 if after else 2)


def test_the_successor_hears_the_last_list_there_is() -> None:
    _, said = without("taps", {"b": 1}, three_parties())
    told = said["c"][-1]
    assert told.author == "a"
    assert set(told.D) == {2, 3, 4}
    assert (said["a"][-1].author, dict(said["a"][-1].D)) == (None, {})


def kept_at_least(name: str, least: int, crowd: Population, **more: object) -> int:
    """The fewest prefixes that any level but the last one kept."""
    outcome = run(mechanism_over_ids(name), parameters(name, 16, least_kept=least, **more), crowd, seed=2)
    return min(trace.kept for traces in outcome.traces.values() for trace in traces if trace.level < 4)


def one_item() -> Population:
    return population({"a": {"200": 3000, "201": 1, "202": 1}, "b": {"200": 2000}})


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "panorama"])
def test_least_kept_is_kept(name: str) -> None:
    k_is_one: dict[str, object] = {"extension_factor": 0.1, "extension": "fixed"} if name != "canopy" else {}
    assert kept_at_least(name, 2, one_item(), **k_is_one) >= 2
    assert kept_at_least("gtf", 1, one_item()) == 1
    assert kept_at_least("canopy", 1, one_item()) == 1


def test_a_shared_trie_below_the_least_is_not_shared() -> None:
    """Two parties find one prefix in common only: each goes on from its own."""
    crowd, asked = one_item(), parameters("tap", 16, least_kept=2, shared_share=0.5)
    outcome = run(mechanism_over_ids("tap"), asked, crowd, seed=2)
    assert outcome.ranking.prefixes[0] == 200


def test_a_validation_set_without_reports_prunes_nothing() -> None:
    crowd = population({"a": zipf(4000, 20), "b": {"9": 30}})
    outcome = run(mechanism_over_ids("taps"), parameters("taps"), crowd, seed=1)
    notes = [trace.note for trace in outcome.traces["b"]]
    assert "not pruned: a validation set has no reports" in notes
