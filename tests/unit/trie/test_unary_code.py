"""Numbers in unary and as they are: written, read back, and never more bits than `bits` says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetop.errors import PeerViolation
from treetop.mechanisms.panorama.discovery import ConspicuousCodes
from treetop.trie.quantised_counts import COUNT_BITS, LARGEST_VALUE, QuantisedCounts
from treetop.trie.unary_code import packed, plain, read_plain, read_unary, unary, unpacked

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
