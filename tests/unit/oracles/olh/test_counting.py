"""OLH counted: the compiled loop against the hash, its Python text against both, and crafted reports that show."""

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.refusals import refused
from tests.support.report_batches import support_by_numpy

from treetop.errors import InvalidInput
from treetop.oracles import kernels
from treetop.oracles.frequency_oracle import NO_KEYS, TAIL
from treetop.oracles.hashing import bucket_starts, buckets, premixed
from treetop.oracles.olh.counting import RARE, HashCounting
from treetop.oracles.olh.device import bucket_count
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import listed_oracle, oracle_named
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon

KEYS = np.arange(1, 31, dtype=np.uint64) * np.uint64(7919)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 12.0])
@pytest.mark.parametrize("candidates", [1, 16, 77, 1025])
def test_support_is_that_of_the_hash_itself(epsilon: float, candidates: int) -> None:
    oracle, randomness = HashCounting(Epsilon(epsilon), candidates + 1), np.random.default_rng(7)
    keys = randomness.integers(2**64, size=candidates, dtype=np.uint64)
    columns = oracle.perturb(randomness.choice(keys, size=300), GeneratorWords(randomness))
    seeds, reported = columns
    expected = support_by_numpy(seeds, reported, keys, oracle.report_slots)
    np.testing.assert_array_equal(HashCounting.support(columns, oracle.report_slots, keys), expected)
    np.testing.assert_array_equal(oracle.tally(columns, keys).support, expected)


@pytest.mark.parametrize("count", [2, 3, 9, 56, 1000, 65_535, 65_536])
def test_a_bucket_is_an_interval_of_hashes(count: int) -> None:
    starts = bucket_starts(count)
    assert starts[0] == 0
    assert starts[-1] == 1 << 32
    for bucket, (start, after) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        assert (start * count) >> 32 == bucket
        assert ((after - 1) * count) >> 32 == bucket


def test_a_bucket_out_of_range_is_refused_and_not_written() -> None:
    seeds, keys = np.zeros(2, dtype=np.uint32), np.zeros(1, dtype=np.uint64)
    crafted = seeds, np.array([0, 9], dtype=np.uint8)
    with refused("value_too_large", InvalidInput, what="bucket", size=9, largest=9):
        HashCounting.support(crafted, 9, keys)
    assert not HashCounting.in_range(crafted, 9)
    assert HashCounting.in_range(crafted, 10)


def test_the_text_of_the_loop_supports_like_the_hash() -> None:
    seeds = np.random.default_rng(7).integers(2**32, size=20, dtype=np.uint32)
    low, high = premixed(np.arange(16, dtype=np.uint64))
    start, width = np.uint32(1 << 30), np.uint32(1 << 30)  # bucket 1 of 4
    support = np.zeros(16, dtype=np.uint32)
    every = np.full(20, start), np.full(20, width)
    kernels.add_support.py_func(seeds, *every, low, high, support)
    expected = [np.count_nonzero(buckets(seeds, *words, 4) == 1) for words in zip(low, high, strict=True)]
    assert support.tolist() == expected
    with np.errstate(over="ignore"):
        texts = [bool(kernels.supports.py_func(seed, start, width, low[0], high[0]) == 1) for seed in seeds]
    assert texts == (buckets(seeds, low[0], high[0], 4) == 1).tolist()


@pytest.mark.parametrize("text", ["0.1", "0.5", "1", "2", "4", "8", "11", "11.1", "16"])
def test_parties_count_with_the_buckets_of_devices(text: str) -> None:
    assert HashCounting(Epsilon(text), 41).report_slots == bucket_count(Budget(text).odds_below)


def test_a_report_holds_its_seed_and_its_bucket() -> None:
    oracle = HashCounting(Epsilon(2), 41)
    assert oracle.report_bits == 32 + 4  # d' = 9
    reports = oracle.as_reports((np.arange(3, dtype=np.uint32), np.zeros(3, dtype=np.uint8)))
    assert (reports.seeds.tolist(), reports.buckets.tolist()) == ([0, 1, 2], [0, 0, 0])


def test_the_dummy_is_counted_where_devices_know_the_list() -> None:
    hashed, listed = oracle_named("olh", Epsilon(1), 4), listed_oracle("olh", Epsilon(1), 4)
    assert (hashed.slots, listed.slots, listed.size) == (4, 5, 5)
    assert (listed.p, listed.q) == (hashed.p, hashed.q)
    assert listed_oracle("krr", Epsilon(1), 4).slots == 5
    tally = listed.sample_tally(np.array([10, 0, 0, 0, 90]), np.random.default_rng(1))
    assert (tally.reports, len(tally.support)) == (100, 5)


def tail_above(most: int, p: float, others: int, q: float) -> float:
    """The naive twin: P(Bern(p) + Bin(others, q) > most) by scipy."""
    return float((1 - p) * binom.sf(most, others, q) + p * binom.sf(most - 1, others, q))


@pytest.mark.parametrize(("keys", "epsilon"), [(10, 4.0), (30, 2.0), (100, 1.0), (1, 4.0), (5, 0.5)])
def test_limit_of_support_is_tight(keys: int, epsilon: float) -> None:
    oracle = HashCounting(Epsilon(epsilon), keys + 1)
    most, chance = oracle._max_supported(keys)
    assert chance == pytest.approx(tail_above(most, oracle.p, keys - 1, oracle.q), rel=1e-9)
    assert chance <= RARE
    assert most == 0 or tail_above(most - 1, oracle.p, keys - 1, oracle.q) > RARE


def test_few_keys_tell_nothing() -> None:
    assert HashCounting(Epsilon(0.5), 6)._max_supported(5) == (5, 0)


def test_the_number_of_rare_reports_is_compared_with_honest_devices() -> None:
    oracle = HashCounting(Epsilon(4), 11)
    chance = oracle._max_supported(10)[1]
    limit = next(rare for rare in range(100) if binom.sf(rare, 20_000, chance) <= TAIL)
    assert [oracle.beyond_chance(rare, 20_000, 10) for rare in (0, limit, limit + 1)] == [0, 0, limit + 1]


def test_honest_hashes_pass_and_crafted_ones_show() -> None:
    """One report in a hundred crafted by somebody who tries a thousand seeds (Cao et al. 2021) is enough."""
    oracle, randomness = HashCounting(Epsilon(4), 31), np.random.default_rng(2)
    seeds, found = oracle.perturb(randomness.choice(KEYS, size=20_000), GeneratorWords(randomness))
    rare = oracle.surprising((seeds, found), KEYS)
    assert oracle.beyond_chance(rare, 20_000, len(KEYS)) == 0
    crafted = [best_report(first, oracle.report_slots) for first in range(0, 200_000, 1000)]
    seeds[:200], found[:200] = zip(*crafted, strict=True)
    shown = oracle.beyond_chance(oracle.surprising((seeds, found), KEYS), 20_000, len(KEYS))
    assert 80 < shown <= 200 + rare  # about half of the crafted ones are rare enough
    assert oracle.surprising((seeds, found), NO_KEYS) == 0


def best_report(first: int, count: int) -> tuple[int, int]:
    """Search as an attacker does: of a thousand seeds, the one that puts most keys into one bucket."""
    seeds = np.arange(first, first + 1000, dtype=np.uint32)
    places = np.array([buckets(seeds, low, high, count) for low, high in zip(*premixed(KEYS), strict=True)])
    support = np.array([np.bincount(column, minlength=count) for column in places.T])
    seed, bucket = np.unravel_index(support.argmax(), support.shape)
    return first + int(seed), int(bucket)
