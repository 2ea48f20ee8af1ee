"""Hashed texts: an item's code is a short salted hash, and beside it stand the chunks of its text's public code."""

from collections.abc import Sequence
from dataclasses import replace
from math import expm1, log1p

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.item_codecs import DEFAULT_HASH_KEY, EncodedItems, Hashed
from treetop.encoding.text_code import CHUNK_BITS, DEFAULT_CHUNKS, chunks_of, code_bits


def shared_hash_chance(items: int, bits: int) -> float:
    """Return how likely an item shares its hash with any of the others."""
    return -expm1(max(items - 1, 0) * log1p(-(2.0**-bits)))


def chunks_needed(items: Sequence[str]) -> NDArray[np.int64]:
    """Return how many chunks the code of each item takes: with more than there are it cannot be recovered."""
    texts = (item.encode("utf-8", errors="surrogatepass") for item in items)
    return np.array([-(-code_bits(text)[1] // CHUNK_BITS) for text in texts], dtype=np.int64)


class HashedText(Hashed):
    """The hash of a text, for the search, and the chunks of its code, for reading it back."""

    def __init__(self, bits: int, key: str = DEFAULT_HASH_KEY, chunks: int = DEFAULT_CHUNKS) -> None:
        super().__init__(bits, key)
        self.chunks = chunks

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: the hash, and the text's code cut into chunks; a code too long keeps its first ones."""
        texts = [item.encode("utf-8", errors="surrogatepass") for item in items]
        chunks = np.frombuffer(b"".join(chunks_of(text, self.chunks) for text in texts), dtype=np.uint8)
        return replace(super().encode(items), chunks=chunks.reshape(len(texts), self.chunks))
