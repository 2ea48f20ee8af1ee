"""The parts of the audit, on cases small enough to know the answer."""

from collections import Counter
from fractions import Fraction
from math import inf, log

import pytest
from tests.support.fixed_entropy import FixedEntropy
from treetop.audit.exact_epsilon import BUDGETS, krr_checks, olh_checks, oue_checks, slot_sizes
from treetop.audit.slot_laws import keep_word, slot_shape
from treetop.federation.samplers import SlotSampler
from treetop.federation.thresholds import keep_threshold

from treetop.adapters.system import vectorised_device
from treetop.audit import empirical_epsilon, exact_epsilon, longitudinal, run
from treetop.audit.audit_report import AuditReport, Check
from treetop.audit.choices import Choices, every_transcript
from treetop.audit.device_conduct import conduct_checks
from treetop.audit.empirical_epsilon import (
    Probabilities,
    device_check,
    epsilon_bound,
    vectorised_checks,
    visible_excess,
)
from treetop.audit.exact_ratios import Odds, largest_odds
from treetop.audit.longitudinal import longitudinal_check
from treetop.audit.transcripts import ROSTER, Scene, prying_party, tiny_parameters, worst_odds
from treetop.errors import PromiseBroken
from treetop.mechanisms.dialogue import Dialogue, DivideUsers, Findings, Member, Roster
from treetop.mechanisms.taps import TapsParameters, taps_groups
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Role

ONE = Budget("1")


@pytest.fixture(autouse=True)
def _the_same_randomness_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, module in enumerate((empirical_epsilon, longitudinal, vectorised_device)):
        monkeypatch.setattr(module, "SystemEntropy", lambda place=place: FixedEntropy(place))


def test_the_shipped_threshold_shows_in_the_samplers_conduct() -> None:
    assert keep_word(SlotSampler(ONE, 41)) == keep_threshold(ONE, 41)


def test_the_shape_of_krr() -> None:
    shape = slot_shape(SlotSampler(ONE, 5), 5, keep_threshold(ONE, 5))
    assert shape.columns == {frozenset({(256, 0), (0, 64)})}
    assert (shape.truths, shape.lies) == (256, 256)


def test_nine_budgets_and_all_sizes() -> None:
    assert len(BUDGETS) == 9
    assert slot_sizes(quick=False) == (*range(2, 322), 1025, 4097)


def test_odds() -> None:
    assert Odds(Fraction(1), Fraction(0)).excess(ONE) == inf
    assert not Odds(Fraction(1), Fraction(0)).within(ONE)
    assert Odds(Fraction(2), Fraction(1)).excess(ONE) == pytest.approx(log(2) - 1)
    assert Odds(Fraction(2), Fraction(1)).within(ONE)
    assert not Odds(Fraction(2), Fraction(1)).tight(ONE)
    assert largest_odds([[Fraction(1), Fraction(3)], [Fraction(1), Fraction(2)]]) == Odds(Fraction(3), Fraction(1))


def test_krr_oue_and_olh_hold_at_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_epsilon, "slot_sizes", lambda quick: (2, 3, 4, 5, 41, 258))
    monkeypatch.setattr(exact_epsilon, "UNARY_SIZES", range(2, 6))
    monkeypatch.setattr(exact_epsilon, "BUDGETS", BUDGETS[2:5])
    checks = [*krr_checks(quick=True), *oue_checks(), *olh_checks(quick=True)]
    assert all(check.passed for check in checks)
    assert [check.name for check in checks] == [
        f"{kind}_{oracle}" for oracle in ("krr", "oue", "olh") for kind in ("exact", "tight")
    ]


@pytest.mark.slow
def test_every_oracle_holds_at_full_size() -> None:
    assert all(check.passed for check in [*krr_checks(quick=False), *oue_checks(), *olh_checks(quick=False)])


def test_the_conduct_of_devices_is_what_was_promised() -> None:
    assert all(check.passed for check in conduct_checks(quick=True))


def test_an_audit_runs_all_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Check("a", True, "b", 0, 0)
    monkeypatch.setattr(
        run, "parts", lambda quick: [run.Part("one", 2, lambda: [good]), run.Part("two", 3, lambda: [good])]
    )
    heard: list[tuple[str, float]] = []
    report = run.run_audit(True, lambda title, done: heard.append((title, done)))
    assert report.checks == [good, good]
    assert heard == [("one", 0), ("two", 2), ("done", 5)]


