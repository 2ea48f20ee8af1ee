"""Texts behind codes: those of a public list (step 1), and those that users' chunks spell (step 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed
from treetop.encoding.text_code import CHUNK_VALUES, chunks_of
from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.global_ranking import ReadText
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.text_recovery import NARROW, WIDE, Gains, log_likelihood_gains, recovered_text

Texts = dict[int, ReadText]
"""The text of every code that has one."""
Rows = NDArray[np.uint8]
BETWEEN_TEXTS = b" or "
"""Joins the texts of a list that share a code, where nothing decides between them."""


def chunk_rows(texts: Sequence[bytes], chunks: int) -> Rows:
    """Return the chunks of every text, a row each."""
    code = b"".join(chunks_of(text, chunks) for text in texts) if chunks else b""
    return np.frombuffer(code, dtype=np.uint8).reshape(len(texts), chunks)


@dataclass(frozen=True, eq=False)
class CodeList:
    """L, a public list in ascending order of codes: each with its text, unless codes are not hashes."""

    codes: Codes
    texts: tuple[bytes, ...] | None
    chunks: Rows
    undecided: frozenset[int] = frozenset()
    """Codes of several texts, all of which are shown: neither order nor chunks decide between them."""

    @classmethod
    def of_codes(cls, codes: Codes) -> "CodeList":
        """Return codes that need no text: indices in a catalogue, or none at all."""
        return cls(codes, None, chunk_rows([b""] * len(codes), 0))

    @classmethod
    def hashed(cls, texts: Sequence[bytes], codec: Hashed, chunks: int, *, ordered: bool) -> "CodeList":
        """Hash a list of texts; where two share a code, their chunks decide, or their order, or else both are shown."""
        by_code: dict[int, list[bytes]] = {}
        for text in dict.fromkeys(texts):
            by_code.setdefault(codec.hash_of(text), []).append(text)
        undecided: frozenset[int] = frozenset()
        if not chunks and not ordered:
            undecided = frozenset(code for code, found in by_code.items() if len(found) > 1)
        if not chunks:
            by_code = {code: found[:1] if ordered else [BETWEEN_TEXTS.join(found)] for code, found in by_code.items()}
        pairs = [(code, text) for code in sorted(by_code) for text in by_code[code]]
        kept = tuple(text for _, text in pairs)
        return cls(code_array([code for code, _ in pairs], codec.bits), kept, chunk_rows(kept, chunks), undecided)

    def __len__(self) -> int:
        return len(self.codes)

    def first_of_each(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices whose code is at no earlier one of them."""
        _, first = np.unique(self.codes[indices], return_index=True)
        return indices[np.sort(first)]

    def texts_at(self, indices: NDArray[np.int64]) -> Texts:
        """Return the texts at some indices, by their codes."""
        if self.texts is None:
            return {}
        return {int(self.codes[index]): ReadText(self.texts[index], "listed") for index in indices.tolist()}


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """Party to server: for every chunk the counts of all its values behind each code that was asked about."""

    chunks: tuple[QuantisedCounts, ...]

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return sum(chunk.bits for chunk in self.chunks)


def gains_of(sent: ChunkCounts, expected: Frequencies) -> Gains:
    """Run by the server: the gain of every value of every chunk behind every code, from one party's counts."""
    expected = np.maximum(expected, 0)
    rows = [
        np.zeros((len(expected), CHUNK_VALUES))
        if chunk.missing
        else log_likelihood_gains(chunk.counts.reshape(len(expected), CHUNK_VALUES), chunk.variance, expected)
        for chunk in sent.chunks
    ]
    return np.stack(rows, axis=1)


def recovered_texts(
    codes: Codes,
    sent: Mapping[str, ChunkCounts],
    expected: Mapping[str, Frequencies],
    clear: NDArray[np.bool_],
    codec: Hashed,
) -> Texts:
    """Run by the server: search for the likeliest texts behind codes, far only where noise would hardly show a code."""
    gains = [gains_of(counts, expected[party]) for party, counts in sent.items() if party in expected]
    texts: Texts = {}
    for index, code in enumerate(codes.tolist() if gains else ()):

        def accepts(text: bytes, code: int = code) -> bool:
            return codec.hash_of(text) == code and is_utf_8(text)

        summed = np.sum([party[index] for party in gains], axis=0)
        text = recovered_text(summed, accepts, codec.bits, WIDE if clear[index] else NARROW)
        if text is not None:
            texts[code] = ReadText(text, "recovered")
    return texts


def is_utf_8(text: bytes) -> bool:
    """Return whether bytes are a text that somebody could have typed."""
    try:
        return bool(text.decode("utf-8"))
    except UnicodeDecodeError:
        return False
