import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from treetop.trie.significance import (
    NoiseScores,
    best_set_tail,
    chi_square_tail,
    normal_scores,
    significant,
    sum_threshold,
    threshold,
)


@pytest.mark.parametrize("degrees", range(1, 12))
@pytest.mark.parametrize("x", [0.1, 1.0, 5.0, 20.0, 60.0])
def test_the_chi_square_tail_is_scipys(degrees: int, x: float) -> None:
    assert chi_square_tail(degrees, x) == pytest.approx(chi2.sf(x, degrees), rel=1e-10)
    assert chi_square_tail(0, x) == 0


@pytest.mark.parametrize(("parties", "z"), [(1, 4.36), (2, 4.66), (4, 5.06), (6, 5.36)])
def test_thresholds_of_the_page(parties: int, z: float) -> None:
    assert threshold(parties, 7680) == pytest.approx(z, abs=0.006)
    assert best_set_tail(parties, threshold(parties, 7680)) == pytest.approx(0.05 / 7680, rel=1e-6)


def test_above_ten_parties_and_for_plain_sums_the_normal_quantile_does() -> None:
    assert threshold(11, 7680) == threshold(3, 7680, plain_sum=True) == sum_threshold(7680)
    assert sum_threshold(7680) == pytest.approx(norm.isf(0.05 / 7680))


@pytest.mark.parametrize("reports", [1, 3, 40, 2000])
@pytest.mark.parametrize("q", [1 / 56, 1 / 9, 0.4])
def test_normal_scores_never_understate_a_tail(reports: int, q: float) -> None:
    support = np.arange(1, reports + 1, dtype=np.float64)
    w = normal_scores(support, np.array(float(reports)), q)
    assert np.all(binom.logsf(support - 1, reports, q) <= norm.logsf(w) + 1e-9)


def test_normal_scores_are_close_where_reports_are_many() -> None:
    support = np.array([11_000.0, 11_300.0, 11_600.0])
    w = normal_scores(support, np.array(100_000.0), 1 / 9)
    np.testing.assert_allclose(w, norm.isf(binom.sf(support - 1, 100_000, 1 / 9)), atol=0.02)


def test_one_report_never_marks_an_item() -> None:
    """At epsilon 4 a single report lies 7.4 standard deviations out; its normal score does not."""
    w = normal_scores(np.array([[1.0]]), np.array([1.0]), 1 / 56)
    noise = NoiseScores(w, np.array([7.0]), np.array([1 / 56]))
    assert not significant(noise, threshold(1, 100)).any()


def test_clear_items_are_marked_and_noise_is_not() -> None:
    scores = np.array([[9.0, 0.0], [4.0, 4.0], [3.0, 1.0]])
    noise = NoiseScores(scores, np.array([10.0, 10.0]), np.array([100.0, 100.0]))
    assert significant(noise, 5.0).tolist() == [True, True, False]
    assert significant(noise, 5.0, plain_sum=True).tolist() == [True, True, False]


def test_many_parties_are_tested_by_their_sum_without_the_tiny_ones() -> None:
    scores = np.column_stack([np.full((1, 11), 2.0), [[-99.0]]])
    noise = NoiseScores(scores, np.full(12, 10.0), np.array([50.0] * 11 + [0.1]))
    assert significant(noise, 5.0).tolist() == [True]
    tiny = NoiseScores(scores, np.full(12, 10.0), np.full(12, 0.1))
    assert significant(tiny, 5.0).tolist() == [False]
