"""The search over texts: its order, its limits, its naive twin, and its compiled loops without the compiler."""

from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest

from treetop.encoding.text_code import ReadingPlace, chunks_of, code_bits, read_chunk, text_of
from treetop.trie import text_kernels
from treetop.trie.text_recovery import (
    NARROW,
    WIDE,
    Gains,
    WeighedCodes,
    code_trees,
    log_likelihood_gains,
    recovered_text,
)


def _noisy(text: bytes, signal: float, seed: int, chunks: int = 12) -> Gains:
    counts = np.random.default_rng(seed).standard_normal((chunks, 256))
    counts[np.arange(chunks), list(chunks_of(text, chunks))] += signal
    return log_likelihood_gains(counts, 1.0, np.full(chunks, signal))


def _in_order(gains: Gains) -> list[bytes]:
    """Score every text of one or two chunks, as the formula stands."""
    scores = {}
    for pair in product(range(256), repeat=2):
        text = text_of(bytes(pair))
        if text is not None:
            scores[text] = gains[0, pair[0]] + gains[1, pair[1]] - log(2) * code_bits(text)[1]
    return sorted(scores, key=lambda text: -scores[text])


def test_texts_come_in_the_order_of_the_naive_twin() -> None:
    gains = np.random.default_rng(7).standard_normal((2, 256)) * 3
    expected = _in_order(gains)
    assert WeighedCodes.of(gains).likeliest(1 << 10) == expected
    few = WeighedCodes.of(gains).likeliest(20)
    assert 0 < len(few) < len(expected)
    assert few == expected[: len(few)]
    assert WeighedCodes.of(gains).likeliest(1) == []


@pytest.mark.usefixtures("uncompiled")
def test_the_loops_say_the_same_without_the_compiler() -> None:
    gains = np.random.default_rng(8).standard_normal((2, 256)) * 3
    assert WeighedCodes.of(gains).likeliest(1 << 10) == _in_order(gains)
    texts = WeighedCodes.of(_noisy(b"from", 5.0, seed=3, chunks=4)).likeliest(40)
    assert texts[0] == b"from"


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("read_on", "write_text", "likeliest_codes"):
        monkeypatch.setattr(text_kernels, name, getattr(text_kernels, name).py_func)


def test_the_compiled_search_agrees_with_the_loops(request: pytest.FixtureRequest) -> None:
    gains = _noisy("größer".encode(), 1.0, seed=4, chunks=6)
    compiled = WeighedCodes.of(gains).likeliest(300)
    request.getfixturevalue("uncompiled")
    assert WeighedCodes.of(gains).likeliest(300) == compiled
    assert len(compiled) > 10


def test_the_ends_of_a_text_are_those_that_reading_finds() -> None:
    trees = code_trees()
    for symbol, node in ((ord("t"), 0), (ord("e"), 3), (0xE5, 7), (256, 100)):
        place = symbol * trees.children.shape[1] + node
        found = slice(trees.starts[place], trees.starts[place + 1])
        read = [read_chunk(ReadingPlace(symbol, node), chunk) for chunk in range(256)]
        assert sorted(trees.ends[found].tolist()) == [
            chunk for chunk, end in enumerate(read) if end.ended and end.sound
        ]
        assert all(end % (1 << zeros) == 0 for end, zeros in zip(trees.ends[found], trees.zeros[found], strict=True))


def test_the_ends_of_a_code_of_one_letter_without_the_compiler() -> None:
    """A zero is the letter, a one the end."""
    children = np.tile(np.array([[-1, -257]], dtype=np.int16), (3, 1, 1))
    ends, zeros, starts = text_kernels.all_ends.py_func(children)
    assert starts.tolist() == [0, 8, 16, 24]
    assert sorted(zip(ends[:8].tolist(), zeros[:8].tolist(), strict=True)) == [(1 << bit, bit) for bit in range(8)]
    assert all(
        (first == second).all() for first, second in zip((ends, zeros), text_kernels.all_ends(children), strict=False)
    )


@pytest.mark.parametrize("text", [b"from", b"isabella", "café".encode()])
def test_a_signal_of_three_deviations_is_read(text: bytes) -> None:
    assert recovered_text(_noisy(text, 3.0, seed=3), lambda tried: tried == text, 24) == text


def test_what_stands_out_is_found_before_the_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    efforts, search = [], text_kernels.likeliest_codes

    def spy(*given: Any) -> Any:
        efforts.append(given[-1])
        return search(*given)

    monkeypatch.setattr(text_kernels, "likeliest_codes", spy)
    assert recovered_text(_noisy(b"from", 6.0, seed=3), lambda tried: tried == b"from", 24) == b"from"
    assert efforts == [NARROW]
    gains = _noisy(b"from", 1.0, seed=5)
    assert recovered_text(gains, lambda tried: False, 24, 2 * NARROW) is None
    assert recovered_text(gains, lambda tried: False, 24, 200) is None
    assert efforts == [NARROW, NARROW, 2 * NARROW, 200]


def test_a_long_text_is_read_where_every_chunk_tells_of_it() -> None:
    address = (
        b"https://www.example.org/catalogue/2024/teas-and-infusions/green/page-12.html?order=price&show=all&from=120"
    )
    chunks = -(-code_bits(address)[1] // 8)
    assert recovered_text(_noisy(address, 6.0, seed=1, chunks=chunks), lambda tried: tried == address, 24) == address


def test_a_text_that_was_cut_is_not_searched_for_long() -> None:
    tried: list[bytes] = []
    gains = _noisy("天气预报".encode(), 6.0, seed=2)

    def accepts(text: bytes) -> bool:
        tried.append(text)
        return False

    assert recovered_text(gains, accepts, 24) is None
    assert len(tried) < 1000
    assert len(WeighedCodes.of(gains).likeliest(WIDE)) > 1000


def test_a_search_ends_when_every_code_was_tried() -> None:
    texts = WeighedCodes.of(np.zeros((1, 256))).likeliest(WIDE)
    assert len(texts) == len(set(texts))
    assert all(text_of(chunks_of(text, 1)) == text for text in texts)
