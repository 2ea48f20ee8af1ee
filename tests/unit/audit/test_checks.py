"""The parts of the audit, on cases small enough to know the answer."""

from collections import Counter
from fractions import Fraction
from math import inf, log

import pytest
from scipy.stats import beta
from tests.support.fixed_entropy import FixedEntropy

from treetop.adapters.system import vectorised_device
from treetop.audit import empirical_epsilon, oracle_laws
from treetop.audit.checks import AuditReport, Check, Odds, largest_odds
from treetop.audit.chosen_inputs import audited
from treetop.audit.empirical_epsilon import (
    binomial_lower,
    binomial_upper,
    device_check,
    epsilon_bound,
    longitudinal_check,
    telling_event,
    vectorised_checks,
    visible_excess,
)
from treetop.audit.oracle_laws import BUDGETS, conduct_of, event_law, oracle_checks, report_law, shape_of
from treetop.audit.whole_device import conduct_checks, oracle_conduct_checks
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.krr.device import SlotFace
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.oue.device import BitsFace
from treetop.oracles.protocol import Below, Draw, Oracle, Randomness, Seed, Words
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS, Entropy

ONE = Budget("1")


@pytest.fixture(autouse=True)
def _the_same_randomness_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, module in enumerate((empirical_epsilon, vectorised_device)):
        monkeypatch.setattr(module, "SystemEntropy", lambda seed=seed: FixedEntropy(seed))


def test_the_shipped_threshold_shows_in_the_conduct_of_a_face() -> None:
    """One word more or less than declared, and the ends of an interval no longer agree."""
    face = SlotFace(ONE.odds_below, 41)
    assert conduct_of(face, range(41)) is not None
    for off in (-1, 1):
        mutant = SlotFace(ONE.odds_below, 41)
        mutant.__dict__["thresholds"] = (face.keep + off,)
        assert conduct_of(mutant, range(41)) is None


def test_thresholds_are_declared_in_ascending_order() -> None:
    face = BitsFace(ONE.odds_below, 3)
    assert conduct_of(face, range(3)) is not None
    face.__dict__["thresholds"] = face.thresholds[::-1]
    assert conduct_of(face, range(3)) is None


@pytest.mark.parametrize("declared", [(Words(), Below(4), Seed(1)), (Words(),)])
def test_a_face_that_reads_other_bytes_than_it_declares_is_not_believed(declared: tuple[Randomness, ...]) -> None:
    class Misdeclared(SlotFace):
        def draw(self, entropy: Entropy) -> Draw:
            return Draw(self, (Words().read(entropy), Below(4).read(entropy)))

    face = Misdeclared(ONE.odds_below, 5)
    face.__dict__["randomness"] = declared
    assert conduct_of(face, range(5)) is None


def test_a_face_that_gives_no_report_for_some_words_is_not_believed() -> None:
    class Choosy(SlotFace):
        def draw(self, entropy: Entropy) -> Draw:
            draw = super().draw(entropy)
            return draw if draw.drawn[0][0] < self.keep else self.draw(entropy)

    assert shape_of(Choosy(ONE.odds_below, 5), range(5)) is None
    assert shape_of(SlotFace(ONE.odds_below, 5), range(5)) is not None


def test_the_shape_of_krr() -> None:
    shape = shape_of(SlotFace(ONE.odds_below, 5), range(5))
    assert shape is not None
    assert shape.columns == {frozenset({((0, 256),), ((1, 64),)})}
    assert shape.totals == {(0,): 256, (1,): 256}


def test_the_shape_of_oue_has_every_choice_of_intervals() -> None:
    face = BitsFace(ONE.odds_below, 2)
    shape = shape_of(face, range(2))
    assert shape is not None
    assert set(shape.totals.values()) == {1}
    assert len(shape.totals) == 9  # below flip, below a half, above: for each of two words
    # no bit: neither word is below flip, and that of the value is not below a half either
    assert frozenset({((5, 1), (8, 1)), ((7, 1), (8, 1))}) in shape.columns


def test_nine_budgets_and_all_sizes() -> None:
    assert len(BUDGETS) == 9
    assert KRandomizedResponse().audited_sizes(quick=False) == (*range(2, 322), 1025, 4097)
    assert KRandomizedResponse().audited_sizes(quick=True) == (*range(2, 258), 321, 1025)
    assert OptimizedUnaryEncoding().audited_sizes(quick=False) == range(2, 9)


