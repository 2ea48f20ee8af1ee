import numpy as np
import pytest

from treetop.adapters.system.vectorised_device import perturb
from treetop.errors import InvalidInput, TreetopError, UnknownName
from treetop.oracles.registry import find_oracle


def test_reports_have_the_shape_of_their_oracle() -> None:
    assert perturb("krr", 40, 41, 2, 1000).max() < 41
    assert perturb("oue", 40, 41, 2, 1000).shape == (1000, 41)
    seeds, buckets = perturb("olh", 40, 41, 2, 1000)
    assert len(seeds) == len(buckets) == 1000
    assert buckets.max() < 9
    assert len(perturb("krr", 0, 2, "0.5", 0)) == 0


def test_true_slots_and_lies_are_as_likely_as_they_should_be() -> None:
    reports = perturb("krr", 3, 5, 4.0, 100_000)
    assert np.mean(reports == 3) == pytest.approx(0.9317, abs=0.006)
    bits = perturb("oue", 3, 5, 1, 100_000)
    assert bits.mean(axis=0).tolist() == pytest.approx([0.2689, 0.2689, 0.2689, 0.5, 0.2689], abs=0.012)


def test_two_calls_differ() -> None:
    assert not np.array_equal(perturb("krr", 0, 100, 0.1, 1000), perturb("krr", 0, 100, 0.1, 1000))


@pytest.mark.parametrize("bad", [("krr", 5, 5, 1, 1), ("krr", -1, 5, 1, 1), ("krr", 0, 1, 1, 1), ("krr", 0, 5, 1, -1)])
def test_a_value_is_a_slot(bad: tuple[str, int, int, float, int]) -> None:
    with pytest.raises(InvalidInput):
        perturb(*bad)


@pytest.mark.parametrize("epsilon", [0, -1, 17, float("nan"), float("inf"), "much"])
def test_a_bad_epsilon_is_named(epsilon: float | str) -> None:
    with pytest.raises(TreetopError, match="epsilon"):
        perturb("krr", 0, 5, epsilon, 1)


def test_an_unknown_oracle_is_named() -> None:
    with pytest.raises(UnknownName):
        perturb("auto", 0, 5, 1, 1)


def test_an_oracle_stands_for_its_name() -> None:
    assert perturb(find_oracle("oue"), 1, 5, 1, 10).shape == (10, 5)
