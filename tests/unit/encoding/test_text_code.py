"""The public text code: what it is built from, and what it does at its edges."""

import pytest
from tests.support.scripts import loaded

from treetop.encoding import text_code
from treetop.encoding.text_code import (
    ReadingPlace,
    chunks_of,
    code_after,
    code_bits,
    code_lengths,
    huffman_code,
    read_chunk,
    text_of,
)


def test_the_shipped_model_is_what_the_script_writes() -> None:
    builder = loaded("tools/build_text_model.py")
    assert builder.MODEL.read_bytes() == builder.model_text().encode()


def test_huffman_lengths_of_a_known_example() -> None:
    assert code_lengths([45, 13, 12, 16, 9, 5]) == [1, 3, 3, 3, 4, 4]


def test_canonical_words_count_upwards() -> None:
    assert huffman_code([45, 13, 12, 16, 9, 5]).words == ((0, 1), (4, 3), (5, 3), (6, 3), (14, 4), (15, 4))


def test_frequent_followers_have_shorter_words() -> None:
    after_q = code_after(ord("q")).words
    assert after_q[ord("u")][1] < after_q[ord("x")][1]


def test_common_words_take_few_bits() -> None:
    assert code_bits(b"the")[1] <= 16
    assert code_bits("smørrebrød".encode())[1] <= 96


def test_a_code_too_long_is_cut_and_is_no_text() -> None:
    text = bytes(range(200, 232))
    assert code_bits(text)[1] > 12 * 8
    assert text_of(chunks_of(text)) is None
    assert chunks_of(text) == chunks_of(text, 40)[:12]


def test_a_short_code_is_repeated() -> None:
    chunks = chunks_of(b"tree")
    taken = -(-code_bits(b"tree")[1] // 8)
    assert chunks[taken : 2 * taken] == chunks[:taken]
    assert text_of(chunks) == b"tree"


def test_filling_that_is_not_zero_is_no_code() -> None:
    chunks = chunks_of(b"tree")
    assert text_of(chunks[:-1] + bytes([chunks[-1] ^ 1])) is None
    unsound = next(value for value in range(256) if (end := read_chunk(ReadingPlace(), value)).ended and not end.sound)
    assert text_of(bytes([unsound]) * 12) is None


def test_a_long_text_is_coded_by_its_first_symbols() -> None:
    """Every word has a bit at least: 8 symbols for each chunk decide all of them."""
    assert min(bits for before in range(257) for _, bits in code_after(before).words) >= 1
    for text in (b"e" * 4096, bytes(range(256)) * 16, b"tree " * 30, b"a" * 95, b"a" * 96, b""):
        for chunks in (1, 2, 12, 64):
            code, length = code_bits(text)
            taken = -(-length // 8)
            whole = (code << 8 * taken - length).to_bytes(taken, "big") * chunks
            assert chunks_of(text, chunks) == whole[:chunks]


class CountedWords:
    """The words after every symbol, and how often they were looked up."""

    def __init__(self) -> None:
        self.words = text_code._words()
        self.looked_up = 0

    def __getitem__(self, before: int) -> tuple[tuple[int, int], ...]:
        self.looked_up += 1
        return self.words[before]


def test_the_work_does_not_tell_which_symbols_a_text_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a table made when a text is the first to have a symbol: the first text of all has made them."""
    chunks_of(b"")
    assert code_after.cache_info().currsize == 257
    for text in (b"e " * 2048, bytes(4096), bytes(range(256)) * 16, "\u6f22".encode() * 1365):
        counted = CountedWords()
        monkeypatch.setattr(text_code, "_words", lambda counted=counted: counted)
        chunks_of(text, 12)
        assert counted.looked_up == 8 * 12
        monkeypatch.undo()
