import numpy as np
import pytest

from treetop.adapters.system.vectorised_device import perturb, uniform_below
from treetop.errors import InvalidInput, TreetopError, UnknownName


class Words:
    """Hands out chosen 32-bit words."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def read(self, count: int) -> bytes:
        taken, self._words = self._words[: count // 4], self._words[count // 4 :]
        return np.array(taken, dtype=np.uint32).tobytes()


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


def test_words_that_would_make_a_lie_uneven_are_drawn_again() -> None:
    """2^32 = 3 * 1431655765 + 1: of the 2^32 words one is too many, the one whose low product is 0."""
    assert uniform_below(3, 2, Words(0, 1 << 31, (1 << 32) - 1)).tolist() == [2, 1]


@pytest.mark.parametrize("bound", [1, 3, 40, 65535])
def test_every_lie_has_the_same_number_of_words(bound: int) -> None:
    """Words w with floor(w bound / 2^32) = y and an accepted low half number floor(2^32 / bound), for every y."""
    uneven = (1 << 32) - bound * ((1 << 32) // bound)
    for y in {0, 1, bound // 2, bound - 1} & set(range(bound)):
        first = -(-((y << 32) + uneven) // bound)
        last = (((y + 1) << 32) - 1) // bound
        assert last - first + 1 == (1 << 32) // bound
