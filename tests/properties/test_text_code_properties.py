"""Any text goes into its code and comes back, and noiseless chunks are always read."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from treetop.encoding.text_code import chunks_of, code_after, code_bits, huffman_code, text_of
from treetop.trie.text_recovery import WeighedCodes, recovered_text

ENOUGH = 96
"""Chunks that hold the code of any 32 bytes."""


@given(st.binary(max_size=32))
def test_any_bytes_round_trip(text: bytes) -> None:
    assert text_of(chunks_of(text, ENOUGH)) == text


@given(st.text(max_size=8))
def test_any_text_round_trips(text: str) -> None:
    assert text_of(chunks_of(text.encode("utf-8", errors="surrogatepass"), ENOUGH)) == text.encode(
        "utf-8", errors="surrogatepass"
    )


@given(st.integers(0, 256))
@settings(max_examples=40)
def test_no_word_begins_another_and_no_bit_is_wasted(before: int) -> None:
    words = sorted(format(word, f"0{bits}b") for word, bits in code_after(before).words)
    assert not any(second.startswith(first) for first, second in itertools.pairwise(words))
    longest = max(map(len, words))
    assert sum(2 ** (longest - len(word)) for word in words) == 2**longest


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
def test_a_huffman_code_is_within_one_bit_of_the_entropy(weights: list[int]) -> None:
    shares = np.array(weights) / sum(weights)
    lengths = np.array([bits for _, bits in huffman_code(weights).words])
    entropy = float(-(shares * np.log2(shares)).sum())
    assert entropy - 1e-9 <= float((shares * lengths).sum()) < entropy + 1


@settings(deadline=None)
@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzé -/.", min_size=0, max_size=14).map(str.encode))
def test_without_noise_the_first_text_tried_is_the_right_one(text: bytes) -> None:
    if code_bits(text)[1] <= 12 * 8:
        gains = np.zeros((12, 256))
        gains[np.arange(12), list(chunks_of(text))] = 50.0
        assert WeighedCodes.of(gains).likeliest(100)[0] == text
        assert recovered_text(gains, lambda tried: tried == text, 24) == text
