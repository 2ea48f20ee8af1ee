"""Every run of a tiny federation, enumerated: what one user holds changes no transcript by more than e^epsilon."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from tests.support.added_mechanism import Halves

from treetop.audit import transcripts
from treetop.audit.enumerated_users import Choices, Transcript, every_transcript
from treetop.audit.run import audited_mechanisms
from treetop.audit.transcripts import Scene, end_to_end_checks, worst_odds
from treetop.errors import PromiseBroken
from treetop.mechanisms.canopy import Canopy, CanopyParameters
from treetop.mechanisms.dialogue import CollectReports, Dialogue, DivideUsers, DrawGroup, Findings, Member, Roster, ask
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.parameters import PanoramaParameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import FOR_A_QUERY, parameters_for
from treetop.mechanisms.tap import Tap
from treetop.mechanisms.taps import Taps
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.oue.counting import BitsCounting
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import listed_oracle
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import VALIDATING, Group, Role

ONE, TWO = Budget("1"), Budget("2")
EVERY = pytest.mark.parametrize(
    "mechanism", [*audited_mechanisms().values(), Halves()], ids=[*audited_mechanisms(), "halves"]
)
CATALOGUE = FOR_A_QUERY["catalogue"]


def questions(transcript: Transcript) -> Iterator[CollectReports]:
    return (request for request in transcript.asked if isinstance(request, CollectReports))


def draws(transcript: Transcript) -> tuple[float, ...]:
    return tuple(request.share for request in transcript.asked if isinstance(request, DrawGroup))


def test_every_way_of_choosing_is_taken() -> None:
    half = [Fraction(1, 2)]

    def chosen(choices: Choices) -> None:
        if choices.choose({"a": half, "b": half}) == "b":
            choices.choose({"c": [Fraction(1, 3)], "d": [Fraction(2, 3)]})

    found = {transcript.said: transcript.probabilities for transcript in every_transcript(chosen, 1)}
    assert found == {("a",): (Fraction(1, 2),), ("b", "c"): (Fraction(1, 6),), ("b", "d"): (Fraction(1, 3),)}


def test_a_law_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(AssertionError, match="add up to one"):
        list(every_transcript(lambda choices: choices.choose({"a": [Fraction(1, 2)], "b": [Fraction(1, 3)]}), 1))


@EVERY
@pytest.mark.parametrize("malicious", [False, True])
def test_no_transcript_tells_more_than_epsilon_and_some_tell_all_of_it(
    mechanism: Mechanism[Any], malicious: bool
) -> None:
    """Answered by OLH, whose reports are few however long a list is; k-RR is what `treetop audit` takes."""
    odds, transcripts = worst_odds(Scene(mechanism, malicious, oracle=OptimizedLocalHashing()), TWO, 100)
    assert transcripts > 20
    assert odds.within(TWO)
    assert odds.tight(TWO)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("oracle", [KRandomizedResponse(), OptimizedUnaryEncoding()], ids=str)
@pytest.mark.parametrize("mechanism", [Canopy(), CATALOGUE], ids=["canopy", "catalogue"])
def test_the_oracle_is_a_parameter(mechanism: Mechanism[Any], oracle: Oracle, k: int) -> None:
    odds, _ = worst_odds(Scene(mechanism, oracle=oracle, k=k), ONE, 1)
    assert odds.within(ONE)
    assert odds.tight(ONE)


@EVERY
def test_the_target_joins_one_group_and_reports_once(mechanism: Mechanism[Any]) -> None:
    """With hashed names it is the hash or a chunk, and never both."""
    for transcript in Scene(mechanism, oracle=OptimizedLocalHashing()).transcripts(ONE, 0):
        *joined, group, report = transcript.said
        assert not any(joined)  # levels that she did not join
        assert isinstance(group, tuple)
        assert {type(each) for each in group} == {Group}
        assert isinstance(report, HashedReport)


def test_candidates_of_taps_are_pruned_by_companions_in_both_validation_sets() -> None:
    pruned, validated = set[int](), set[Role]()
    for transcript in Scene(Taps()).transcripts(ONE, 1):
        for question in questions(transcript):
            validated.add(question.group.role)
            if question.group.role is Role.ESTIMATE:
                pruned.add(-len(question.domain) % 4)  # a prefix has four children, unless some were pruned
    assert validated >= set(VALIDATING)
    assert max(pruned) > 0


class SummedParameters(CanopyParameters):
    tiny: ClassVar = {**CanopyParameters.tiny, "score": "sum"}


class SummedCanopy(Canopy):
    parameters = SummedParameters


@pytest.mark.parametrize("mechanism", [Canopy(), SummedCanopy()], ids=["lower_confidence", "sum"])
def test_later_shares_of_canopy_react_to_earlier_reports(mechanism: Canopy) -> None:
    """By plain sums one report more changes no share here, but what the others say does."""
    transcripts = [list(Scene(mechanism).transcripts(ONE, pattern)) for pattern in (0, 1)]
    shares = [[draws(transcript) for transcript in of_pattern] for of_pattern in transcripts]
    assert len({each[0] for each in (*shares[0], *shares[1])}) == 1
    assert len({*shares[0], *shares[1]}) > 1
    assert len(set(shares[1])) == (1 if mechanism.parameters.tiny.get("score") == "sum" else 2)
    odds, _ = worst_odds(Scene(mechanism), ONE, 600)
    assert odds.within(ONE)
    assert odds.tight(ONE)


def test_lists_react_to_what_the_others_say() -> None:
    lists = {
        tuple(
            tuple(question.domain.prefixes.tolist()) for question in questions(next(Scene(Tap()).transcripts(ONE, p)))
        )
        for p in range(4)
    }
    assert len(lists) > 1


def test_a_prying_party_asks_about_one_code_and_reacts() -> None:
    transcripts = list(Scene(Canopy(), malicious=True).transcripts(ONE, 0))
    asked = [tuple(question.domain.prefixes.tolist() for question in questions(each))[1::2] for each in transcripts]
    assert {len(prefixes) for lists in asked for prefixes in lists} == {1}
    assert len({str(lists) for lists in asked}) > 1
    assert len({draws(each) for each in transcripts}) > 1


class AsksTwice(Tap):
    def party(self, parameters: Any, roster: Roster, party: Member) -> Dialogue[Findings]:
        honest = super().party(parameters, roster, party)
        answer: object = None
        while True:
            try:
                request = honest.send(answer)
            except StopIteration as end:
                findings: Findings = end.value
                return findings
            answer = yield request
            if isinstance(request, CollectReports):
                yield request


class DividesTwice(Tap):
    def party(self, parameters: Any, roster: Roster, party: Member) -> Dialogue[Findings]:
        yield from ask(DivideUsers({Group(1): party.users}))
        return (yield from super().party(parameters, roster, party))


class JoinsTwice(Canopy):
    def party(self, parameters: CanopyParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        yield from ask(DrawGroup(Group(1), 0.5))
        return (yield from super().party(parameters, roster, party))


@pytest.mark.parametrize("malicious", [False, True])
@pytest.mark.parametrize("mechanism", [AsksTwice(), DividesTwice(), JoinsTwice()], ids=lambda each: type(each).__name__)
def test_a_party_that_asks_its_users_twice_gets_nothing(mechanism: Mechanism[Any], malicious: bool) -> None:
    with pytest.raises(PromiseBroken, match="already"):
        worst_odds(Scene(mechanism, malicious), ONE, 1)


def asking_with(epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every mechanism ask its users with this epsilon, whatever it was told."""

    def other_parameters(mechanism: Mechanism[Any], k: int, _: str, *others: Any, **more: Any) -> Any:
        return parameters_for(mechanism, k, epsilon, *others, **more)

    monkeypatch.setattr(transcripts, "parameters_for", other_parameters)


