"""k-RR counted: the compiled loop against numpy, and its Python text against both."""

from typing import Any

import numpy as np
import pytest
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.oracles import frequency_oracle, kernels
from treetop.oracles.frequency_oracle import NO_KEYS
from treetop.oracles.krr.counting import SlotCounting
from treetop.oracles.krr.device import keep_threshold
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import WORDS


def counted(slots: Any, size: int) -> Any:
    return SlotCounting.support((slots,), size, NO_KEYS)


@pytest.mark.parametrize(("size", "dtype"), [(2, np.uint8), (256, np.uint8), (300, np.uint16), (70_000, np.uint32)])
@pytest.mark.parametrize("reports", [0, 1, 6, 10_001])
def test_slots_are_counted_like_bincount(size: int, dtype: Any, reports: int) -> None:
    slots = np.random.default_rng(7).integers(size, size=reports).astype(dtype)
    assert SlotCounting.layout(size)["slot"] == dtype
    np.testing.assert_array_equal(counted(slots, size), np.bincount(slots, minlength=size))


def test_a_slot_out_of_range_is_refused_and_not_written() -> None:
    with refused("value_too_large", InvalidInput, what="slot", size=3, largest=3):
        counted(np.array([0, 3], dtype=np.uint8), 3)
    assert not SlotCounting.in_range((np.array([0, 3]),), 3)
    assert SlotCounting.in_range((np.array([0, 2]),), 3)


def test_more_reports_than_a_counter_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequency_oracle, "MAX_REPORTS", 2)
    with refused("too_many_reports", InvalidInput, max_reports=2, reports=3):
        counted(np.zeros(3, dtype=np.uint8), 2)


def test_the_text_of_the_loop_counts_like_its_machine_code() -> None:
    slots = np.random.default_rng(7).integers(5, size=11).astype(np.uint8)
    tables = np.zeros((kernels.TABLES, 5), dtype=np.uint32)
    kernels.add_slots.py_func(slots, tables)
    assert tables.sum(axis=0).tolist() == np.bincount(slots, minlength=5).tolist()


@pytest.mark.parametrize("text", ["0.1", "0.5", "1", "2", "4", "8", "11", "11.1", "16"])
def test_devices_keep_as_often_as_the_estimate_assumes(text: str) -> None:
    kept = keep_threshold(Budget(text).odds_below, 41) / WORDS
    assert kept == pytest.approx(SlotCounting(Epsilon(text), 41).p, rel=1e-12)


@pytest.mark.parametrize(("size", "bits"), [(2, 1), (41, 6), (256, 8), (257, 9)])
def test_a_report_holds_as_many_bits_as_name_a_slot(size: int, bits: int) -> None:
    assert SlotCounting(Epsilon(1), size).report_bits == bits


def test_no_slot_is_a_surprise() -> None:
    oracle = SlotCounting(Epsilon(1), 3)
    assert not oracle.screens
    assert oracle.surprising((np.zeros(9, dtype=np.uint8),), NO_KEYS) == 0
    assert oracle.beyond_chance(0, 9, 0) == 0
