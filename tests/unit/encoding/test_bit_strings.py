import numpy as np
import pytest
from tests.support.refusals import refused

from treetop.encoding.bit_strings import (
    bit_lengths,
    checked_bits,
    code_array,
    extended,
    first_and_last_code,
    hamming_distances,
    keys_of,
    prefixes_of,
    root_prefix,
)
from treetop.errors import InvalidInput

BITS = pytest.mark.parametrize("bits", [8, 48, 64, 65, 256])


@pytest.mark.parametrize("bits", [0, 7, 257])
def test_code_lengths_outside_8_to_256_are_refused(bits: int) -> None:
    with refused("bits_out_of_range", InvalidInput, shortest=8, longest=256):
        checked_bits(bits)


@BITS
def test_prefixes_are_the_first_bits(bits: int) -> None:
    largest = (1 << bits) - 1
    codes = code_array([0, 1, largest], bits)
    assert prefixes_of(codes, bits, 0).tolist() == [0, 0, 0]
    assert prefixes_of(codes, bits, 3).tolist() == [0, 0, 7]
    assert prefixes_of(codes, bits, bits).tolist() == [0, 1, largest]


@BITS
def test_extending_appends_every_ending_in_order(bits: int) -> None:
    assert extended(root_prefix(bits), 2).tolist() == [0, 1, 2, 3]
    assert extended(code_array([1, 3], bits), 1).tolist() == [2, 3, 6, 7]
    assert extended(code_array([5], bits), 0).tolist() == [5]


@BITS
def test_a_prefix_spans_its_first_to_its_last_code(bits: int) -> None:
    first, last = first_and_last_code(root_prefix(bits), bits, 0)
    assert (first.tolist(), last.tolist()) == ([0], [(1 << bits) - 1])
    first, last = first_and_last_code(code_array([0, 3], bits), bits, 2)
    quarter = 1 << (bits - 2)
    assert first.tolist() == [0, 3 * quarter]
    assert last.tolist() == [quarter - 1, 4 * quarter - 1]
    first, last = first_and_last_code(code_array([9], bits), bits, bits)
    assert (first.tolist(), last.tolist()) == ([9], [9])


@BITS
def test_bit_lengths_and_hamming_distances(bits: int) -> None:
    codes = code_array([0, 1, 0b1011, (1 << bits) - 1], bits)
    assert bit_lengths(codes).tolist() == [0, 1, 4, bits]
    assert hamming_distances(codes[2], codes).tolist() == [3, 2, 0, bits - 3]


def test_keys_are_the_prefix_up_to_64_bits_and_a_digest_above() -> None:
    assert keys_of(code_array([7, 2**64 - 1], 64)).tolist() == [7, 2**64 - 1]
    long = code_array([7, 2**64, 2**64 + 1, 2**255], 256)
    keys = keys_of(long)
    assert keys.dtype == np.uint64
    assert keys[0] == 7
    assert len(set(keys.tolist())) == 4
