"""Reports that no honest device sends: the laws against scipy, honest reports pass, crafted ones show."""

import numpy as np
import pytest
from scipy.stats import binom

from treetop.oracles.hash_family import buckets, premixed
from treetop.oracles.optimized_local_hashing import OptimizedLocalHashing
from treetop.oracles.optimized_unary_encoding import OptimizedUnaryEncoding
from treetop.oracles.plausibility import (
    RARE,
    TAIL,
    beyond_chance,
    implausible_bits,
    most_supported,
    own_and_others,
    plausible_ones,
    rare_hashes,
)
from treetop.privacy.epsilon import Epsilon

KEYS = np.arange(1, 31, dtype=np.uint64) * np.uint64(7919)


@pytest.mark.parametrize(("p", "others", "q"), [(0.5, 0, 0.1), (0.5, 40, 0.018), (0.9, 3, 0.25), (0.5, 5000, 0.3)])
def test_the_law_is_one_own_and_many_others(p: float, others: int, q: float) -> None:
    counts = np.arange(others + 2)
    expected = (1 - p) * binom.pmf(counts, others, q) + p * binom.pmf(counts - 1, others, q)
    np.testing.assert_allclose(own_and_others(p, others, q), expected, rtol=1e-9, atol=1e-300)
    assert own_and_others(p, others, q).sum() == pytest.approx(1, abs=1e-10)


def tail_above(most: int, p: float, others: int, q: float) -> float:
    """The naive twin: P(X > most) by scipy."""
    return float((1 - p) * binom.sf(most, others, q) + p * binom.sf(most - 1, others, q))


@pytest.mark.parametrize("slots", [41, 1025, 20_001])
@pytest.mark.parametrize("q", [0.018, 0.119, 0.47])
def test_limits_of_ones_are_tight(slots: int, q: float) -> None:
    fewest, most = plausible_ones(slots, 0.5, q)
    assert tail_above(most, 0.5, slots - 1, q) <= TAIL / 2 < tail_above(most - 1, 0.5, slots - 1, q)
    assert 1 - tail_above(fewest, 0.5, slots - 1, q) > 0
    below = [0.5 * (binom.cdf(m, slots - 1, q) + binom.cdf(m - 1, slots - 1, q)) for m in (fewest - 1, fewest)]
    assert below[0] <= TAIL / 2 < below[1]


@pytest.mark.parametrize(("keys", "epsilon"), [(10, 4.0), (30, 2.0), (100, 1.0), (1, 4.0), (5, 0.5)])
def test_limit_of_support_is_tight(keys: int, epsilon: float) -> None:
    oracle = OptimizedLocalHashing(Epsilon(epsilon), keys + 1)
    most, chance = most_supported(keys, oracle.p, oracle.q)
    assert chance == pytest.approx(tail_above(most, oracle.p, keys - 1, oracle.q), rel=1e-9)
    assert chance <= RARE
    assert most == 0 or tail_above(most - 1, oracle.p, keys - 1, oracle.q) > RARE


def test_few_keys_tell_nothing() -> None:
    oracle = OptimizedLocalHashing(Epsilon(0.5), 6)
    assert most_supported(5, oracle.p, oracle.q) == (5, 0)


def test_the_number_of_rare_reports_is_held_against_honest_devices() -> None:
    oracle = OptimizedLocalHashing(Epsilon(4), 11)
    chance = most_supported(10, oracle.p, oracle.q)[1]
    limit = next(rare for rare in range(100) if binom.sf(rare, 20_000, chance) <= TAIL)
    arguments = (20_000, 10, oracle.bucket_count, oracle.p)
    assert [beyond_chance(rare, *arguments) for rare in (0, limit, limit + 1)] == [0, 0, limit + 1]


def test_honest_bits_pass_and_crafted_ones_show() -> None:
    oracle, randomness = OptimizedUnaryEncoding(Epsilon(1), 201), np.random.default_rng(1)
    honest = np.packbits(oracle.perturb(randomness.integers(201, size=50_000), randomness), axis=1)
    assert implausible_bits(honest, 201, oracle.p, oracle.q) == 0
    crafted = np.zeros((7, 201), dtype=bool)
    crafted[:3, :150] = True  # many items pushed at once
    crafted[3:6] = False  # an empty report
    crafted[6, :54] = True  # as many as an honest device has: it cannot be told
    assert implausible_bits(np.packbits(crafted, axis=1), 201, oracle.p, oracle.q) == 6


def test_honest_hashes_pass_and_crafted_ones_show() -> None:
    """One report in a hundred crafted by somebody who tries a thousand seeds (Cao et al. 2021) is enough."""
    oracle, randomness = OptimizedLocalHashing(Epsilon(4), 31), np.random.default_rng(2)
    seeds, found = oracle.perturb(randomness.choice(KEYS, size=20_000), randomness)
    count, p = oracle.bucket_count, oracle.p
    rare = rare_hashes(seeds, found, KEYS, count, p)
    assert beyond_chance(rare, 20_000, len(KEYS), count, p) == 0
    crafted = [best_report(first, count) for first in range(0, 200_000, 1000)]
    seeds[:200], found[:200] = zip(*crafted, strict=True)
    told = beyond_chance(rare_hashes(seeds, found, KEYS, count, p), 20_000, len(KEYS), count, p)
    assert 80 < told <= 200 + rare  # about half of the crafted ones are rare enough
    assert rare_hashes(seeds, found, KEYS[:0], count, p) == 0


def best_report(first: int, count: int) -> tuple[int, int]:
    """Search as an attacker does: of a thousand seeds, the one that puts most keys into one bucket."""
    seeds = np.arange(first, first + 1000, dtype=np.uint32)
    places = np.array([buckets(seeds, low, high, count) for low, high in zip(*premixed(KEYS), strict=True)])
    support = np.array([np.bincount(column, minlength=count) for column in places.T])
    seed, bucket = np.unravel_index(support.argmax(), support.shape)
    return first + int(seed), int(bucket)
