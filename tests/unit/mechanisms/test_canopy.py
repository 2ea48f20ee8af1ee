from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.support.populations import population, three_parties, zipf
from tests.support.refusals import refused

import treetop
from treetop.errors import InvalidInput, PromiseBroken
from treetop.mechanisms.canopy import Canopy, CanopyParameters, CanopyPlan
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectReports,
    Dialogue,
    DivideUsers,
    DrawGroup,
    Findings,
    Member,
    Roster,
)
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import FOR_A_QUERY, parameters_for
from treetop.mechanisms.summed_level import closing_round
from treetop.oracles.set_counting import SetCounting
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import SIMULATORS, PartyRun, RunResult, run
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group
from treetop.wording import Note

# Notes are looked at in the answer; that each is a warning, too, is tested with `find`.
pytestmark = pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")

SMALL: dict[str, Any] = {"bits": 8, "step_bits": 2}


def parameters(k: int = 3, epsilon: float = 3.0, oracle: str = "auto", **settings: object) -> CanopyParameters:
    return parameters_for(Canopy(), k, epsilon, oracle, settings)


def go(crowd: Population, simulator: str = "exact", seed: int = 1, **settings: object) -> RunResult:
    asked = parameters(**{**SMALL, **settings})
    return run(Canopy(), asked, crowd, seed=seed, simulator=simulator)


class TestPlan:
    def test_the_defaults_of_the_page(self) -> None:
        plan = CanopyPlan.of(parameters(k=10))
        assert plan.lengths == (0, 8, 16, 24, 32, 40, 48)
        assert (plan.L, plan.kept, plan.step_bits) == (6, 30, 8)
        assert len(Canopy().levels(parameters(k=10))) == 6
        assert plan.zeta == pytest.approx(2.66, abs=0.005)
        assert max(plan.max_candidates) == 7680
        assert plan.expected_bits(10) < 75_000

    def test_more_items_keep_more_prefixes(self) -> None:
        assert CanopyPlan.of(parameters(k=40)).kept == 80
        assert CanopyPlan.of(parameters(k=40, kept=7)).kept == 7

    def test_bits_are_divided_evenly(self) -> None:
        assert CanopyPlan.of(parameters(bits=20)).lengths == (0, 7, 14, 20)
        assert CanopyPlan.of(parameters(bits=8, step_bits=16)).lengths == (0, 8)

    def test_a_budget_lowers_the_step(self) -> None:
        plan = CanopyPlan.of(parameters(k=10, upload_budget=40_000))
        assert plan.step_bits < 8
        assert plan.expected_bits(10) <= 40_000
        assert (
            CanopyPlan.stepping(parameters(k=10), plan.step_bits + 1, CanopyParameters.min_kept).expected_bits(10)
            > 40_000
        )

    def test_a_budget_that_nothing_fits_is_refused(self) -> None:
        with refused("upload_budget_too_small", InvalidInput, least=5551, k=3, budget=100):
            CanopyPlan.of(parameters(upload_budget=100))

    def test_choices_say_why(self) -> None:
        levels, kept, oracle, weights, upload = Canopy().notes.choices(parameters(k=10, epsilon=2))
        assert levels == Note("canopy_levels", levels=6, step_bits=8, bits=48, budget=None)
        assert kept == Note("canopy_kept", kept=30, least=30, candidates=7680)
        assert (oracle.parameters["oracle"], weights.parameters["weights"]) == ("olh", "adaptive")
        assert round(upload.parameters["bits"], -3) == 70_000
        asked = parameters(kept=5, oracle="oue", upload_budget=9000, weights="ramp")
        levels, kept, _, weights, _ = Canopy().notes.choices(asked)
        assert (levels.parameters["budget"], kept.parameters["least"]) == (9000, None)
        assert weights == Note("canopy_weights", weights="ramp")
        assert Canopy().notes.choices(parameters(bits=8, kept=2, step_bits=2))[2].parameters["oracle"] == "krr"


