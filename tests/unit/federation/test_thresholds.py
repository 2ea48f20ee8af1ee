from fractions import Fraction
from math import exp

import pytest

from treetop.errors import InvalidInput
from treetop.federation.thresholds import (
    MOST_BUCKETS,
    MOST_SLOTS,
    WORDS,
    bucket_count,
    flip_threshold,
    keep_threshold,
)
from treetop.oracles.k_randomized_response import KRandomizedResponse
from treetop.oracles.optimized_local_hashing import OptimizedLocalHashing
from treetop.oracles.optimized_unary_encoding import OptimizedUnaryEncoding
from treetop.privacy.budget import Budget, exponential_bounds
from treetop.privacy.epsilon import Epsilon

BUDGETS = [Budget(text) for text in ("0.001", "0.1", "1", "2.5", "4", "8", "16")]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("slots", [2, 3, 5, 41, 321, 4097, MOST_SLOTS])
def test_keep_is_rounded_down_by_less_than_one(budget: Budget, slots: int) -> None:
    for odds in exponential_bounds(budget.amount):
        p = odds / (slots - 1 + odds)
        assert 0 <= p * WORDS - keep_threshold(budget, slots) < 1


@pytest.mark.parametrize("budget", BUDGETS)
def test_flip_is_rounded_up_by_less_than_one(budget: Budget) -> None:
    for odds in exponential_bounds(budget.amount):
        assert 0 <= flip_threshold(budget) - WORDS / (odds + 1) < 1


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("slots", [2, 41, MOST_SLOTS])
def test_the_true_ratio_is_below_and_tight(budget: Budget, slots: int) -> None:
    keep, (below, above) = keep_threshold(budget, slots), exponential_bounds(budget.amount)
    ratio = Fraction(keep * (slots - 1), WORDS - keep)
    assert (1 - Fraction(1, 1 << 40)) * above <= ratio <= below


@pytest.mark.parametrize("text", ["0.1", "0.5", "1", "2", "4", "8", "11", "11.1", "16"])
def test_simulated_oracles_have_the_same_probabilities(text: str) -> None:
    budget, epsilon = Budget(text), Epsilon(text)
    assert keep_threshold(budget, 41) / WORDS == pytest.approx(KRandomizedResponse(epsilon, 41).p, rel=1e-12)
    assert flip_threshold(budget) / WORDS == pytest.approx(OptimizedUnaryEncoding(epsilon, 41).q, rel=1e-12)
    assert bucket_count(budget) == OptimizedLocalHashing(epsilon, 41).bucket_count


def test_buckets_take_two_bytes_at_most() -> None:
    assert bucket_count(Budget("16")) == MOST_BUCKETS
    assert bucket_count(Budget("1")) == int(exp(1)) + 2


@pytest.mark.parametrize("slots", [-1, 0, 1, MOST_SLOTS + 1])
def test_a_domain_needs_a_candidate_and_the_dummy(slots: int) -> None:
    with pytest.raises(InvalidInput, match="slots"):
        keep_threshold(Budget("1"), slots)