def test_odds() -> None:
    assert Odds(Fraction(1), Fraction(0)).excess(ONE) == inf
    assert not Odds(Fraction(1), Fraction(0)).within(ONE)
    assert Odds(Fraction(2), Fraction(1)).excess(ONE) == pytest.approx(log(2) - 1)
    assert Odds(Fraction(2), Fraction(1)).within(ONE)
    assert not Odds(Fraction(2), Fraction(1)).tight(ONE)
    assert largest_odds([[Fraction(1), Fraction(3)], [Fraction(1), Fraction(2)]]) == Odds(Fraction(3), Fraction(1))


def test_our_oracles_hold_at_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KRandomizedResponse, "audited_sizes", lambda self, quick: (2, 3, 4, 5, 41, 258))
    monkeypatch.setattr(OptimizedUnaryEncoding, "audited_sizes", lambda self, quick: range(2, 6))
    monkeypatch.setattr(oracle_laws, "BUDGETS", BUDGETS[2:5])
    checks = [check for oracle in ORACLES.values() for check in oracle_checks(oracle, quick=True)]
    assert all(check.passed for check in checks)
    assert [check.name for check in checks] == [
        f"{kind}_{oracle}" for oracle in ("krr", "oue", "olh", "walsh") for kind in ("exact", "tight")
    ]


@pytest.mark.slow
def test_every_oracle_holds_at_full_size() -> None:
    assert all(check.passed for oracle in ORACLES.values() for check in oracle_checks(oracle, quick=False))


def test_the_conduct_of_devices_is_what_was_promised() -> None:
    assert all(check.passed for check in conduct_checks(quick=True))
    assert all(check.passed for check in oracle_conduct_checks(ORACLES.values(), quick=True))


def test_a_bound_from_counts() -> None:
    first, second = Counter({0: 7_000, 1: 3_000}), Counter({0: 3_000, 1: 7_000})
    assert log(7 / 3) - 0.15 < epsilon_bound(Counter(first), Counter(second), 10_000) < log(7 / 3)
    assert epsilon_bound(Counter({0: 10}), Counter({0: 10}), 10) < 0
    assert epsilon_bound(Counter({0: 10}), Counter({1: 10}), 10) == 0


def test_the_power_is_what_the_formula_says() -> None:
    likely = telling_event(audited(KRandomizedResponse(), ONE))
    assert visible_excess(*likely, 10**6) == pytest.approx(0.022, abs=0.002)
    assert visible_excess(*likely, 10**7) == pytest.approx(0.007, abs=0.001)
    for oracle in ORACLES.values():
        p, q = telling_event(audited(oracle, ONE))
        assert p / q == pytest.approx(2.718281828)


def test_the_law_of_two_events_is_that_of_the_formulas() -> None:
    keep = SlotFace(ONE.odds_below, 5).keep / WORDS
    krr = event_law(SlotFace(ONE.odds_below, 5), 0, (0, 1))
    assert krr == pytest.approx(
        {(True, False): keep, (False, True): (1 - keep) / 4, (False, False): (1 - keep) * 3 / 4}
    )
    face = BitsFace(ONE.odds_below, 3)
    flip = face.flip / WORDS
    oue = event_law(face, 0, (0, 1))
    assert oue == pytest.approx({(a, b): 0.5 * (flip if b else 1 - flip) for a in (True, False) for b in (True, False)})


def test_the_law_of_a_report_is_exact() -> None:
    face = SlotFace(ONE.odds_below, 4)
    law = report_law(face, (0, 3))
    lie = Fraction(WORDS - face.keep, 3 * WORDS)
    assert law == {slot: [Fraction(face.keep, WORDS) if slot == value else lie for value in (0, 3)] for slot in law}
    assert set(law) == set(range(4))


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=str)
def test_devices_show_no_more_than_epsilon(oracle: Oracle) -> None:
    check = device_check(oracle, ONE, 1_000)
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


@pytest.mark.parametrize("risk", [0.05, 1e-3, 1e-6])
@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (412, 1000), (999, 1000),
     (148_849, 10**6), (649_000, 10**6), (7, 10**7)],
)  # fmt: skip
def test_the_bounds_are_those_of_clopper_and_pearson(successes: int, trials: int, risk: float) -> None:
    lower = beta.ppf(risk, successes, trials - successes + 1) if successes else 0
    upper = beta.ppf(1 - risk, successes + 1, trials - successes) if successes < trials else 1
    assert binomial_lower(successes, trials, risk) == pytest.approx(lower, rel=1e-8, abs=1e-15)
    assert binomial_upper(successes, trials, risk) == pytest.approx(upper, rel=1e-8)