@pytest.mark.parametrize("quick", [False, True])
def test_the_parts_of_an_audit_have_titles_of_their_own(quick: bool) -> None:
    titles = [part.title for part in run.parts(quick)]
    assert len(set(titles)) == len(titles) >= 16


def test_every_way_of_choosing_is_taken() -> None:
    half = [Fraction(1, 2)]

    def chosen(choices: Choices) -> None:
        if choices.choose({"a": half, "b": half}) == "b":
            choices.choose({"c": [Fraction(1, 3)], "d": [Fraction(2, 3)]})

    found = {transcript.taken: transcript.probabilities for transcript in every_transcript(chosen, 1)}
    assert found == {(0,): (Fraction(1, 2),), (1, 0): (Fraction(1, 6),), (1, 1): (Fraction(1, 3),)}


@pytest.mark.parametrize("mechanism", ["tap", "taps"])
@pytest.mark.parametrize("malicious", [False, True])
def test_no_transcript_tells_more_than_epsilon(mechanism: str, malicious: bool) -> None:
    odds, transcripts = worst_odds(Scene(mechanism, prying_party if malicious else None), Budget("2"), 2)
    assert transcripts > 50
    assert odds.within(Budget("2"))
    assert odds.tight(Budget("2"))


def test_the_tiny_run_has_validation_sets() -> None:
    groups = taps_groups(tiny_parameters(ONE, 1), ROSTER, ROSTER.members[1])
    assert {group.role for group, size in groups.items() if size} == set(Role)


def test_a_party_that_asks_a_group_twice_gets_nothing() -> None:
    def asks_twice(parameters: TapsParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        honest = prying_party(parameters, roster, party)
        answer = None
        while True:
            request = honest.send(answer)
            answer = yield request
            if not isinstance(request, DivideUsers):
                yield request

    with pytest.raises(PromiseBroken, match="answered already"):
        worst_odds(Scene("tap", asks_twice), ONE, 1)


def test_a_bound_from_counts() -> None:
    first, second = Counter({0: 7_000, 1: 3_000}), Counter({0: 3_000, 1: 7_000})
    assert log(7 / 3) - 0.15 < epsilon_bound(Counter(first), Counter(second), 10_000) < log(7 / 3)
    assert epsilon_bound(Counter({0: 10}), Counter({0: 10}), 10) < 0
    assert epsilon_bound(Counter({0: 10}), Counter({1: 10}), 10) == 0


def test_the_power_is_what_the_formula_says() -> None:
    likely = Probabilities.of("krr", ONE)
    assert visible_excess(likely.p, likely.q, 10**6) == pytest.approx(0.022, abs=0.002)
    assert visible_excess(likely.p, likely.q, 10**7) == pytest.approx(0.007, abs=0.001)
    for oracle in ("oue", "olh"):
        event = Probabilities.of(oracle, ONE)
        assert event.p / event.q == pytest.approx(2.718281828)


@pytest.mark.parametrize("oracle", ["krr", "oue", "olh"])
def test_devices_show_no_more_than_epsilon(oracle: str) -> None:
    check = device_check(oracle, ONE, 1_000)  # type: ignore[arg-type]
    assert check.passed
    assert 0.2 < check.measured <= 1


def test_the_vectorised_sampler_shows_epsilon_and_no_more() -> None:
    shown, teeth = vectorised_checks(Budget("2"), 200_000)
    assert shown.passed
    assert teeth.passed


def test_tasks_add_up() -> None:
    check = longitudinal_check(3, 200)
    assert check.passed
    assert check.limit == 1.5


def test_a_report_fails_with_any_check() -> None:
    good, bad = Check("a", True, "b", 1, 2), Check("c", False, "d", inf, 2)
    assert AuditReport([good]).as_json()["verdict"] == "pass"
    report = AuditReport([good, bad]).as_json()
    assert report["verdict"] == "fail"
    assert report["checks"][1] == {"name": "c", "passed": False, "claim": "d", "measured": "infinite", "limit": 2}
