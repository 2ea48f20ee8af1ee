"""What every frequency oracle must do."""

import math
from typing import Any

import numpy as np
import pytest

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.registry import ORACLES, checked_oracle_name, oracle_named
from treetop.oracles.tallies import Tally
from treetop.privacy.epsilon import Epsilon

EPSILONS = (0.1, 1.0, 4.0, 12.0)
SIZES = (2, 5, 41)


@pytest.fixture(params=[(name, epsilon, size) for name in ORACLES for epsilon in EPSILONS for size in SIZES], ids=str)
def oracle(request: pytest.FixtureRequest) -> FrequencyOracle[Any]:
    name, epsilon, size = request.param
    return ORACLES[name](Epsilon(epsilon), size)


def slots(oracle: FrequencyOracle[Any]) -> int:
    return oracle.size if oracle.needs_candidates else oracle.size - 1


def expected_tally(oracle: FrequencyOracle[Any], holders: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    n = holders.sum()
    held = holders[: slots(oracle)]
    expected: np.ndarray[Any, Any] = held * oracle.p + (n - held) * oracle.q
    return expected


def test_the_truth_is_likelier_and_probabilities_are_probabilities(oracle: FrequencyOracle[Any]) -> None:
    assert 0 < oracle.q < oracle.p < 1


def test_the_expected_tally_estimates_the_truth(oracle: FrequencyOracle[Any]) -> None:
    holders = np.arange(oracle.size) * 1000 + 17
    tally = Tally(expected_tally(oracle, holders), int(holders.sum()))
    truth = holders[: slots(oracle)] / holders.sum()
    np.testing.assert_allclose(oracle.estimate(tally), truth, atol=1e-12)


def test_both_ways_to_a_tally_count_every_report(oracle: FrequencyOracle[Any]) -> None:
    randomness = np.random.default_rng(1)
    holders = np.full(oracle.size, 50)
    values = np.repeat(np.arange(oracle.size), 50)
    keys = np.arange(oracle.size - 1, dtype=np.uint64)
    perturbed = oracle.perturb(values if oracle.needs_candidates else values.astype(np.uint64), randomness)
    for tally in (oracle.sample_tally(holders, randomness), oracle.tally(perturbed, keys)):
        assert tally.reports == holders.sum()
        assert len(tally.support) == slots(oracle)
        assert tally.support.dtype == np.int64
        assert np.all((tally.support >= 0) & (tally.support <= tally.reports))


def test_tallies_of_disjoint_reports_add_up(oracle: FrequencyOracle[Any]) -> None:
    randomness = np.random.default_rng(2)
    values = randomness.integers(oracle.size, size=200).astype(np.int64 if oracle.needs_candidates else np.uint64)
    keys = np.arange(oracle.size - 1, dtype=np.uint64)
    first, second = (oracle.tally(oracle.perturb(part, randomness), keys) for part in (values[:70], values[70:]))
    both = first + second
    assert both.reports == 200
    np.testing.assert_array_equal(both.support, first.support + second.support)


def test_without_reports_nothing_is_known(oracle: FrequencyOracle[Any]) -> None:
    tally = oracle.sample_tally(np.zeros(oracle.size, dtype=np.int64), np.random.default_rng(3))
    assert tally.reports == 0
    assert not oracle.estimate(tally).any()
    assert oracle.variance(0.1, 0) == math.inf


def test_the_variance_is_the_full_formula(oracle: FrequencyOracle[Any]) -> None:
    p, q, n, f = oracle.p, oracle.q, 1000, 0.3
    bernoulli = f * p * (1 - p) + (1 - f) * q * (1 - q)  # of one report's support, given who holds what
    assert oracle.variance(f, n) == pytest.approx(bernoulli / (n * (p - q) ** 2))


def test_the_same_seed_gives_the_same_reports(oracle: FrequencyOracle[Any]) -> None:
    values = np.zeros(30, dtype=np.int64 if oracle.needs_candidates else np.uint64)
    first, second = (oracle.perturb(values, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second))


def test_the_claim_is_stated_as_data(oracle: FrequencyOracle[Any]) -> None:
    assert oracle.guarantee.epsilon == oracle.epsilon
    assert oracle.guarantee.oracle == oracle.name
    assert oracle.guarantee.reports_per_user == 1


@pytest.mark.parametrize("name", ORACLES)
def test_a_domain_without_a_candidate_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="one candidate and the dummy at least, found 1"):
        ORACLES[name](Epsilon(1), 1)


def test_the_dummy_is_counted_in_d() -> None:
    krr = oracle_named("krr", Epsilon(1), 4)
    assert krr.size == 5
    assert krr.p == math.e / (4 + math.e)
    assert krr.p / krr.q == pytest.approx(math.e, rel=1e-15)


def test_oue_and_olh_ratios_are_e_to_the_epsilon() -> None:
    oue = oracle_named("oue", Epsilon(1), 4)
    assert (oue.p * (1 - oue.q)) / (oue.q * (1 - oue.p)) == pytest.approx(math.e, rel=1e-15)
    olh = oracle_named("olh", Epsilon(1), 4)
    assert olh.q == 1 / 4  # d' = ceil(e + 1) = 4
    assert olh.p / ((1 - olh.p) / 3) == pytest.approx(math.e, rel=1e-15)


def test_auto_changes_over_where_the_variances_cross() -> None:
    epsilon = Epsilon(2)
    last = math.ceil(3 * epsilon.odds + 2) - 1  # the largest d below 3 e^eps + 2
    assert oracle_named("auto", epsilon, last - 1).name == "krr"
    assert oracle_named("auto", epsilon, last).name == "olh"


def test_unknown_oracles_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'krr'"):
        checked_oracle_name("krrr")
