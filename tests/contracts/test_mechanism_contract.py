"""What every mechanism must do, whoever answers its questions."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest
from numpy.random import Generator
from tests.support.over_ids import mechanism_over_ids, oracle_of
from tests.support.populations import population, three_parties, zipf
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import CollectNames, CollectReports, NameReports
from treetop.mechanisms.panorama.parameters import MAX_CODE_BITS
from treetop.mechanisms.registry import MECHANISMS, parameters_for
from treetop.mechanisms.wire.taps import PruningFindings
from treetop.oracles.frequency_oracle import Tally
from treetop.simulation import run as run_module
from treetop.simulation.population import PartyPopulation, Population
from treetop.simulation.run import RunResult, run
from treetop.simulation.simulated_users import EVERYBODY, ExactUsers
from treetop.trie.user_groups import Group

EVERY = pytest.mark.parametrize("name", MECHANISMS)
FEW = {"bits": 8, "levels": 4}


def go(
    name: str,
    crowd: Population,
    *,
    k: int = 3,
    epsilon: float = 3,
    oracle: str = "auto",
    seed: int = 1,
    simulator: str = "exact",
    settings: Mapping[str, object] = FEW,
) -> RunResult:
    mechanism = mechanism_over_ids(name)
    parameters = parameters_for(mechanism, k, epsilon, oracle_of(name, oracle), settings)
    return run(mechanism, parameters, crowd, seed=seed, simulator=simulator)


def fingerprint(outcome: RunResult) -> tuple[Any, ...]:
    ranking = outcome.ranking
    return (ranking.prefixes.tolist(), ranking.counts.tolist(), ranking.variances.tolist(), dict(outcome.uplink_bits))


@EVERY
@pytest.mark.parametrize("simulator", ["exact", "devices"])
@pytest.mark.parametrize("oracle", ["krr", "oue", "olh", "auto"])
def test_the_same_seed_gives_the_same_answer(name: str, oracle: str, simulator: str) -> None:
    crowd = three_parties()
    first, again, other = (go(name, crowd, oracle=oracle, simulator=simulator, seed=seed) for seed in (1, 1, 2))
    assert fingerprint(first) == fingerprint(again)
    assert fingerprint(first) != fingerprint(other)


@EVERY
def test_an_answer_has_k_items_with_positive_counts_and_error_bars(name: str) -> None:
    ranking = go(name, three_parties()).ranking
    assert len(ranking) == len(set(ranking.prefixes.tolist())) == 3
    assert np.all(ranking.counts > 0)
    assert np.all(ranking.variances > 0)
    assert np.all((ranking.parties >= 1) & (ranking.parties <= 3))


@EVERY
@pytest.mark.parametrize("parties", [{"only": zipf(4000, 20)}, {"a": {"7": 1}, "b": zipf(4000, 20), "c": {"9": 3}}])
def test_one_party_and_tiny_parties_do(name: str, parties: dict[str, dict[str, int]]) -> None:
    crowd = population(parties)
    for simulator in ("exact", "devices"):
        outcome = go(name, crowd, simulator=simulator)
        assert len(outcome.ranking) == 3
        assert outcome.uplink_bits.keys() == parties.keys()


@EVERY
@pytest.mark.parametrize("simulator", ["exact", "devices"])
@pytest.mark.parametrize(
    "settings",
    [
        {"bits": 8, "levels": 1},
        {"bits": 8, "levels": 8},
        {"bits": 64, "levels": 16},
        {"bits": 128, "levels": 32},
        {"bits": 8, "levels": 4, "groups": "independent"},
        {"bits": 8, "levels": 4, "shared_trie": False},
        {"bits": 8, "levels": 4, "pruning": False},
        {"bits": 8, "levels": 4, "extension": "fixed", "extension_factor": 2},
        {"bits": 8, "levels": 4, "shared_share": 0.5, "beta": 0.25, "drift_range": "printed"},
    ],
    ids=str,
)
def test_every_setting_gives_an_answer(name: str, settings: dict[str, object], simulator: str) -> None:
    parties = {"a": zipf(3000, 25), "b": zipf(2000, 20, shift=3)}
    bits = int(str(settings["bits"]))
    crowd = population(parties, bits=bits)
    if name == "panorama" and bits > MAX_CODE_BITS:
        with refused("name_bits_too_many", InvalidInput, max_code_bits=26):
            go(name, crowd, oracle="olh", simulator=simulator, settings=settings)
        return
    assert len(go(name, crowd, oracle="olh", simulator=simulator, settings=settings).ranking) == 3


class Noiseless(ExactUsers):
    """Answers every question with the expected tally of the whole party."""

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        starts, ends = self.party.places(request.domain.prefixes, request.domain.length)
        held = self.party.users_before[ends] - self.party.users_before[starts]
        holders = np.append(held, self.party.users - held.sum())
        support = holders * request.oracle.p + (self.party.users - holders) * request.oracle.q
        return Tally(cast(Any, support), self.party.users)


@pytest.mark.parametrize("name", ["fedpem", "tap", "taps", "canopy"])
def test_without_noise_the_true_top_k_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight parties alike: nothing but noise could hide their common top k."""
    monkeypatch.setitem(run_module.SIMULATORS, "noiseless", Noiseless)
    crowd = population({f"p{place}": zipf(5000 - place, 60) for place in range(8)}, bits=8)
    ranking = go(name, crowd, k=5, oracle="krr", simulator="noiseless").ranking
    assert ranking.prefixes.tolist() == crowd.truth.codes[:5].tolist()
    np.testing.assert_allclose(ranking.counts, crowd.truth.users[:5], rtol=1e-9)


