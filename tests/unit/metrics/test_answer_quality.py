import numpy as np
import pytest

from treetop.errors import InvalidInput
from treetop.metrics.answer_quality import LastLevel, advice, f1, fakes_needed, local_recall, ncr
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon


def test_f1_by_hand() -> None:
    assert f1([1, 2, 3, 4], [1, 2, 5, 6]) == 0.5
    assert f1([1, 2], [1, 2, 3, 4]) == pytest.approx(2 * 1 * 0.5 / 1.5)  # precision 1, recall 1/2
    assert f1([], [1, 2]) == 0


def test_ncr_by_hand() -> None:
    assert ncr([1, 2, 3], [1, 2, 3]) == 1
    assert ncr([9, 1], [1, 2, 3]) == 3 / 6  # the best scores k = 3 of 3 + 2 + 1
    assert ncr([3], [1, 2, 3]) == 1 / 6


def test_local_recall_looks_at_the_first_k_of_every_party() -> None:
    assert local_recall([[1, 9, 2], [8, 7], []], [1, 2]) == pytest.approx((0.5 + 0 + 0) / 3)


LEVELS = [LastLevel(users=100_000, reports=4_000, domain=41)]


def noise(epsilon: float) -> float:
    return float(100_000 * oracle_named("krr", Epsilon(epsilon), 40).variance(0.0, 4_000) ** 0.5)


def test_a_clear_item_needs_no_advice() -> None:
    assert advice(3 * 500, 500, LEVELS, "krr", Epsilon(1), true_count=1500, largest=10) is None


def test_advice_by_hand() -> None:
    given = advice(
        900, 1000, LEVELS, "krr", Epsilon(1), true_count=1000, largest=10
    )  # one standard error where three are wanted
    assert given is not None
    assert given.users_factor == pytest.approx(9)
    assert given.epsilon is not None
    assert noise(given.epsilon) <= noise(1) / 3 < noise(given.epsilon - 0.25)


def test_some_items_no_epsilon_will_show() -> None:
    given = advice(1, 1000, LEVELS, "krr", Epsilon(4), true_count=100, largest=4)
    assert given is not None
    assert given.epsilon is None
    assert given.users_factor == pytest.approx(900)


def test_no_epsilon_beyond_the_largest_is_named() -> None:
    for largest in (1.9, 10.0):
        given = advice(900, 1000, LEVELS, "krr", Epsilon(1), true_count=1000, largest=largest)
        assert given is not None
        assert (given.epsilon is None) == (largest == 1.9)
        assert given.epsilon is None or given.epsilon <= largest


def test_nothing_is_promised_about_an_item_that_noise_invented() -> None:
    given = advice(900, 1000, LEVELS, "krr", Epsilon(1), true_count=0, largest=10)
    assert given is not None
    assert (given.users_factor, given.epsilon) == (None, None)


def test_an_item_whose_estimate_came_out_too_low_needs_no_fewer_users() -> None:
    given = advice(900, 1000, LEVELS, "krr", Epsilon(1), true_count=90_000, largest=10)
    assert given is not None
    assert given.users_factor == 1


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