def test_a_deployment_takes_public_weights_unless_they_are_public_already() -> None:
    def weights(hashed: bool, **settings: object) -> object:
        return Canopy().deployment.settings(CanopyParameters, settings, mode="one-shot", hashed=hashed)["weights"]

    assert (weights(False), weights(True)) == ("ramp", "equal")
    assert weights(False, weights="adaptive") == "ramp"
    assert weights(True, weights="ramp") == "ramp"
    assert weights(False, weights="equal") == "equal"


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"weights": "ramp"},
        {"weights": "equal"},
        {"score": "sum"},
        {"kept": 4},
        {"upload_budget": 900},
        {"oracle": "krr"},
        {"oracle": "oue"},
        {"step_bits": 8},
    ],
    ids=str,
)
def test_every_option_gives_an_answer(settings: dict[str, Any], simulator: str) -> None:
    outcome = go(three_parties(), simulator, **settings)
    assert len(outcome.ranking) == 3
    assert outcome.ranking.significant is not None
    assert outcome.ranking.prefixes[0] == three_parties().truth.codes[0]


def test_every_user_answers_one_level() -> None:
    crowd = three_parties()
    outcome = go(crowd)
    for party in crowd.parties:
        assert sum(trace.reports for trace in outcome.traces[party.name]) == party.users


def test_all_parties_count_the_same_candidates() -> None:
    traces = go(three_parties()).traces
    assert len({tuple((t.length, t.candidates, t.kept) for t in trace) for trace in traces.values()}) == 1


def test_fixed_weights_do_not_react() -> None:
    """With public weights the shares of all levels are known before the first report."""
    for rule, shares in (("ramp", [0.5, 2 / 3, 1.0, 2.0]), ("equal", [1.0, 1.0, 1.0, 2.0])):
        crowd = population({"a": zipf(400_000, 40)})
        reports = [trace.reports for trace in go(crowd, weights=rule).traces["a"]]
        expected = np.array(shares) / sum(shares) * crowd.roster.all_users
        assert np.all(np.abs(reports - expected) < 6.2 * np.sqrt(expected))


def test_the_real_length_of_the_upload_is_counted() -> None:
    outcome = go(three_parties())
    for party, bits in outcome.uplink_bits.items():
        candidates = sum(trace.candidates for trace in outcome.traces[party])
        assert bits >= candidates + 4 * 32 + outcome.findings[party].bits
        assert outcome.findings[party].bits == 3 * 32


def answering(outcomes: Mapping[str, PartyRun], server: Dialogue[Any], silent: str, since: int) -> Any:
    """Drive a server while one party stops answering from some round on."""
    answer, round_ = None, 0
    while True:
        try:
            request = server.send(answer)
        except StopIteration as end:
            return end.value
        assert isinstance(request, AskParties)
        round_ += 1
        answer = {
            name: outcomes[name].deliver(message)
            for name, message in request.messages.items()
            if name != silent or round_ < since
        }


@pytest.mark.parametrize("since", [1, 3, 5])
def test_a_party_that_falls_silent_is_left_out(since: int) -> None:
    crowd, asked = three_parties(), parameters(**SMALL)
    roster = crowd.roster
    canopy = Canopy()
    parties = {
        party.name: PartyRun(
            canopy.party(asked, roster, Member(party.name, party.users)),
            SIMULATORS["exact"](party, np.random.default_rng(place)),
        )
        for place, party in enumerate(crowd.parties)
    }
    ranking = answering(parties, canopy.server(asked, roster), "b", since)
    assert len(ranking) == 3
    assert ranking.parties.tolist() == [2, 2, 2]
    assert ranking.prefixes[0] == crowd.truth.codes[0]


@pytest.mark.parametrize("mechanism", [Canopy(), *FOR_A_QUERY.values()], ids=["canopy", *FOR_A_QUERY])
def test_a_federation_that_never_answers_gives_an_empty_ranking(mechanism: Mechanism[Any]) -> None:
    ranking = answering(
        {}, mechanism.server(parameters_for(mechanism, 3, 3.0, settings=SMALL), Roster.of([Member("b", 9)])), "b", 1
    )
    assert len(ranking) == 0


def test_a_federation_of_one_user_finds_nothing_and_says_so() -> None:
    missing = 0
    for seed in range(20):
        answer = treetop.find({"a": ["7"]}, k=1, mechanism="canopy", encoding="ids", seed=seed, bits=16)
        assert not any(row.significant for row in answer.items)
        if not answer.items:
            missing += 1
            assert any(note.code == "no_reports_at_levels" and 2 in note.parameters["levels"] for note in answer.notes)
    assert missing > 0


def test_tiny_parties_change_little_and_are_named() -> None:
    big = {"a": zipf(60_000, 40), "b": zipf(40_000, 30)}
    plain = treetop.find(big, k=5, mechanism="canopy", encoding="ids", seed=1, **SMALL)
    answer = treetop.find(
        {**big, "one": {"9": 1}, "four": {"8": 4}}, k=5, mechanism="canopy", encoding="ids", seed=1, **SMALL
    )
    assert {row.item for row in answer.items} == {row.item for row in plain.items}
    assert any(note.code == "no_reports_at_levels" and note.parameters["party"] == "one" for note in answer.notes)


