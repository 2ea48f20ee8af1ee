"""OUE counted: the adder against numpy, its Python text against both, and crafted reports that show."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.oracles import kernels
from treetop.oracles.frequency_oracle import NO_KEYS, TAIL
from treetop.oracles.oue.counting import BitsCounting
from treetop.oracles.oue.device import flip_threshold
from treetop.oracles.random_words import GeneratorWords
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import WORDS


def counted(packed: Any, size: int) -> Any:
    return BitsCounting.support((packed,), size, NO_KEYS)


@pytest.mark.parametrize("size", [1, 8, 17, 41, 256, 263, 5000])
@pytest.mark.parametrize("reports", [0, 5, 9_000])
def test_bits_are_counted_like_unpacked_ones(size: int, reports: int) -> None:
    bits = np.random.default_rng(7).random((reports, size)) < 0.3
    np.testing.assert_array_equal(counted(np.packbits(bits, axis=1), size), bits.sum(axis=0))


def test_bits_that_are_always_set_carry_through_every_plane() -> None:
    reports = 70_000
    assert counted(np.full((reports, 32), 255, dtype=np.uint8), 256).tolist() == [reports] * 256


def test_a_bit_behind_the_last_slot_is_refused() -> None:
    crafted = np.array([[16]], dtype=np.uint8)
    with refused("report_bits_set", InvalidInput, report_slots=3):
        counted(crafted, 3)
    assert not BitsCounting.in_range((crafted,), 3)
    assert BitsCounting.in_range((crafted,), 4)


def test_the_text_of_the_adder_adds_like_its_machine_code() -> None:
    blocks = np.random.default_rng(7).integers(2**64, size=(16, 3), dtype=np.uint64)
    text, machine = np.zeros((6, 3), dtype=np.uint64), np.zeros((6, 3), dtype=np.uint64)
    kernels.add_bits(blocks, machine)
    kernels.add_bits.py_func(blocks, text)
    np.testing.assert_array_equal(text, machine)
    a, b, c = (np.uint64(word) for word in (0b1100, 0b1010, 0b1001))
    assert kernels.odd.py_func(a, b, c) == 0b1111
    assert kernels.most.py_func(a, b, c) == 0b1000
    carries, ones = np.empty(3, dtype=np.uint64), np.zeros((3, 3), dtype=np.uint64)
    kernels.add_eight_blocks.py_func(np.full((8, 3), 1, dtype=np.uint64), ones[0], ones[1], ones[2], carries)
    assert carries.tolist() == [1, 1, 1]
    plane = np.ones(3, dtype=np.uint64)
    kernels.add_carry.py_func(plane, carries)
    assert (plane.tolist(), carries.tolist()) == ([0, 0, 0], [1, 1, 1])


@pytest.mark.parametrize("text", ["0.1", "0.5", "1", "2", "4", "8", "11", "11.1", "16"])
def test_devices_flip_as_often_as_the_estimate_assumes(text: str) -> None:
    flipped = flip_threshold(Budget(text).odds_below) / WORDS
    assert flipped == pytest.approx(BitsCounting(Epsilon(text), 41).q, rel=1e-12)


def tail_above(most: int, others: int, q: float) -> float:
    """The naive twin: P(Bern(1/2) + Bin(others, q) > most) by scipy."""
    return float(0.5 * binom.sf(most, others, q) + 0.5 * binom.sf(most - 1, others, q))


@pytest.mark.parametrize("slots", [41, 1025, 20_001])
@pytest.mark.parametrize("epsilon", [4.0, 2.0, 0.12])
def test_limits_of_ones_are_tight(slots: int, epsilon: float) -> None:
    oracle = BitsCounting(Epsilon(epsilon), slots)
    fewest, most = oracle.plausible_ones
    assert tail_above(most, slots - 1, oracle.q) <= TAIL / 2 < tail_above(most - 1, slots - 1, oracle.q)
    assert 1 - tail_above(fewest, slots - 1, oracle.q) > 0
    below = [
        0.5 * (binom.cdf(m, slots - 1, oracle.q) + binom.cdf(m - 1, slots - 1, oracle.q)) for m in (fewest - 1, fewest)
    ]
    assert below[0] <= TAIL / 2 < below[1]


def test_honest_bits_pass_and_crafted_ones_show() -> None:
    oracle, randomness = BitsCounting(Epsilon(1), 201), np.random.default_rng(1)
    honest = oracle.perturb(randomness.integers(201, size=50_000), GeneratorWords(randomness))
    assert oracle.surprising(honest, NO_KEYS) == 0
    crafted = np.zeros((7, 201), dtype=bool)
    crafted[:3, :150] = True  # many items pushed at once
    crafted[3:6] = False  # an empty report
    crafted[6, :54] = True  # as many as an honest device has: it cannot be told
    assert oracle.surprising((np.packbits(crafted, axis=1),), NO_KEYS) == 6
    assert oracle.beyond_chance(6, 7, 0) == 6


def test_a_person_gets_a_matrix_of_bits() -> None:
    oracle = BitsCounting(Epsilon(1), 11)
    columns = oracle.perturb(np.arange(11), GeneratorWords(np.random.default_rng(1)))
    bits = oracle.as_reports(columns)
    assert (bits.shape, bits.dtype) == ((11, 11), np.dtype(bool))
    np.testing.assert_array_equal(np.packbits(bits, axis=1), columns[0])
    assert oracle.report_bits == 11


def test_the_last_step_adds_every_bit_with_its_weight() -> None:
    rows = np.random.default_rng(7).integers(256, size=(5, 3), dtype=np.uint8)
    machine, text = np.zeros(24, dtype=np.int64), np.zeros(24, dtype=np.int64)
    kernels.add_rows(rows, 3, machine)
    kernels.add_rows.py_func(rows, 3, text)
    expected = np.unpackbits(rows, axis=1).sum(axis=0, dtype=np.int64) << 3
    np.testing.assert_array_equal(machine, expected)
    np.testing.assert_array_equal(text, expected)
