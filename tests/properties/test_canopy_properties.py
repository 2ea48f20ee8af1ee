import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.lower_confidence import lower_confidence, summed_bound
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.user_groups import joining_share, level_weights

PARTIES = st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)), min_size=1, max_size=12)
PATIENT = settings(deadline=None)


def score(parties: list[tuple[float, float]], zeta: float) -> float:
    counts = np.array([[count for count, _ in parties]])
    variances = np.array([deviation**2 for _, deviation in parties])
    return float(lower_confidence(counts, variances, zeta).scores[0])


@PATIENT
@given(PARTIES, st.floats(0, 6), st.randoms())
def test_the_order_of_parties_does_not_matter(parties: list[tuple[float, float]], zeta: float, chance: object) -> None:
    shuffled = list(parties)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score(shuffled, zeta) == pytest.approx(score(parties, zeta), rel=1e-6, abs=1e-3)


@PATIENT
@given(PARTIES, st.floats(0, 6))
def test_one_more_party_never_lowers_a_score(parties: list[tuple[float, float]], zeta: float) -> None:
    assert score(parties, zeta) >= score(parties[:-1] or parties, zeta) - 1e-3


@PATIENT
@given(PARTIES, st.floats(0, 6))
def test_the_best_set_is_at_least_as_good_as_all_parties(parties: list[tuple[float, float]], zeta: float) -> None:
    counts: Frequencies = np.array([[count for count, _ in parties]])
    variances = np.array([deviation**2 for _, deviation in parties])
    assert score(parties, zeta) >= summed_bound(counts, variances, zeta).scores[0] - 1e-3


@PATIENT
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0.01, 1e4))
def test_a_count_comes_back_within_a_quarter_of_a_deviation(counts: list[float], deviation: float) -> None:
    sent = QuantisedCounts.of(np.array(counts), deviation)
    assert np.all(np.abs(sent.counts - counts) <= deviation / 4 * (1 + 1e-6) + 1e-6)
    assert sent.bits >= len(counts) + 32


@PATIENT
@given(st.integers(1, 64), st.sampled_from(["adaptive", "ramp", "equal"]), st.floats(0, 1))
def test_every_user_ends_up_at_one_level(levels: int, rule: str, uncovered: float) -> None:
    weights = level_weights(levels, rule, uncovered)  # type: ignore[arg-type]
    waiting, joined = 1.0, 0.0
    for level in range(1, levels + 1):
        share = joining_share(weights, level)
        joined, waiting = joined + waiting * share, waiting * (1 - share)
    assert joined == pytest.approx(1)
    assert waiting == 0
