"""k-RR on a device: its threshold, its report, its bytes."""

from fractions import Fraction

import pytest

from treetop.audit.chosen_inputs import ScriptedEntropy, word
from treetop.oracles.krr.device import SlotFace, keep_threshold
from treetop.oracles.protocol import MAX_SLOTS
from treetop.privacy.budget import Budget, exponential_bounds
from treetop.privacy.randomness import WORDS

ONE = Budget("1").odds_below
BUDGETS = [Budget(text) for text in ("0.001", "0.1", "1", "2.5", "4", "8", "16")]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("slots", [2, 3, 5, 41, 321, 4097, MAX_SLOTS])
def test_keep_is_rounded_down_by_less_than_one(budget: Budget, slots: int) -> None:
    for odds in exponential_bounds(budget.amount):
        p = odds / (slots - 1 + odds)
        assert 0 <= p * WORDS - keep_threshold(budget.odds_below, slots) < 1


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("slots", [2, 41, MAX_SLOTS])
def test_the_true_ratio_is_below_and_tight(budget: Budget, slots: int) -> None:
    keep, (below, above) = keep_threshold(budget.odds_below, slots), exponential_bounds(budget.amount)
    ratio = Fraction(keep * (slots - 1), WORDS - keep)
    assert (1 - Fraction(1, 1 << 40)) * above <= ratio <= below


def test_a_word_below_the_threshold_keeps_and_no_other_does() -> None:
    face = SlotFace(ONE, 5)
    assert face.draw(ScriptedEntropy(word(face.keep - 1) + b"\0")).report(3) == 3
    assert face.draw(ScriptedEntropy(word(face.keep) + b"\3")).report(3) == 4
    assert face.draw(ScriptedEntropy(word(face.keep) + b"\2")).report(3) == 2


def test_a_lie_is_never_the_truth() -> None:
    face = SlotFace(ONE, 5)
    for slot in range(5):
        assert {face.report(((face.keep,), other), slot) for other in range(4)} == set(range(5)) - {slot}


@pytest.mark.parametrize(
    ("slots", "width"), [(2, 1), (256, 1), (257, 2), (65536, 2), (65537, 4), ((1 << 22) + 1, 4)]
)  # fmt: skip
def test_a_slot_takes_the_fewest_bytes(slots: int, width: int) -> None:
    face = SlotFace(ONE, slots)
    assert face.width == width
    assert face.decode(face.encode(slots - 1)) == slots - 1


def test_a_list_carries_the_threshold_that_depends_on_its_length() -> None:
    face = SlotFace(ONE, 5)
    assert face.list_thresholds() == {"keep": keep_threshold(ONE, 5)}
    assert face.task_thresholds() == {}
