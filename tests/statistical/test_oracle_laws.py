"""The laws of tallies: exact sampling, device by device, and the formulas agree.

Settings: 5 slots, 400 users, 4,000 tallies each way. Means are compared at z = 6.1 (false-alarm rate 1e-9 per
statement); a mean that is off by 0.2 standard deviations of a tally is caught with more than 99.9 % power, since
0.2 sqrt(4000 / 2) = 8.9 > 6.1 + 2.8.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.statistical.settings import FALSE_ALARM, Z, chi_square_limit

from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.hashing import buckets, premixed
from treetop.oracles.olh.counting import HashCounting
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import ORACLES
from treetop.privacy.epsilon import Epsilon

HOLDERS = np.array([200, 100, 60, 40, 0])
RUNS = 4000
EVERY = pytest.mark.parametrize("name", ORACLES)


def oracle_of(name: str, epsilon: float = 1.0) -> FrequencyOracle[Any]:
    return ORACLES[name].over(Epsilon(epsilon), len(HOLDERS))


def sampled(oracle: FrequencyOracle[Any], runs: int, seed: int) -> np.ndarray[Any, Any]:
    randomness = np.random.default_rng(seed)
    return np.array([oracle.sample_tally(HOLDERS, randomness).support for _ in range(runs)])


def perturbed(oracle: FrequencyOracle[Any], runs: int, seed: int) -> np.ndarray[Any, Any]:
    words = GeneratorWords(np.random.default_rng(seed))
    slots = np.repeat(np.arange(len(HOLDERS)), HOLDERS)
    values = slots if oracle.listed else slots.astype(np.uint64) + np.uint64(1000)
    keys = np.arange(len(HOLDERS) - 1, dtype=np.uint64) + np.uint64(1000)
    return np.array([oracle.tally(oracle.perturb(values, words), keys).support for _ in range(runs)])


def inherited(oracle: FrequencyOracle[Any], runs: int, seed: int) -> np.ndarray[Any, Any]:
    """Tallies of an oracle whose author knows no closed law: reports are drawn and counted."""
    randomness = np.random.default_rng(seed)
    return np.array([FrequencyOracle.sample_tally(oracle, HOLDERS, randomness).support for _ in range(runs)])


@EVERY
@pytest.mark.parametrize("draw", [perturbed, inherited])
def test_sampled_and_drawn_tallies_have_the_same_law(name: str, draw: Any) -> None:
    """Two-sample chi-square over the deciles of every slot, and over the pairwise products (covariances)."""
    oracle = oracle_of(name)
    one, two = sampled(oracle, RUNS, 1), draw(oracle, RUNS, 2)
    for slot in range(one.shape[1]):
        edges = np.unique(np.quantile(np.concatenate([one[:, slot], two[:, slot]]), np.arange(0.1, 1, 0.1)))
        tables = np.array([np.bincount(np.searchsorted(edges, part[:, slot]), minlength=10) for part in (one, two)])
        seen = tables[:, tables.sum(axis=0) > 0]
        expected = seen.sum(axis=0) / 2
        assert ((seen - expected) ** 2 / expected).sum() < chi_square_limit(seen.shape[1] - 1), slot
    for left in range(one.shape[1]):
        for right in range(left):
            products = [(part - part.mean(0))[:, left] * (part - part.mean(0))[:, right] for part in (one, two)]
            gap = products[0].mean() - products[1].mean()
            error = np.sqrt((products[0].var() + products[1].var()) / RUNS)
            assert abs(gap) < Z * error, (left, right)


@EVERY
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("draw", [sampled, perturbed, inherited])
def test_estimates_are_unbiased(name: str, epsilon: float, draw: Any) -> None:
    oracle = oracle_of(name, epsilon)
    support = draw(oracle, RUNS, 3)
    n = HOLDERS.sum()
    estimates = (support / n - oracle.q) / (oracle.p - oracle.q)
    errors = estimates.std(axis=0, ddof=1) / np.sqrt(RUNS)
    assert np.all(np.abs(estimates.mean(axis=0) - HOLDERS[: support.shape[1]] / n) < Z * errors)


def variance_ratio(oracle: FrequencyOracle[Any], f: float, seed: int, runs: int = 2000) -> float:
    """Return (R - 1) s^2 / sigma^2 / (R - 1): the sample variance in units of the full formula."""
    randomness = np.random.default_rng(seed)
    n = 1000
    holders = np.array([round(f * n), 0, 0, 0, n - round(f * n)])
    support = np.array([oracle.sample_tally(holders, randomness).support[0] for _ in range(runs)])
    estimates = (support / n - oracle.q) / (oracle.p - oracle.q)
    return float(estimates.var(ddof=1) / oracle.variance(f, n))


@EVERY
@pytest.mark.parametrize("f", [0.0, 0.1, 0.5])
def test_variances_match_the_full_formula(name: str, f: float) -> None:
    """R = 2,000 runs; chi-square at 1e-9 is within 21 % of 1 here, so a variance off by 30 % is caught."""
    runs = 2000
    upper = chi_square_limit(runs - 1) / (runs - 1)
    assert 2 - upper < variance_ratio(oracle_of(name, 4.0), f, 4, runs) < upper


@pytest.mark.parametrize("name", ["krr", "oue"])
def test_the_papers_limit_formula_would_be_rejected(name: str) -> None:
    """At f = 0.1 and epsilon 4 the printed f -> 0 variance is less than half of the truth."""
    oracle, f, n = ORACLES[name].over(Epsilon(4.0), 41), 0.1, 1000
    printed = oracle.variance(0.0, n)
    randomness = np.random.default_rng(5)
    holders = np.append([100], np.full(40, 900 // 40 + 1))
    holders[-1] -= holders.sum() - n
    support = np.array([oracle.sample_tally(holders, randomness).support[0] for _ in range(2000)])
    estimates = (support / n - oracle.q) / (oracle.p - oracle.q)
    upper = chi_square_limit(1999) / 1999
    assert estimates.var(ddof=1) / printed > upper
    assert 2 - upper < estimates.var(ddof=1) / oracle.variance(f, n) < upper


def support_rate(hashing: Any, pairs: int) -> tuple[float, float]:
    """Return the rate at which other keys fall into a report's bucket, and how many standard errors it is off."""
    count = 9
    seeds = np.random.default_rng(6).integers(2**32, size=pairs // 100, dtype=np.uint32)
    keys = np.arange(101, dtype=np.uint64)
    low, high = premixed(keys)
    held = hashing(seeds, low[0], high[0], count)
    hits = sum(int(np.count_nonzero(hashing(seeds, low[i], high[i], count) == held)) for i in range(1, 101))
    rate = hits / pairs
    return rate, abs(rate - 1 / count) / np.sqrt(1 / count * (1 - 1 / count) / pairs)


def test_other_values_support_a_report_at_one_in_d_prime() -> None:
    """10^7 pairs: a rate off by 0.6 % is caught (6.1 standard errors of 1e-4)."""
    _, off = support_rate(buckets, 10**7)
    assert off < Z


def one_multiply(seeds: Any, low: Any, high: Any, count: int) -> Any:
    """Fast and wrong: keys that are close to each other move together."""
    mixed = (seeds ^ low) * np.uint32(0x9E3779B1)
    return ((mixed.astype(np.uint64) * np.uint64(count)) >> np.uint64(32)).astype(np.uint32)


def worst_collision(hashing: Any, words: Any, seeds: int, count: int = 9) -> float:
    """Return by how many standard errors the pair of keys that is furthest off falls into one bucket."""
    drawn = np.random.default_rng(8).integers(2**32, size=seeds, dtype=np.uint32)
    rows = np.array([hashing(drawn, *word, count) for word in zip(*words, strict=True)])
    pairs = [(one, two) for one in range(len(rows)) for two in range(one)]
    rates = np.array([np.mean(rows[one] == rows[two]) for one, two in pairs])
    return float(np.abs(rates - 1 / count).max() / np.sqrt(1 / count * (1 - 1 / count) / seeds))


SEQUENTIAL = np.arange(40, dtype=np.uint64)
PAIRS_Z = float(norm.isf(FALSE_ALARM / 2 / (40 * 39 / 2)))


def test_every_pair_of_keys_collides_at_one_in_d_prime() -> None:
    """780 pairs of neighbouring keys, 50,000 seeds each: a pair off by 10 % of 1/d' is caught."""
    assert worst_collision(buckets, premixed(SEQUENTIAL), 50_000) < PAIRS_Z


def test_a_one_multiply_hash_would_be_rejected() -> None:
    """It fails on the keys themselves; the premixing is what a two-multiply mixer would rest on."""
    plain = SEQUENTIAL.astype(np.uint32), SEQUENTIAL.astype(np.uint32)
    assert worst_collision(one_multiply, plain, 50_000) > 10 * PAIRS_Z


def test_the_compiled_loop_supports_other_values_at_one_in_d_prime() -> None:
    """2 x 10^9 pairs: a rate off by 0.04 % is caught."""
    randomness, count = np.random.default_rng(9), 9
    seeds = randomness.integers(2**32, size=400_000, dtype=np.uint32)
    held = buckets(seeds, *premixed(np.array([2**40], dtype=np.uint64)), count)
    support = HashCounting.support((seeds, held), count, np.arange(5000, dtype=np.uint64))
    pairs = support.size * len(seeds)
    assert abs(support.sum() / pairs - 1 / count) < Z * np.sqrt(1 / count * (1 - 1 / count) / pairs)
    spread = ((support - len(seeds) / count) ** 2).sum() / (len(seeds) / count * (1 - 1 / count))
    assert spread < chi_square_limit(len(support))