@EVERY
def test_a_mechanism_that_asks_with_a_larger_epsilon_is_caught(
    mechanism: Mechanism[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking_with("2", monkeypatch)
    odds, _ = worst_odds(Scene(mechanism, oracle=OptimizedLocalHashing()), ONE, 1)
    assert not odds.within(ONE)
    assert odds.excess(ONE) == pytest.approx(1)


def test_a_wasted_budget_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    asking_with("0.5", monkeypatch)
    odds, _ = worst_odds(Scene(CATALOGUE), ONE, 1)
    assert odds.within(ONE)
    assert not odds.tight(ONE)


class ByItsOwnOracle(Panorama):
    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        return listed_oracle("oue", parameters.epsilon, len(self.listed))


class OnceMore(OptimizedUnaryEncoding):
    """Not registered; found all the same, since it is what the mechanism was told."""

    name = "once more"
    counting_face = f"{__name__}:OnceMoreCounting"


class OnceMoreCounting(BitsCounting):
    name = "once more"


@pytest.mark.parametrize(
    "scene",
    [Scene(ByItsOwnOracle(CATALOGUE.listed, False, False)), Scene(CATALOGUE, oracle=OnceMore())],  # type: ignore[attr-defined]
    ids=["its own", "as told"],
)
def test_reports_are_those_of_the_oracle_that_asks(scene: Scene) -> None:
    found = list(scene.transcripts(ONE, 0))
    assert len(found) == 16
    assert {len(report) for _, report in (each.said for each in found) if isinstance(report, tuple)} == {4}


def test_checks_of_a_mechanism_are_named_after_it() -> None:
    exact, tight, malicious = end_to_end_checks(Halves(), quick=True)
    assert [exact.name, tight.name, malicious.name] == [
        "end_to_end_halves",
        "tight_halves",
        "end_to_end_halves_malicious",
    ]
    assert all(check.passed for check in (exact, tight, malicious))
    assert "complete transcripts" in exact.claim


def test_items_outside_a_catalogue_are_hidden_too() -> None:
    """Of the target's codes 0 and 1 are on the list; the others, and an item without a code, are none of these."""
    transcripts = list(Scene(CATALOGUE).transcripts(ONE, 0))
    assert {transcript.said for transcript in transcripts} == {((Group(1),), slot) for slot in range(4)}
    for transcript in transcripts:
        zero, last, one, *others = transcript.probabilities
        assert {last, *others} == {last}
        assert (transcript.said[1] == 0) == (zero > one)
        assert (transcript.said[1] == 3) == (last > one)
