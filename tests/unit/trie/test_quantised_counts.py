import numpy as np
import pytest

from treetop.mechanisms.dialogue import Findings
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.quantised_counts import UNARY_BITS, QuantisedCounts
from treetop.trie.support import Support

COUNTS = np.array([-7.0, 0.0, 2.4, 2.6, 50.0, 52.6, 1e6])


def test_negative_counts_are_not_sent() -> None:
    sent = QuantisedCounts.of(COUNTS, 5.0)
    assert sent.values.tolist() == [0, 0, 1, 1, 20, 21, 400_000]
    assert sent.counts.tolist() == [0, 0, 2.5, 2.5, 50, 52.5, 1e6]
    assert sent.bits == 1 + 1 + 2 + 2 + 21 + (21 + 32) + (21 + 32) + 32
    assert sent.variance == pytest.approx(25 * 49 / 48)


def test_plain_sums_send_signs() -> None:
    sent = QuantisedCounts.of(COUNTS, 5.0, signed=True)
    assert sent.values.tolist() == [-3, 0, 1, 1, 20, 21, 400_000]
    assert sent.bits == 4 + 1 + 2 + 2 + 21 + 2 * 53 + 32 + 6


def test_without_reports_one_number_is_sent() -> None:
    sent = QuantisedCounts.of(np.zeros(5), np.inf)
    assert sent.missing
    assert len(sent.counts) == 0
    assert sent.bits == 32


def test_a_value_never_outgrows_32_bits() -> None:
    sent = QuantisedCounts.of(np.array([1e12, -1e12]), 1e-3, signed=True)
    assert sent.values.tolist() == [2**32 - 1, 1 - 2**32]


@pytest.mark.parametrize("signed", [False, True])
def test_the_expected_length_is_that_of_noise(signed: bool) -> None:
    noise = np.random.default_rng(0).normal(size=200_000)
    sent = QuantisedCounts.of(noise, 1.0, signed)
    assert (sent.bits - 32) / len(noise) == pytest.approx(UNARY_BITS[signed], abs=0.05)


def party(reports: int) -> Support:
    """Of 40 reports, noise alone supports every candidate by 10."""
    support = np.array([12, 18, 6, 15]) if reports else np.zeros(4, dtype=np.int64)
    oracle = oracle_named("olh", Epsilon(1), 4)
    return Support(8, np.array([3, 5, 7, 9], dtype=np.uint64), support, reports, oracle, 100)


def frequency(counted: Support, support: int) -> float:
    return (support / counted.reports - counted.oracle.q) / (counted.oracle.p - counted.oracle.q)


def test_a_party_states_the_deviation_of_what_nobody_holds() -> None:
    counted = party(40)
    oracle = counted.oracle
    expected = 100 * np.sqrt(oracle.q * (1 - oracle.q) / 40) / (oracle.p - oracle.q)
    assert counted.deviation == pytest.approx(expected, rel=1e-6)
    assert counted.deviation == np.float32(counted.deviation)
    assert party(0).deviation == np.inf


def test_a_deviation_is_never_finer_than_the_upload() -> None:
    oracle = oracle_named("krr", Epsilon(500), 2)
    counted = Support(8, np.array([1, 2], dtype=np.uint64), np.array([10, 0]), 10, oracle, 1000)
    assert counted.deviation == pytest.approx(1000 / 2**30)
    assert counted.quantised().counts.tolist() == pytest.approx([1000, 0])


def test_the_server_asks_for_signed_counts() -> None:
    asked = party(40).of_prefixes(np.array([7, 3, 5], dtype=np.uint64))
    assert asked.candidates.tolist() == [5, 3, 7]
    assert asked.support.tolist() == [18, 12, 6]
    assert asked.counts.tolist() == pytest.approx([100 * frequency(asked, support) for support in (18, 12, 6)])
    assert asked.counts[-1] < 0
    assert Findings(asked, asked_for=True).bits == 3 * 32
    assert len(party(0).of_prefixes(np.array([7, 3], dtype=np.uint64))) == 0


def test_the_standard_error_is_that_of_the_page() -> None:
    """se^2 = s^2 + n^2 / r f ((1 - p - q) / (p - q) + (1 - r / n)(1 - f)), f clipped."""
    counted = party(40)
    p, q, n, r = counted.oracle.p, counted.oracle.q, 100, 40
    f = np.array([frequency(counted, 18), frequency(counted, 12), 0.0])
    s2 = n**2 * q * (1 - q) / (r * (p - q) ** 2)
    expected = s2 + n**2 / r * f * ((1 - p - q) / (p - q) + (1 - r / n) * (1 - f))
    asked = counted.of_prefixes(np.array([3, 5, 7], dtype=np.uint64))
    np.testing.assert_allclose(asked.estimates.variances, expected)


def test_a_party_knows_its_own_best() -> None:
    assert party(40).positive().ranked().top(2).candidates.tolist() == [5, 9]
    assert party(40).positive().ranked().top(10).candidates.tolist() == [5, 9, 3]
    assert party(0).positive().ranked().top(2).candidates.tolist() == []
