"""The walk over texts: its order, its limits, and its naive twin."""

from itertools import product
from math import log

import numpy as np
import pytest

from treetop.encoding.text_code import chunks_of, text_of
from treetop.trie.text_recovery import likely_texts, log_likelihood_gains, recovered_text


def _noisy(
    text: bytes, signal: float, seed: int, chunks: int = 12
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    counts = np.random.default_rng(seed).standard_normal((chunks, 256))
    counts[np.arange(chunks), list(chunks_of(text, chunks))] += signal
    return log_likelihood_gains(counts, 1.0, np.full(chunks, signal))


def test_two_chunks_are_walked_in_the_order_of_the_naive_twin() -> None:
    gains = np.random.default_rng(7).standard_normal((2, 256)) * 3
    scores = {}
    for pair in product(range(256), repeat=2):
        text = text_of(bytes(pair))
        if text is not None:
            used = 1 if text_of(bytes(pair[:1])) is not None else 2
            assert used == 2 or pair[0] == pair[1]
            scores[text] = gains[0, pair[0]] + gains[1, pair[1]] - used * 8 * log(2)
    expected = sorted(scores, key=lambda text: -scores[text])
    assert likely_texts(gains, 256**2) == expected


@pytest.mark.parametrize("text", [b"from", b"isabella", "café".encode()])
def test_a_signal_of_four_deviations_is_read(text: bytes) -> None:
    assert recovered_text(_noisy(text, 4.0, seed=3), lambda tried: tried == text) == text


def test_nothing_accepted_within_the_limits_is_nothing() -> None:
    gains = _noisy(b"from", 1.0, seed=5)
    assert recovered_text(gains, lambda tried: False, max_texts=10) is None
    assert recovered_text(gains[:1], lambda tried: False) is None


def test_a_walk_ends_when_every_code_was_tried() -> None:
    texts = likely_texts(np.zeros((1, 256)))
    assert len(texts) == len(set(texts))
    assert all(text_of(chunks_of(text, 1)) == text for text in texts)
