from itertools import combinations

import numpy as np
import pytest

from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.lower_confidence import (
    ScoredCandidates,
    ScoreRule,
    best_indices,
    contenders,
    cover_cut,
    entry_count,
    lower_confidence,
    scored,
    summed_bound,
    uncovered_share,
)


def naive(counts: Frequencies, variances: Frequencies, zeta: float) -> tuple[float, list[float]]:
    """Try every non-empty set of parties; return the best bound and the counts of all sets that reach it."""
    sets = [list(s) for size in range(1, len(counts) + 1) for s in combinations(range(len(counts)), size)]
    bounds = [float(counts[s].sum() - zeta * np.sqrt(variances[s].sum())) for s in sets]
    best = max(bounds)
    return best, [float(counts[s].sum()) for s, bound in zip(sets, bounds, strict=True) if bound > best - 1e-9]


@pytest.mark.parametrize("parties", range(1, 11))
@pytest.mark.parametrize("zeta", [0.0, 1.0, 2.66, 5.0])
def test_the_score_is_the_best_of_all_sets_of_parties(parties: int, zeta: float) -> None:
    randomness = np.random.default_rng(parties)
    variances = randomness.choice(np.array([1.0, 4.0, 50.0, 0.01]), parties)
    noise = randomness.normal(size=(40, parties)) * np.sqrt(variances)
    signal = randomness.exponential(3, (40, parties)) * (randomness.random((40, parties)) < 0.3) * np.sqrt(variances)
    counts = np.vstack([noise, np.clip(noise, 0, None), noise + signal, np.zeros((1, parties)), np.rint(noise)])
    found = lower_confidence(counts, variances, zeta)
    for row, score, count in zip(counts, found.scores, found.counts, strict=True):
        best, sums = naive(row, variances, zeta)
        assert score == pytest.approx(best, abs=1e-9)
        assert min(abs(count - total) for total in sums) < 1e-9


def test_a_best_set_need_not_be_a_prefix_when_every_bound_is_negative() -> None:
    found = lower_confidence(np.array([[0.0, 0.0]]), np.array([100.0, 1.0]), 2.0)
    assert found.scores.tolist() == [-2.0]


def test_noise_of_other_parties_is_left_out() -> None:
    counts, variances = np.array([[10.0, 0.0, 0.0]]), np.array([1.0, 100.0, 100.0])
    assert lower_confidence(counts, variances, 2.0).scores.tolist() == [8.0]
    assert summed_bound(counts, variances, 2.0).scores[0] == pytest.approx(10 - 2 * np.sqrt(201))


def test_scores_by_name() -> None:
    counts, variances = np.array([[3.0, -1.0]]), np.array([1.0, 1.0])
    assert scored(counts, variances, 1.0, "sum").counts.tolist() == [2.0]
    assert scored(counts, variances, 1.0, "lower_confidence").counts.tolist() == [3.0]


def test_equal_scores_go_by_the_smaller_place() -> None:
    assert ScoredCandidates(np.array([1.0, 2.0, 2.0, 0.0]), np.zeros(4)).best(3).tolist() == [1, 2, 0]


def test_the_cover_cut_stops_where_nothing_detectable_is_left() -> None:
    counts = np.array([50.0, 30.0, 15.0, 5.0])
    assert cover_cut(counts, 80.0) == 2
    assert cover_cut(counts, 80.5) == 3
    assert cover_cut(counts, 101.0) == 4
    assert cover_cut(counts, -5.0) == 1


def test_uncovered_is_what_the_kept_prefixes_do_not_surely_hold() -> None:
    assert uncovered_share(np.array([60.0, 30.0, 5.0]), 10.0, 100) == pytest.approx(0.3)


@pytest.mark.parametrize("score", ["lower_confidence", "sum"])
def test_scoring_only_the_contenders_finds_the_same_best(score: ScoreRule) -> None:
    randomness = np.random.default_rng(9)
    for _ in range(200):
        parties, number = int(randomness.integers(1, 7)), int(randomness.integers(1, 12))
        variances = randomness.uniform(0.5, 4, parties)
        counts = np.maximum(randomness.normal(0, 2, (int(randomness.integers(1, 60)), parties)).round(), 0)
        everything = scored(counts, variances, 2.66, score).best(number)
        assert best_indices(counts, variances, 2.66, score, number).tolist() == everything.tolist()


def test_few_contenders_are_left_of_many() -> None:
    counts = np.random.default_rng(10).normal(0, 1, (10_000, 4))
    counts[:5] += 50
    assert len(contenders(counts, np.ones(4), 2.66, 5)) < 20


def test_an_item_of_one_party_that_just_enters_has_the_score() -> None:
    """Users who join a party bring noise of their own; of all parties the one where the fewest do is named."""
    variances, more = np.array([400.0, 100.0, 900.0]), np.array([0.5, 3.0, 0.1])
    for score in (0.0, 12.0, 700.0):
        needed = []
        for party in range(3):
            alone = [entry_count(score, 2.66, variances[[party]], more[[party]], "lower_confidence")]
            counts, grown = np.zeros((1, 3)), variances.copy()
            counts[0, party] = alone[0]
            grown[party] += more[party] * alone[0]
            assert lower_confidence(counts, grown, 2.66).scores[0] == pytest.approx(score, abs=1e-9)
            needed += alone
        assert entry_count(score, 2.66, variances, more, "lower_confidence") == pytest.approx(min(needed))
    assert entry_count(-50.0, 2.66, variances, more, "lower_confidence") > 0


def test_plain_sums_have_the_noise_of_all_parties() -> None:
    """There the last item's own count is what it takes, at whichever party."""
    variances, counts = np.array([400.0, 100.0]), np.array([[300.0, 200.0]])
    score = float(scored(counts, variances, 2.66, "sum").scores[0])
    assert entry_count(score, 2.66, variances, np.ones(2), "sum") == pytest.approx(500.0)
