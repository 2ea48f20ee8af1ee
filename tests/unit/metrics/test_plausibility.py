import numpy as np
import pytest
from scipy.stats import binom

from treetop.errors import InvalidInput
from treetop.metrics.plausibility import honest_ones, honest_repeats, implausible_bits, implausible_seeds


def test_a_range_that_can_be_looked_up() -> None:
    assert honest_ones(321, 1 / (np.e + 1)) == (35, 145)


@pytest.mark.parametrize(("slots", "q"), [(2, 0.3), (17, 0.1), (321, 0.27), (4_000, 0.018)])
def test_both_tails_are_below_the_limit_and_no_tighter_range_is(slots: int, q: float) -> None:
    fewest, most = honest_ones(slots, q)

    def at_most(ones: int) -> float:
        return float((binom.cdf(ones, slots - 1, q) + binom.cdf(ones - 1, slots - 1, q)) / 2)

    def above(ones: int) -> float:
        return float((binom.sf(ones, slots - 1, q) + binom.sf(ones - 1, slots - 1, q)) / 2)

    assert at_most(fewest - 1) <= 1e-12 < at_most(fewest)
    assert above(most) <= 1e-12
    assert most == 0 or above(most - 1) > 1e-12


def test_honest_reports_pass_and_bare_ones_do_not() -> None:
    slots, q, chance = 321, 1 / (np.e + 1), np.random.default_rng(1)
    honest = chance.binomial(slots - 1, q, 10_000) + chance.binomial(1, 0.5, 10_000)
    assert implausible_bits(honest, slots, q) == 0
    assert implausible_bits(np.array([5, 34, 35, 145, 146, 321]), slots, q) == 4


def test_honest_seeds_pass_and_searched_ones_that_are_used_again_do_not() -> None:
    seeds = np.random.default_rng(1).integers(1 << 32, size=200_000, dtype=np.uint32)
    assert implausible_seeds(seeds) == 0
    assert implausible_seeds(np.append(seeds, np.repeat(seeds[:3], 50))) == 3 * 51


def test_repeats_grow_with_the_reports() -> None:
    assert honest_repeats(1) == 1
    assert [honest_repeats(n) for n in (1_000, 1_000_000, 100_000_000)] == sorted(
        honest_repeats(n) for n in (1_000, 1_000_000, 100_000_000)
    )
    assert honest_repeats(1_000_000) == 5


@pytest.mark.parametrize(("slots", "q"), [(1, 0.5), (5, 0.0), (5, 1.0)])
def test_impossible_reports_are_refused(slots: int, q: float) -> None:
    with pytest.raises(InvalidInput, match="expected two slots"):
        honest_ones(slots, q)
