"""Texts behind names: a public list of them, and those that users' chunks spell."""

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
"""The text of every name that has one."""
Rows = NDArray[np.uint8]
BETWEEN_NAMES = b" or "


def chunk_rows(texts: Sequence[bytes], chunks: int) -> Rows:
    """Return the chunks of every text, a row each."""
    code = b"".join(chunks_of(text, chunks) for text in texts) if chunks else b""
    return np.frombuffer(code, dtype=np.uint8).reshape(len(texts), chunks)


@dataclass(frozen=True, eq=False)
class ListedNames:
    """A public list in ascending order of names: each with its text, unless names speak for themselves."""

    names: Codes
    texts: tuple[bytes, ...] | None
    chunks: Rows
    undecided: frozenset[int] = frozenset()
    """Names that stand for several texts, all of which are shown: neither order nor chunks decide between them."""

    @classmethod
    def codes(cls, names: Codes) -> "ListedNames":
        """Return names that need no text: places in a catalogue, or none at all."""
        return cls(names, None, chunk_rows([b""] * len(names), 0))

    @classmethod
    def hashed(cls, texts: Sequence[bytes], codec: Hashed, chunks: int, *, ordered: bool) -> "ListedNames":
        """Hash a list of texts; where two share a name, their chunks decide, or their order, or else both are shown."""
        by_name: dict[int, list[bytes]] = {}
        for text in dict.fromkeys(texts):
            by_name.setdefault(codec.hash_of(text), []).append(text)
        undecided: frozenset[int] = frozenset()
        if not chunks and not ordered:
            undecided = frozenset(name for name, found in by_name.items() if len(found) > 1)
        if not chunks:
            by_name = {name: found[:1] if ordered else [BETWEEN_NAMES.join(found)] for name, found in by_name.items()}
        pairs = [(name, text) for name in sorted(by_name) for text in by_name[name]]
        kept = tuple(text for _, text in pairs)
        return cls(code_array([name for name, _ in pairs], codec.bits), kept, chunk_rows(kept, chunks), undecided)

    def __len__(self) -> int:
        return len(self.names)

    def best_of_each(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of some places whose name stands at no earlier one."""
        _, first = np.unique(self.names[places], return_index=True)
        return places[np.sort(first)]

    def read(self, places: NDArray[np.int64]) -> Texts:
        """Return the texts at some places, by their names."""
        if self.texts is None:
            return {}
        return {int(self.names[place]): ReadText(self.texts[place], "listed") for place in places.tolist()}


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """Party to server: for every chunk the counts of all its values behind each name that was asked about."""

    chunks: tuple[QuantisedCounts, ...]

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return sum(chunk.bits for chunk in self.chunks)


def gains_of(sent: ChunkCounts, expected: Frequencies) -> Gains:
    """Run by the server: what one party's chunk counts say for every value behind every name."""
    expected = np.maximum(expected, 0)
    rows = [
        np.zeros((len(expected), CHUNK_VALUES))
        if chunk.missing
        else log_likelihood_gains(chunk.counts.reshape(len(expected), CHUNK_VALUES), chunk.variance, expected)
        for chunk in sent.chunks
    ]
    return np.stack(rows, axis=1)


def spelt_texts(
    names: Codes,
    sent: Mapping[str, ChunkCounts],
    expected: Mapping[str, Frequencies],
    clear: NDArray[np.bool_],
    codec: Hashed,
) -> Texts:
    """Run by the server: search for the likeliest texts behind names, far only where a name is no mere noise."""
    gains = [gains_of(counts, expected[party]) for party, counts in sent.items() if party in expected]
    texts: Texts = {}
    for place, name in enumerate(names.tolist() if gains else ()):

        def accepts(text: bytes, name: int = name) -> bool:
            return codec.hash_of(text) == name and is_utf_8(text)

        summed = np.sum([party[place] for party in gains], axis=0)
        text = recovered_text(summed, accepts, codec.bits, WIDE if clear[place] else NARROW)
        if text is not None:
            texts[name] = ReadText(text, "recovered")
    return texts


def is_utf_8(text: bytes) -> bool:
    """Return whether bytes are a text that somebody could have typed."""
    try:
        return bool(text.decode("utf-8"))
    except UnicodeDecodeError:
        return False
