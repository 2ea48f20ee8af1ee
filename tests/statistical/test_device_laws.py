"""Device, vectorised and simulated samplers follow one law: that of the shipped thresholds."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical.settings import chi_square_limit
from tests.support.fixed_entropy import FixedEntropy

from treetop.adapters.system.vectorised_device import perturbed
from treetop.oracles.hashing import buckets, premixed
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.olh.device import bucket_count
from treetop.oracles.oue.device import flip_threshold
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import find_oracle
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import WORDS

DRAWS, MANY_DRAWS = 1_000_000, 10_000_000
D, VALUE, EPSILON = 9, 3, "2"
BUDGET = Budget(EPSILON)
ODDS = BUDGET.odds_below
KRR, OUE, OLH = (find_oracle(name) for name in ("krr", "oue", "olh"))
Counts = NDArray[np.int64]


def krr_law() -> NDArray[np.float64]:
    keep = keep_threshold(ODDS, D) / WORDS
    law = np.full(D, (1 - keep) / (D - 1))
    law[VALUE] = keep
    return law


def of_devices(draws: int) -> Counts:
    entropy, face = FixedEntropy(11), KRR.device(BUDGET, D)
    return np.bincount([face.draw(entropy).report(VALUE) for _ in range(draws)], minlength=D)


def of_vectors(draws: int) -> Counts:
    return np.bincount(perturbed(KRR, VALUE, D, BUDGET, draws, entropy=FixedEntropy(12)), minlength=D)


def of_simulated_devices(draws: int) -> Counts:
    (slots,) = KRR.over(Epsilon(EPSILON), D).perturb(np.full(draws, VALUE), GeneratorWords(np.random.default_rng(13)))
    return np.bincount(slots, minlength=D)


def of_the_exact_sampler(draws: int) -> Counts:
    oracle = KRR.over(Epsilon(EPSILON), D)
    holders = np.zeros(D, dtype=np.int64)
    holders[VALUE] = draws
    return oracle.sample_tally(holders, np.random.default_rng(14)).support


def chi_square(counts: Counts, law: NDArray[np.float64]) -> float:
    expected = law * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


SAMPLERS = [of_devices, of_vectors, of_simulated_devices, of_the_exact_sampler]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_krr_samplers_follow_the_shipped_thresholds(sampler: Callable[[int], Counts]) -> None:
    assert chi_square(sampler(DRAWS), krr_law()) < chi_square_limit(D - 1)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_krr_samplers_follow_the_shipped_thresholds_in_many_draws(sampler: Callable[[int], Counts]) -> None:
    assert chi_square(sampler(MANY_DRAWS), krr_law()) < chi_square_limit(D - 1)


def test_the_test_sees_a_dummy_that_is_not_counted() -> None:
    """Power: keep computed for d - 1 slots, at a million draws."""
    mistaken = keep_threshold(ODDS, D - 1) / WORDS
    law = np.full(D, (1 - mistaken) / (D - 1))
    law[VALUE] = mistaken
    wrong = np.random.default_rng(15).multinomial(DRAWS, law)
    assert chi_square(wrong, krr_law()) > chi_square_limit(D - 1)


def test_the_test_sees_a_shift_of_half_a_percent() -> None:
    law = krr_law()
    law[VALUE] += 0.005
    law[0] -= 0.005
    assert chi_square(np.random.default_rng(16).multinomial(DRAWS, law), krr_law()) > chi_square_limit(D - 1)


def set_law() -> NDArray[np.float64]:
    law = np.full(D, flip_threshold(ODDS) / WORDS)
    law[VALUE] = 0.5
    return law


def bits_of_devices(draws: int) -> Counts:
    entropy, face, total = FixedEntropy(21), OUE.device(BUDGET, D), np.zeros(D, dtype=np.int64)
    for _ in range(draws):
        total += face.draw(entropy).report(VALUE)
    return total


def bits_of_vectors(draws: int) -> Counts:
    entropy = FixedEntropy(22)
    parts = [perturbed(OUE, VALUE, D, BUDGET, draws // 10, entropy=entropy).sum(axis=0) for _ in range(10)]
    total: Counts = np.array(parts, dtype=np.int64).sum(axis=0)
    return total


def bits_of_simulated_devices(draws: int) -> Counts:
    oracle, words = OUE.over(Epsilon(EPSILON), D), GeneratorWords(np.random.default_rng(24))
    parts = [oracle.as_reports(oracle.perturb(np.full(draws // 10, VALUE), words)).sum(axis=0) for _ in range(10)]
    total: Counts = np.array(parts, dtype=np.int64).sum(axis=0)
    return total


def bits_of_the_exact_sampler(draws: int) -> Counts:
    holders = np.zeros(D, dtype=np.int64)
    holders[VALUE] = draws
    return OUE.over(Epsilon(EPSILON), D).sample_tally(holders, np.random.default_rng(25)).support


def off_from_set_law(counts: Counts, reports: int) -> float:
    p = set_law()
    return float(((counts - reports * p) ** 2 / (reports * p * (1 - p))).sum())


BITS = [bits_of_devices, bits_of_vectors, bits_of_simulated_devices, bits_of_the_exact_sampler]


@pytest.mark.parametrize("sampler", BITS)
def test_oue_samplers_follow_the_shipped_thresholds(sampler: Callable[[int], Counts]) -> None:
    """Device by device 10^6 positions, the others 10^6 reports."""
    draws = DRAWS // D if sampler is bits_of_devices else DRAWS
    assert off_from_set_law(sampler(draws), draws) < chi_square_limit(D)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", BITS)
def test_oue_samplers_follow_the_shipped_thresholds_in_many_draws(sampler: Callable[[int], Counts]) -> None:
    draws = MANY_DRAWS // D if sampler is bits_of_devices else MANY_DRAWS
    assert off_from_set_law(sampler(draws), draws) < chi_square_limit(D)


def test_oue_bits_are_independent() -> None:
    bits = perturbed(OUE, VALUE, D, BUDGET, DRAWS, entropy=FixedEntropy(23)).astype(np.float64)
    correlations = np.corrcoef(bits.T)[np.triu_indices(D, 1)]
    assert float(DRAWS * (correlations**2).sum()) < chi_square_limit(D * (D - 1) // 2)


def bucket_law() -> NDArray[np.float64]:
    """How likely the reported bucket is the true one, and each of the others by its distance from it."""
    count = bucket_count(ODDS)
    keep = keep_threshold(ODDS, count) / WORDS
    return np.array([keep, *[(1 - keep) / (count - 1)] * (count - 1)])


def distances(seeds: NDArray[np.uint32], reported: NDArray[np.uint32]) -> Counts:
    count = bucket_count(ODDS)
    low, high = premixed(np.array([VALUE], dtype=np.uint64))
    truths = buckets(seeds, low, high, count)
    return np.bincount((reported.astype(np.int64) - truths) % count, minlength=count)


def hashed_by_devices(draws: int) -> Counts:
    entropy, face = FixedEntropy(31), OLH.device(BUDGET)
    reports = np.array([face.draw(entropy).report(VALUE) for _ in range(draws)], dtype=np.uint32)
    return distances(reports[:, 0], reports[:, 1])


def hashed_in_vectors(draws: int) -> Counts:
    return distances(*perturbed(OLH, VALUE, D, BUDGET, draws, entropy=FixedEntropy(32)))


def hashed_by_simulated_devices(draws: int) -> Counts:
    values, words = np.full(draws, VALUE, dtype=np.uint64), GeneratorWords(np.random.default_rng(35))
    seeds, reported = OLH.over(Epsilon(EPSILON), D).perturb(values, words)
    return distances(seeds, reported)


HASHING = [hashed_by_devices, hashed_in_vectors, hashed_by_simulated_devices]


@pytest.mark.parametrize("sampler", HASHING)
def test_olh_samplers_follow_the_shipped_thresholds(sampler: Callable[[int], Counts]) -> None:
    assert chi_square(sampler(DRAWS), bucket_law()) < chi_square_limit(bucket_count(ODDS) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", HASHING)
def test_olh_samplers_follow_the_shipped_thresholds_in_many_draws(sampler: Callable[[int], Counts]) -> None:
    assert chi_square(sampler(MANY_DRAWS), bucket_law()) < chi_square_limit(bucket_count(ODDS) - 1)


def test_olh_seeds_are_uniform() -> None:
    seeds, _ = perturbed(OLH, VALUE, D, BUDGET, DRAWS, entropy=FixedEntropy(33))
    counts = np.bincount(seeds >> np.uint32(24), minlength=256)
    assert chi_square(counts, np.full(256, 1 / 256)) < chi_square_limit(255)


def test_any_other_value_is_supported_once_in_so_many_buckets() -> None:
    """S6: the hash, not the perturbation, makes estimates unbiased."""
    seeds, reported = perturbed(OLH, VALUE, D, BUDGET, DRAWS, entropy=FixedEntropy(34))
    count = bucket_count(ODDS)
    supported = []
    for other in (0, 7, 1 << 40):
        low, high = premixed(np.array([other], dtype=np.uint64))
        supported.append(int(np.count_nonzero(buckets(seeds, low, high, count) == reported)))
    expected, variance = DRAWS / count, DRAWS / count * (1 - 1 / count)
    assert sum((found - expected) ** 2 / variance for found in supported) < chi_square_limit(3)


def test_levels_are_drawn_by_weight_whatever_the_value() -> None:
    """S7, through whole devices."""
    from tests.support.tasks import GROUPS, new_ledger, task

    from treetop.federation.device.device import Device

    entropy, one = FixedEntropy(41), task()
    table: Counter[tuple[int, int]] = Counter()
    for number in range(8_000):
        ledger, value = new_ledger(), number % 2 * 200
        Device(lambda value=value: value, entropy, ledger).answer_once(one)  # type: ignore[misc]
        entry = ledger.entry(one.digest)
        assert entry is not None
        table[value, entry.group.level] += 1
    weights = np.array([entry.weight for entry in GROUPS]) / sum(entry.weight for entry in GROUPS)
    for value in (0, 200):
        counts = np.array([table[value, entry.group.level] for entry in GROUPS])
        assert chi_square(counts, weights) < chi_square_limit(len(GROUPS) - 1)
