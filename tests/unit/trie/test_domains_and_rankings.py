import numpy as np
import pytest
from tests.support.refusals import refused

from treetop.encoding.bit_strings import code_array
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.global_ranking import summed
from treetop.trie.support import CandidateDomain, Estimates, Support


def counted(prefixes: list[int], counts: list[float], variances: list[float]) -> Estimates:
    return Estimates(code_array(prefixes, 48), np.array(counts), np.array(variances))


def test_construct_appends_every_ending_to_sorted_prefixes() -> None:
    domain = CandidateDomain.extending(code_array([3, 0], 48), 2, 4)
    assert domain.prefixes.tolist() == [0, 1, 2, 3, 12, 13, 14, 15]
    assert (domain.length, len(domain)) == (4, 8)


@pytest.mark.parametrize("prefixes", [[1, 1], [2, 1]])
def test_a_domain_is_sorted_and_distinct_or_no_object(prefixes: list[int]) -> None:
    with refused("domain_unsorted", InvalidInput):
        CandidateDomain(4, code_array(prefixes, 48))


def test_a_domain_beyond_the_limit_is_refused_with_the_way_out() -> None:
    with refused("step_too_large", InvalidInput, step=24, prefixes=1, candidates=16777216, max_candidates=4194304):
        CandidateDomain.extending(code_array([0], 48), 0, 24)


def test_the_dummy_is_estimated_but_not_ranked() -> None:
    domain = CandidateDomain(2, code_array([0, 1, 3], 48))
    oracle = oracle_named("krr", Epsilon(1), 3)
    ranked = Support.of(domain, oracle, Tally(np.array([10, 40, 10, 40]), 100), users=500).ranked()
    assert ranked.candidates.tolist() == [1, 0, 3]  # equal estimates by the smaller prefix
    assert len(ranked) == 3
    assert ranked.top(2).candidates.tolist() == [1, 0]
    assert ranked.positive().candidates.tolist() == [1]
    assert ranked.sigma == pytest.approx(float(np.sqrt(oracle.variance(0.0, 100))))


def test_counts_are_scaled_to_the_party_and_their_variance_includes_the_drawing() -> None:
    oracle = oracle_named("krr", Epsilon(2), 3)
    upload = Support(4, code_array([1, 2], 48), np.array([45, 5]), 100, oracle, 1000)
    f = (0.45 - oracle.q) / (oracle.p - oracle.q)
    assert upload.counts.tolist() == pytest.approx([1000 * f, 1000 * (0.05 - oracle.q) / (oracle.p - oracle.q)])
    assert upload.counts[1] < 0
    drawing = f * (1 - f) / 100 * (1 - 100 / 1000)
    variances = upload.estimates.variances
    assert variances[0] == pytest.approx(1000**2 * (oracle.variance(f, 100) + drawing))
    assert variances[1] == pytest.approx(1000**2 * oracle.variance(0.0, 100))
    assert (upload.bits, len(upload), upload.oracle.size) == (2 * (4 + 32), 2, 4)


def test_a_party_without_reports_knows_nothing() -> None:
    oracle = oracle_named("krr", Epsilon(2), 3)
    upload = Support(4, code_array([1], 48), np.array([0]), 0, oracle, 5)
    assert upload.counts.tolist() == [0]
    assert upload.estimates.variances.tolist() == [np.inf]


def test_the_server_adds_up_and_takes_the_largest() -> None:
    ranking = summed([counted([7, 1], [5, 2], [4, 1]), counted([1, 3], [3, 5], [2, 9])])
    assert ranking.prefixes.tolist() == [1, 3, 7]
    assert ranking.counts.tolist() == [5, 5, 5]
    assert ranking.variances.tolist() == [3, 9, 4]
    assert ranking.parties.tolist() == [2, 1, 1]
    assert ranking.top(2).prefixes.tolist() == [1, 3]  # equal counts by the smaller prefix
    assert len(summed([counted([], [], [])]).top(3)) == 0


def test_counts_by_prefix_leave_out_what_no_report_spoke_of() -> None:
    assert counted([1, 2, 3], [5.0, -1.0, 0.0], [4.0, 9.0, np.inf]).by_prefix == {1: (5.0, 2.0), 2: (-1.0, 3.0)}
