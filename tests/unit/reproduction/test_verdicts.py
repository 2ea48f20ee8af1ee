"""The rule on made-up results that must come out one way and no other."""

from dataclasses import replace

import pytest

from treetop.reproduction.specification import Case, Claim, Point, Series, Specification
from treetop.reproduction.verdicts import (
    AGAINST,
    FAILS,
    FOR,
    HOLDS,
    OPEN,
    UNCHECKED,
    ClaimVerdict,
    Comparison,
    Evidence,
    Measured,
    decide,
    judge,
)

SPECIFICATION = Specification(
    "made_up",
    "Made up",
    "table",
    "nowhere",
    metrics=("f1",),
    federations=("RDB", "YCM", "UBA"),
    epsilons=(1.0, 4.0),
    cases=(Case("small"), Case("large")),
    series=(Series("A", "tap"), Series("B", "fedpem"), Series("C", "gtf")),
)
CLAIM = Claim("A is better.", 1, "f1", ("B", "C"), "A")

Means = dict[str, Measured | None]


def verdict_of(
    means: Means, claim: Claim = CLAIM, substitutes: frozenset[str] = frozenset(), missing: frozenset[str] = frozenset()
) -> ClaimVerdict:
    """Judge results that are the same everywhere, unless a key names a place."""

    def lookup(point: Point, label: str, metric: str) -> Measured | None:
        if point.federation in missing:
            return None
        for key in (f"{label} {metric}", f"{label} {point.federation}", f"{label} {point.case}", label):
            if key in means:
                return means[key]
        raise AssertionError(label)

    return judge(SPECIFICATION, claim, Evidence(lookup, substitutes, missing))


BETTER: Means = {"A": Measured(0.9, 0.01), "B": Measured(0.5, 0.01), "C": Measured(0.1, 0.01)}


def test_clearly_better_everywhere_holds() -> None:
    verdict = verdict_of(BETTER)
    assert verdict.verdict == HOLDS
    assert verdict.sides() == {FOR: 12}


def test_the_best_of_the_others_counts() -> None:
    verdict = verdict_of({**BETTER, "B": Measured(0.9, 0.01)})
    assert {each.label for each in verdict.comparisons} == {"B"}
    assert verdict.verdict == FAILS


def test_one_place_that_is_clearly_against_is_enough() -> None:
    verdict = verdict_of({**BETTER, "A YCM": Measured(0.4, 0.01)})
    assert verdict.verdict == FAILS
    assert verdict.sides() == {FOR: 8, AGAINST: 4}


def test_a_place_that_is_open_does_no_harm() -> None:
    verdict = verdict_of({**BETTER, "A YCM": Measured(0.49, 0.01)})
    assert verdict.verdict == HOLDS
    assert verdict.sides() == {FOR: 8, OPEN: 4}


def test_no_difference_measured_well_does_not_hold() -> None:
    level = {name: Measured(0.5, 0.005) for name in "ABC"}
    assert verdict_of({**level}).verdict == FAILS


def test_no_difference_measured_badly_cannot_be_checked() -> None:
    noisy = {name: Measured(0.5, 0.2) for name in "ABC"}
    assert verdict_of({**noisy}).verdict == UNCHECKED


def test_a_little_worse_everywhere_does_not_hold() -> None:
    worse: Means = {"A": Measured(0.48, 0.005), "B": Measured(0.5, 0.005), "C": Measured(0.1, 0.01)}
    verdict = verdict_of(worse)
    assert verdict.sides() == {OPEN: 12}
    assert verdict.verdict == FAILS


def test_results_without_noise_are_compared_by_sign() -> None:
    exact: Means = {"A": Measured(1.0, 0.0), "B": Measured(0.9, 0.0), "C": Measured(0.9, 0.0)}
    assert verdict_of(exact).verdict == HOLDS
    assert verdict_of({**exact, "A": Measured(0.9, 0.0)}).verdict == FAILS


def test_one_run_alone_cannot_be_checked() -> None:
    assert verdict_of({**BETTER, "A": Measured(0.9, None)}).verdict == UNCHECKED


def test_missing_data_cannot_be_checked() -> None:
    everything = frozenset(SPECIFICATION.federations)
    verdict = verdict_of(BETTER, missing=everything)
    assert verdict.verdict == UNCHECKED
    assert verdict.missing == SPECIFICATION.federations
    partly = verdict_of(BETTER, missing=frozenset({"UBA"}))
    assert (partly.verdict, partly.missing) == (HOLDS, ("UBA",))


def test_substitutes_are_shown_and_not_counted() -> None:
    against = {**BETTER, "A UBA": Measured(0.1, 0.01)}
    verdict = verdict_of(against, substitutes=frozenset({"UBA"}))
    assert verdict.verdict == HOLDS
    assert verdict.sides(counted=False) == {AGAINST: 4}
    only = replace(CLAIM, federations=("UBA",))
    assert verdict_of(BETTER, only, substitutes=frozenset({"UBA"})).verdict == UNCHECKED


def test_a_claim_speaks_of_its_places_only() -> None:
    narrow = replace(CLAIM, federations=("RDB",), epsilons=(4.0,), case="large", ks=(10,))
    assert [each.point for each in verdict_of(BETTER, narrow).comparisons] == [Point("RDB", "large", 4.0, 10)]


def test_a_margin_is_a_share_of_the_other() -> None:
    assert verdict_of(BETTER, replace(CLAIM, margin=0.5)).verdict == HOLDS
    assert verdict_of(BETTER, replace(CLAIM, margin=1.0)).verdict == FAILS


def test_a_claim_may_compare_two_metrics() -> None:
    claim = replace(CLAIM, metric="ncr", than=("A",), than_metric="f1")
    means: Means = {"A ncr": Measured(0.9, 0.01), "A f1": Measured(0.5, 0.01)}
    assert verdict_of(means, claim).verdict == HOLDS


def test_a_gain_may_grow() -> None:
    claim = Claim("A gains.", 1, "f1", ("B",), "A", rule="gain_grows", case="large", over="small")
    grown: Means = {"A large": Measured(0.9, 0.01), "A": Measured(0.6, 0.01), "B": Measured(0.5, 0.01)}
    shrunk: Means = {"A large": Measured(0.6, 0.01), "A": Measured(0.9, 0.01), "B": Measured(0.5, 0.01)}
    assert verdict_of(grown, claim).verdict == HOLDS
    assert verdict_of(shrunk, claim).verdict == FAILS


def test_the_best_may_differ() -> None:
    claim = Claim("The best differs.", 1, "f1", ("A", "B", "C"), rule="best_differs")
    differs: Means = {**BETTER, "B YCM": Measured(0.99, 0.01), "A YCM": Measured(0.2, 0.01)}
    assert verdict_of(differs, claim).verdict == HOLDS
    assert verdict_of(BETTER, claim).verdict == FAILS


def test_what_no_run_can_decide_is_said_to_be_so() -> None:
    assert verdict_of(BETTER, replace(CLAIM, unchecked="not run")).verdict == UNCHECKED


@pytest.mark.parametrize(
    ("difference", "side"), [(0.31, FOR), (0.29, OPEN), (0.0, OPEN), (-0.29, OPEN), (-0.31, AGAINST)]
)
def test_three_standard_errors_are_clear(difference: float, side: str) -> None:
    comparison = Comparison(Point("RDB", "", 1.0, 10), "B", difference, 0.1, counted=True)
    assert comparison.side == side


def test_nothing_to_compare_cannot_be_checked() -> None:
    assert decide([]) == UNCHECKED
