"""Walsh counted: pairs and the transform against the hash, the text of the loops, and crafted reports that show."""

import pickle
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.linalg import hadamard
from scipy.stats import binom
from tests.support.refusals import refused
from tests.support.report_batches import parities_by_numpy

from treetop.errors import InvalidInput
from treetop.oracles import kernels
from treetop.oracles.frequency_oracle import MAX_REPORTS, NO_KEYS, TAIL, Columns, Tally
from treetop.oracles.hashing import mixed_words, outcomes
from treetop.oracles.krr.counting import SlotCounting
from treetop.oracles.olh.counting import RARE
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import listed_oracle, oracle_named
from treetop.oracles.walsh import counting
from treetop.oracles.walsh.counting import ParityCounting, affinely_independent, supported_pairs
from treetop.oracles.walsh.spectrum import Spectrum, names_above, transform
from treetop.privacy.epsilon import Epsilon


def random_reports(reports: int, slots: int, seed: int = 1) -> Columns:
    randomness = np.random.default_rng(seed)
    reported = randomness.integers(slots, size=reports).astype(np.uint8)
    return randomness.integers(2**32, size=reports, dtype=np.uint32), reported


def names(bits: int) -> Any:
    return np.arange(1 << bits, dtype=np.uint64)


def spectrum_of(columns: Columns, bits: int, slots: int) -> Spectrum:
    spectrum = Spectrum(bits, slots)
    spectrum.add(columns)
    return spectrum


@pytest.mark.parametrize("slots", [2, 8, 64, 256])
@pytest.mark.parametrize("bits", [1, 2, 7])
def test_the_transform_counts_every_name_like_the_hash_itself(slots: int, bits: int) -> None:
    columns = random_reports(300, slots)
    tally = spectrum_of(columns, bits, slots).tally()
    assert tally.reports == 300
    np.testing.assert_array_equal(tally.support, parities_by_numpy(columns, names(bits), slots))


@pytest.mark.parametrize("bits", [11, 12, 13, 14, 16, 17])
def test_blocks_and_tiles_cover_all_cells(bits: int) -> None:
    """Longer names than fit a block, an odd number of bits beyond it, and more than one row that waits."""
    columns = random_reports(60_000, 8)
    support = spectrum_of(columns, bits, 8).tally().support
    some = np.random.default_rng(2).integers(1 << bits, size=50).astype(np.uint64)
    np.testing.assert_array_equal(support[some], supported_pairs(columns, 8, some))
    np.testing.assert_array_equal(supported_pairs(columns, 8, some[:5]), parities_by_numpy(columns, some[:5], 8))


@pytest.mark.parametrize("bits", [0, 1, 5, 9])
def test_the_transform_is_that_of_the_hadamard_matrix(bits: int) -> None:
    values = np.random.default_rng(3).integers(-50, 50, size=1 << bits)
    expected = hadamard(1 << bits) @ values
    transform(values)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("keys", [1, 40, 1025])
def test_keys_of_any_length_are_counted_by_pairs(keys: int) -> None:
    columns = random_reports(200, 64)
    asked = np.random.default_rng(4).integers(2**64, size=keys, dtype=np.uint64)
    np.testing.assert_array_equal(ParityCounting.support(columns, 64, asked), parities_by_numpy(columns, asked, 64))