class Recording(ExactUsers):
    """Keeps what was asked of the users."""

    def __init__(self, party: PartyPopulation, randomness: Generator) -> None:
        super().__init__(party, randomness)
        self.asked: list[Group] = []
        RECORDED[self.party.name] = self

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        self.asked.append(group)
        return super()._answer(request, group)

    def _named(self, request: CollectNames) -> NameReports:
        self.asked.append(EVERYBODY)
        return super()._named(request)


RECORDED: dict[str, Recording] = {}


@EVERY
@pytest.mark.parametrize("groups", ["fixed", "independent"])
def test_every_user_is_in_one_group_and_every_group_is_asked_once(
    name: str, groups: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(run_module.SIMULATORS, "recording", Recording)
    crowd = three_parties()
    go(name, crowd, simulator="recording", settings={"bits": 8, "levels": 8, "step_bits": 1, "groups": groups})
    for party in crowd.parties:
        recorded = RECORDED[party.name]
        assert sum(recorded.sizes.values()) == party.users
        assert len(recorded.asked) == len(set(recorded.asked))
        assert set(recorded.asked) == set(recorded.sizes)


@EVERY
def test_uploads_cost_what_the_paper_counts(name: str) -> None:
    outcome = go(name, three_parties())
    final = {party: upload.bits for party, upload in outcome.findings.items()}
    each = 32 if name in ("canopy", "panorama") else 8 + 32
    outside = 32 if name == "panorama" else 0
    for party, bits in outcome.uplink_bits.items():
        found = outcome.findings[party]
        lists = sum(pruning.bits for pruning in found.D.values()) if isinstance(found, PruningFindings) else 0
        assert bits >= final[party] == len(found.estimates) * each + outside + lists
    if name in ("fedpem", "gtf"):
        assert dict(outcome.uplink_bits) == final


def test_taps_prunes_and_says_so() -> None:
    crowd = population({"a": zipf(60_000, 60), "b": zipf(50_000, 60), "c": zipf(40_000, 60)})
    outcome = go("taps", crowd, k=4, epsilon=6)
    notes = [trace.note for traces in outcome.traces.values() for trace in traces]
    assert any("candidates pruned" in note for note in notes)
    assert all(trace.note == "" for trace in outcome.traces["a"])
    assert outcome.uplink_bits["a"] > outcome.uplink_bits["c"]  # the last party has nobody to tell


def test_taps_leaves_a_small_domain_alone_and_says_so() -> None:
    crowd = population({"a": zipf(6000, 20), "b": zipf(5000, 20)})
    outcome = go("taps", crowd, k=1, epsilon=6, settings={"bits": 8, "levels": 8, "extension": "printed"})
    notes = [trace.note for trace in outcome.traces["b"]]
    assert "not pruned: fewer than 4 candidates would be left" in notes


def test_taps_without_pruning_is_tap() -> None:
    crowd = three_parties()
    tap, taps = go("tap", crowd), go("taps", crowd, settings={**FEW, "pruning": False})
    assert fingerprint(tap) == fingerprint(taps)


def test_parties_go_on_from_their_own_trie_when_nothing_is_shared() -> None:
    """Too few users for phase I to find anything: the server has no list to broadcast."""
    crowd = population({"a": {"1": 2, "2": 2}, "b": {"1": 1, "2": 1}})
    outcome = go("tap", crowd, k=2, settings={"bits": 8, "levels": 4, "phase_one_share": 0.01})
    assert next(trace.reports for trace in outcome.traces["a"]) == 0
    assert len(outcome.ranking) <= 2


def test_gtf_ranks_by_shares_and_may_find_nothing() -> None:
    outcome = go("gtf", population({"a": {"1": 3, "2": 2, "3": 1}}))
    assert len(outcome.ranking) == 0
