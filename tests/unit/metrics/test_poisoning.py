import numpy as np
import pytest

from treetop.errors import InvalidInput
from treetop.metrics.poisoning import fakes_needed
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon


@pytest.mark.parametrize("name", ["krr", "oue", "olh"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_so_many_crafted_reports_are_estimated_as_the_kth_count(name: str, epsilon: float) -> None:
    """In expectation: n honest users of other items, F who support slot 0 for certain."""
    oracle, honest, count = oracle_named(name, Epsilon(epsilon), 320), 10_000_000, 300_000
    fakes = fakes_needed(count, oracle.p, oracle.q)
    support = np.zeros(oracle.slots, dtype=np.int64)
    support[0] = round(honest * oracle.q) + fakes
    estimate = oracle.estimate(Tally(support, honest + fakes))[0] * (honest + fakes)
    assert estimate == pytest.approx(count, rel=0.01)


def test_the_figures_of_the_threat_model() -> None:
    """One k-RR report at epsilon 4 and d = 321 weighs 7 honest users, at epsilon 1 it weighs 188."""
    for epsilon, weight in ((4.0, 7.0), (1.0, 188)):
        oracle = oracle_named("krr", Epsilon(epsilon), 320)
        assert 1e6 / fakes_needed(1e6, oracle.p, oracle.q) == pytest.approx(weight, rel=0.01)


def test_somebody_is_always_needed() -> None:
    assert fakes_needed(0, 0.5, 0.1) == fakes_needed(-7.5, 0.5, 0.1) == 1


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.5), (0.5, 0.5), (1.1, 0.5), (0.5, -0.1), (float("nan"), 0.1)])
def test_impossible_probabilities_are_refused(p: float, q: float) -> None:
    with pytest.raises(InvalidInput, match="expected probabilities"):
        fakes_needed(10, p, q)