def test_what_is_cheaper_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many short keys by the transform, few of them or long ones by pairs, and all with the same result."""
    done: list[str] = []

    class Noted(Spectrum):
        def tally(self) -> Tally:
            done.append("transform")
            return super().tally()

    monkeypatch.setattr(counting, "Spectrum", Noted)
    columns = random_reports(5000, 8)
    many, few = names(12), names(12)[::1000]
    support = ParityCounting.support(columns, 8, many)
    assert done == ["transform"]
    assert support.dtype == np.int64
    np.testing.assert_array_equal(support, supported_pairs(columns, 8, many))
    np.testing.assert_array_equal(ParityCounting.support(columns, 8, few), support[::1000])
    ParityCounting.support(columns, 8, many << np.uint64(20))
    assert len(ParityCounting.support(columns, 8, NO_KEYS)) == 0
    assert done == ["transform"]


def test_spectra_add_up_in_any_order() -> None:
    columns = random_reports(3000, 8)
    parts = [tuple(column[cut] for column in columns) for cut in (slice(0, 1), slice(1, 1999), slice(1999, None))]
    one, two, three = (spectrum_of(part, 10, 8) for part in parts)
    one += three
    one += pickle.loads(pickle.dumps(two))  # noqa: S301  as a worker of a cluster sends it
    whole = spectrum_of(columns, 10, 8)
    np.testing.assert_array_equal(one.sums, whole.sums)
    np.testing.assert_array_equal(one.tally().support, whole.tally().support)
    one.add(parts[0])  # a spectrum goes on after it was looked at
    assert one.tally().reports == 3001


def test_cells_take_64_bits_where_32_might_not_do() -> None:
    """n g signs may all fall on one cell, since masks may repeat: 2^31 / 8 reports are the first too many."""
    spectrum, columns = Spectrum(4, 8), random_reports(10, 8)
    spectrum.reports = (1 << 28) - 11
    spectrum.add(columns)
    assert spectrum.sums.dtype == np.int32
    before = spectrum.sums.copy()
    spectrum.add(tuple(column[:1] for column in columns))
    assert spectrum.sums.dtype == np.int64
    assert spectrum.sums[0] > before[0]
    other = Spectrum(4, 8)
    other += spectrum
    assert (other.sums.itemsize, other.reports) == (8, 1 << 28)


def test_what_does_not_fit_is_refused() -> None:
    with refused("spectra_differ", InvalidInput, expected=(4, 8), found=(5, 8)):
        Spectrum(4, 8).__iadd__(Spectrum(5, 8))
    for bits in (0, 29):
        with refused("spectrum_bits", InvalidInput, max_bits=28):
            Spectrum(bits, 8)
    crafted = np.zeros(2, dtype=np.uint32), np.array([0, 8], dtype=np.uint8)
    with refused("value_too_large", InvalidInput, what="reported outcome", size=8, largest=8):
        Spectrum(4, 8).add(crafted)
    with refused("value_too_large", InvalidInput, what="reported outcome", size=8, largest=8):
        ParityCounting.support(crafted, 8, names(1))
    full = Spectrum(4, 8)
    full.reports = MAX_REPORTS
    with refused("too_many_reports", InvalidInput, max_reports=2147483647, reports=2147483648):
        full.add(random_reports(1, 8))
    with refused("names_not_counted", InvalidInput, name="krr", bits=4):
        SlotCounting.every_name(4, 8)
    assert ParityCounting.every_name(4, 8).bits == 4


def test_names_that_stand_out_are_found_among_all() -> None:
    oracle, randomness = ParityCounting(Epsilon(2), 2), np.random.default_rng(5)
    held = np.array([5, 70_000, 200_000])
    values = np.concatenate([np.repeat(held, 3000), randomness.integers(1 << 18, size=20_000)]).astype(np.uint64)
    tally = spectrum_of(oracle.perturb(values, GeneratorWords(randomness)), 18, oracle.report_slots).tally()
    assert names_above(tally, oracle.report_slots, 5.5).tolist() == held.tolist()
    estimates = oracle.estimate(tally)[held] * len(values)
    assert np.all(np.abs(estimates - 3000) < 6 * np.sqrt(oracle.variance(0.1, len(values))) * len(values))


def test_the_text_of_the_loops_does_what_they_do() -> None:
    columns = random_reports(20, 8)
    for bits, room in ((3, 1000), (16, 2)):
        spectrum, rows = spectrum_of(columns, bits, 8), 1 << max(0, bits - 15)
        sums, filled = np.zeros(1 << bits, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        kernels.scatter.py_func(columns[0], columns[1], 3, sums, np.empty((rows, room), dtype=np.uint16), filled)
        np.testing.assert_array_equal(sums, spectrum.sums)
    tally = spectrum_of(columns, 3, 8).tally()
    sums = spectrum_of(columns, 3, 8).sums
    kernels.transform_blocks.py_func(sums, 2)
    kernels.transform_rows.py_func(sums.reshape(4, 2), 1)
    np.testing.assert_array_equal(sums // 8, tally.support)
    with np.errstate(over="ignore"):
        words = [int(kernels.mixed_word.py_func(seed, np.uint64(2))) for seed in columns[0]]
    assert words == mixed_words(columns[0], 2).tolist()
    waiting, cells = np.array([1, 1, 0x8002], dtype=np.uint16), np.zeros(4, dtype=np.int64)
    kernels.flush.py_func(cells, 0, waiting.astype(np.int64), 3)
    assert cells.tolist() == [0, 2, -1, 0]


def test_the_text_of_the_pairs_does_what_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, keys, support = random_reports(20, 8), names(4), np.zeros(16, dtype=np.uint32)
    counted: Any = njit(lambda number: kernels.set_bits(number))  # noqa: PLW0108  an intrinsic is no function
    assert [counted(np.uint64(number)) for number in (0, 7, 2**64 - 1)] == [0, 3, 64]
    monkeypatch.setattr(kernels, "set_bits", np.bitwise_count)
    kernels.add_pairs.py_func(columns[0], columns[1], 3, keys, np.empty_like(keys), support)
    np.testing.assert_array_equal(support, parities_by_numpy(columns, keys, 8))


def test_the_dummy_is_counted_where_devices_know_the_list() -> None:
    hashed, listed = oracle_named("walsh", Epsilon(1), 4), listed_oracle("walsh", Epsilon(1), 4)
    assert (hashed.slots, listed.slots, listed.size) == (4, 5, 5)
    assert (listed.p, listed.q) == (hashed.p, hashed.q)
    assert hashed.report_bits == 32 + 2


def test_the_law_is_that_of_olh_within_half_a_percent_of_the_optimum() -> None:
    for epsilon, loss in ((1, 1.01), (2, 1.005), (4, 1.01)):
        walsh, olh = (oracle_named(name, Epsilon(epsilon), 4) for name in ("walsh", "olh"))
        assert walsh.variance(0.0, 1000) < loss * olh.variance(0.0, 1000)


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ([], []),
        ([9], [9]),
        ([0, 1, 2, 3], [0, 1, 2]),
        ([4, 5, 6, 7, 8], [4, 5, 6, 8]),
        ([9, 9, 12], [9, 12]),
        ([1, 2, 4, 8, 15], [1, 2, 4, 8, 15]),
        ([1, 2, 4, 7], [1, 2, 4]),
    ],
)
def test_keys_an_even_number_of_which_cancel_are_left_out(keys: list[int], chosen: list[int]) -> None:
    assert affinely_independent(np.array(keys, dtype=np.uint64)).tolist() == chosen


def test_names_in_a_row_do_not_make_honest_reports_rare() -> None:
    """The 64 names 0 to 63 are all supported, or 32 of them, or none, far more often than 64 independent ones."""
    oracle, randomness = ParityCounting(Epsilon(1), 65), np.random.default_rng(6)
    keys = names(6)
    columns = oracle.perturb(randomness.choice(keys, size=20_000), GeneratorWords(randomness))
    supported = sum((outcomes(columns[0], key, 4) == columns[1]).astype(int) for key in keys)
    assert np.count_nonzero(supported >= 48) > 1000 * 20_000 * binom.sf(47, 64, 0.3)
    assert oracle.surprising(columns, keys) == 0
    assert oracle.surprising(columns, NO_KEYS) == 0


def test_honest_reports_pass_and_crafted_ones_show() -> None:
    """One report in a hundred crafted by somebody who tries a thousand seeds is enough."""
    oracle, randomness = ParityCounting(Epsilon(4), 31), np.random.default_rng(2)
    keys = randomness.integers(1 << 24, size=20).astype(np.uint64)
    seeds, reported = oracle.perturb(randomness.choice(keys, size=20_000), GeneratorWords(randomness))
    honest = oracle.surprising((seeds, reported), keys)
    assert oracle.beyond_chance(honest, 20_000, len(keys)) == 0
    for place in range(200):
        tried = np.arange(1000 * place, 1000 * place + 1000, dtype=np.uint32)
        found = np.array([outcomes(tried, key, 64) for key in keys])
        support = np.array([np.bincount(column, minlength=64) for column in found.T])
        best, outcome = np.unravel_index(support.argmax(), support.shape)
        seeds[place], reported[place] = tried[best], outcome
    shown = oracle.beyond_chance(oracle.surprising((seeds, reported), keys), 20_000, len(keys))
    assert 80 < shown <= 200 + honest
    limit = next(rare for rare in range(100) if binom.sf(rare, 20_000, RARE) <= TAIL)
    assert [oracle.beyond_chance(rare, 20_000, 20) for rare in (0, limit, limit + 1)] == [0, 0, limit + 1]
