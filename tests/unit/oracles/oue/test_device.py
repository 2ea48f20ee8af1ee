"""OUE on a device: its thresholds, its report, its bytes."""

import pytest

from treetop.oracles.oue.device import BitsFace, flip_threshold
from treetop.privacy.budget import Budget, exponential_bounds
from treetop.privacy.randomness import HALF, WORDS

ONE = Budget("1").odds_below
BUDGETS = [Budget(text) for text in ("0.001", "0.1", "1", "2.5", "4", "8", "16")]


@pytest.mark.parametrize("budget", BUDGETS)
def test_flip_is_rounded_up_by_less_than_one(budget: Budget) -> None:
    for odds in exponential_bounds(budget.amount):
        assert 0 <= flip_threshold(budget.odds_below) - WORDS / (odds + 1) < 1


def test_one_word_is_compared_with_each_threshold() -> None:
    face = BitsFace(ONE, 3)
    flip = face.flip
    assert face.report(((HALF - 1, flip - 1, flip),), 0) == (True, True, False)
    assert face.report(((HALF, flip, flip - 1),), 0) == (False, False, True)


@pytest.mark.parametrize(("slots", "width"), [(2, 1), (8, 1), (9, 2), (321, 41)])
def test_bits_are_packed(slots: int, width: int) -> None:
    assert BitsFace(ONE, slots).width == width


def test_position_zero_is_the_highest_bit() -> None:
    assert BitsFace(ONE, 9).encode((True, *(False,) * 7, True)) == b"\x80\x80"


def test_a_task_carries_the_threshold_that_is_the_same_for_every_list() -> None:
    face = BitsFace(ONE, 5)
    assert face.task_thresholds() == {"flip": flip_threshold(ONE)}
    assert face.list_thresholds() == {}