def test_many_missing_parties_are_counted() -> None:
    tiny = {f"t{place}": {"9": 1} for place in range(9)}
    answer = treetop.find({"a": zipf(60_000, 40), **tiny}, k=2, mechanism="canopy", encoding="ids", seed=1, **SMALL)
    assert Note("no_reports_elsewhere", parties=4) in answer.notes


def test_fifty_one_parties_with_75_million_users() -> None:
    crowd = {f"p{place}": {str(3 * r): 1_500_000 // (r + 1) for r in range(200)} for place in range(51)}
    answer = treetop.find(crowd, k=10, epsilon=1, mechanism="canopy", encoding="ids", seed=1)
    assert answer.users > 75_000_000
    assert answer.truth is not None
    assert answer.truth.f1 == 1.0
    assert all(row.significant for row in answer.items)


def test_one_party_is_told_so() -> None:
    answer = treetop.find({"a": zipf(50_000, 30)}, k=3, mechanism="canopy", encoding="ids", seed=1, **SMALL)
    assert answer.truth is not None
    assert answer.truth.f1 == 1.0
    assert Note("nobody_to_share_with", mechanism="canopy") in answer.notes


def test_krr_is_advised_against() -> None:
    answer = treetop.find({"a": zipf(5000, 30)}, k=3, mechanism="canopy", encoding="ids", oracle="krr", seed=1, **SMALL)
    assert Note("canopy_noisy_oracle", oracle="krr") in answer.notes


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_nobody_joins_two_groups(simulator: str) -> None:
    (party,) = population({"a": {"1": 50, "2": 30}}).parties
    respondents = SIMULATORS[simulator](party, np.random.default_rng(0))
    oracle = parameters().oracle_for(4)
    domain = CandidateDomain(2, np.arange(4, dtype=np.uint64))
    for level, share in ((1, 0.5), (2, 1.0), (3, 1.0)):
        respondents.draw(DrawGroup(Group(level), share))
    assert sum(respondents.sizes.values()) == 80
    assert respondents.sizes[Group(3)] == 0
    with refused("group_taken", PromiseBroken, group="the group of level 2 (estimate)"):
        respondents.draw(DrawGroup(Group(2), 1.0))
    with refused("group_taken", PromiseBroken, group="the group of level 1 (estimate)"):
        respondents.divide(DivideUsers({Group(1): 80}))
    tallies = [respondents.collect(CollectReports(Group(level), domain, oracle)) for level in (1, 2, 3)]
    assert [tally.reports for tally in tallies] == list(respondents.sizes.values())
    with refused("group_answered", PromiseBroken, group="the group of level 1 (estimate)"):
        respondents.collect(CollectReports(Group(1), domain, oracle))
    with refused("group_unknown", PromiseBroken, group="the group of level 4 (estimate)"):
        respondents.collect(CollectReports(Group(4), domain, oracle))


def test_reports_of_sets_are_hashed_however_few_candidates_there_are() -> None:
    parameters = CanopyParameters(10, Epsilon(2), items_per_user=8)
    assert isinstance(parameters.oracle_for(3), SetCounting)
    assert parameters.oracle_reason(3) == "reports of up to 8 items are hashed"
    assert CanopyParameters(10, Epsilon(2), "walsh", items_per_user=8).oracle_reason(3) == "as asked for"
    assert CanopyParameters(10, Epsilon(2)).oracle_for(3).name == "krr"


@pytest.mark.parametrize("reports", [0, 40])
def test_where_no_item_was_asked_for_none_is_found_whatever_a_party_says_it_has(reports: int) -> None:
    """Nobody had reported at the last level; a party that has reports after all changes nothing."""
    oracle, nothing = parameters().oracle_for(4), np.empty(0)
    closing = closing_round(
        Roster((Member("north", 40),)), nothing.astype(np.int64), 4, oracle, zeta=1.0, rule="lower_confidence"
    )
    next(closing)
    none = nothing.astype(np.int64)
    said = Findings(Support(8, none, none, reports, oracle, 40), asked_for=True)
    with pytest.raises(StopIteration) as end:
        closing.send({"north": said})
    ranking = end.value.value
    assert (len(ranking), ranking.entry) == (0, None)
