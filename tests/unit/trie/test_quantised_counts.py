import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetop.errors import PeerViolation
from treetop.mechanisms.dialogue import Findings
from treetop.mechanisms.panorama.discovery import ConspicuousCodes
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.quantised_counts import (
    COUNT_BITS,
    LARGEST_VALUE,
    UNARY_BITS,
    QuantisedCounts,
    packed,
    plain,
    read_plain,
    read_unary,
    unary,
    unpacked,
)
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


BITS = 10
NAMES = st.lists(st.tuples(st.integers(0, (1 << BITS) - 1), st.integers(0, 90)), unique_by=lambda pair: pair[0])


def counts(values: list[int], signed: bool) -> QuantisedCounts:
    return QuantisedCounts(np.array(values, dtype=np.int64), 2.5, signed)


def test_a_number_is_so_many_ones_and_a_zero() -> None:
    assert unary(np.array([2, 0, 1])).tolist() == [1, 1, 0, 0, 1, 0]
    assert unary(np.array([2, 3, 3, 0]), greatest=3).tolist() == [1, 1, 0, 1, 1, 1, 1, 1, 1, 0]
    assert plain(np.array([5, 1]), 3).tolist() == [1, 0, 1, 0, 0, 1]
    assert packed(unary(np.array([2, 0, 1]))) == b"\xc8"


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 1), max_size=20))
def test_numbers_are_read_back_whatever_stands_behind_them(numbers: list[int], behind: list[int]) -> None:
    rest = np.array(behind, dtype=np.uint8)
    for greatest in (5, 9):
        bits = np.append(unary(np.array(numbers, dtype=np.int64), greatest), rest)
        read, left = read_unary(bits, len(numbers), greatest)
        assert read.tolist() == numbers
        assert left.tolist() == behind


def test_too_few_bits_give_too_few_numbers() -> None:
    assert len(read_unary(np.array([1, 0], dtype=np.uint8), 5)[0]) < 5
    assert read_plain(np.array([1, 0, 1], dtype=np.uint8), 2, 2)[0].tolist() == [2]
    assert read_plain(np.array([1, 0], dtype=np.uint8), 2, 0)[0].tolist() == [0, 0]


@given(st.lists(st.integers(-60, 60) | st.just(LARGEST_VALUE)), st.booleans())
def test_counts_take_the_bits_they_say_and_are_read_back(values: list[int], signed: bool) -> None:
    sent = counts(values if signed else [abs(value) for value in values], signed)
    data = sent.to_bytes()
    assert len(data) == -(-(sent.bits - COUNT_BITS) // 8)
    read = QuantisedCounts.from_bytes(data, len(values), 2.5, signed)
    assert read.values.tolist() == sent.values.tolist()
    assert (read.deviation, read.signed) == (2.5, signed)


@given(NAMES)
def test_names_take_the_bits_they_say_and_are_read_back(pairs: list[tuple[int, int]]) -> None:
    names = np.array(sorted(name for name, _ in pairs), dtype=np.uint64)
    sent = ConspicuousCodes(names, np.array([steps for _, steps in pairs], dtype=np.int64), 1 << BITS)
    data = sent.to_bytes()
    assert len(data) == -(-(sent.bits - COUNT_BITS) // 8)
    read = ConspicuousCodes.from_bytes(data, len(pairs), BITS)
    assert (read.codes.tolist(), read.steps.tolist()) == (sent.codes.tolist(), sent.steps.tolist())


@given(st.binary(max_size=12), st.integers(0, 12), st.booleans())
def test_any_bytes_are_read_as_what_would_be_written_so_or_refused(data: bytes, number: int, signed: bool) -> None:
    try:
        found = QuantisedCounts.from_bytes(data, number, 1.0, signed)
        assert found.to_bytes() == data
        assert len(found.values) == number
    except PeerViolation:
        pass
    try:
        names = ConspicuousCodes.from_bytes(data, number, BITS)
        assert names.to_bytes() == data
        assert len(names.codes) == number
        assert names.codes.max(initial=0) < 1 << BITS
    except PeerViolation:
        pass


@pytest.mark.parametrize(("data", "number"), [
    (b"", 1), (b"\xff", 1), (b"\x80", 2 ** 10), (packed(unary(np.array([1, 2]))), 1),
    (packed(unary(np.array([1, 2]))) + b"\0", 2), (packed(np.ones(21, dtype=np.uint8)), 1),
])  # fmt: skip
def test_counts_that_are_not_as_they_are_written_are_refused(data: bytes, number: int) -> None:
    with pytest.raises(PeerViolation, match="packed counts"):
        QuantisedCounts.from_bytes(data, number, 1.0)


@pytest.mark.parametrize(("data", "number"), [(b"", 1), (b"\0", 0), (b"\xff" * 300, 2), (b"\xff\xff\xf0\0", 1)])
def test_names_that_are_not_as_they_are_written_are_refused(data: bytes, number: int) -> None:
    with pytest.raises(PeerViolation, match="packed names"):
        ConspicuousCodes.from_bytes(data, number, BITS)


def test_bits_of_bytes_stand_in_their_order() -> None:
    assert unpacked(b"\x81").tolist() == [1, 0, 0, 0, 0, 0, 0, 1]
