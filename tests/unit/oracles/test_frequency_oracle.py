"""The laws of honest reports, against scipy."""

import numpy as np
import pytest
from scipy.stats import binom

from treetop.oracles.frequency_oracle import binomial, max_of, own_and_others


@pytest.mark.parametrize(("p", "others", "q"), [(0.5, 0, 0.1), (0.5, 40, 0.018), (0.9, 3, 0.25), (0.5, 5000, 0.3)])
def test_the_law_is_one_own_and_many_others(p: float, others: int, q: float) -> None:
    counts = np.arange(others + 2)
    expected = (1 - p) * binom.pmf(counts, others, q) + p * binom.pmf(counts - 1, others, q)
    np.testing.assert_allclose(own_and_others(p, others, q), expected, rtol=1e-9, atol=1e-300)
    assert own_and_others(p, others, q).sum() == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("tail", [0.3, 1e-4, 1e-12])
def test_the_limit_is_the_smallest_whose_excess_is_rare(tail: float) -> None:
    most = max_of(binomial(60, 0.2), tail)
    assert binom.sf(most, 60, 0.2) <= tail < binom.sf(most - 1, 60, 0.2)
