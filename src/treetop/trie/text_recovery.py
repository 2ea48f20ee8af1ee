"""Chunk estimates -> the text they came from: a search over the likeliest whole codes, checked against the hash.

For a hash H every chunk j of the code has 256 possible values with noisy estimates. A code of c chunks is repeated
until it has taken them all, so its log-likelihood is the sum of the gains of its values wherever they stand, and the
public code gives a text of L bits the prior 2^-L, which is what makes it a code. So texts are tried by falling

    sum_j gain[j, v_(j mod c)]  -  ln 2 * L,

exactly in this order, and the first text whose hash is H is accepted.
"""

from collections.abc import Callable, Iterator
from functools import cache
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, END, code_after
from treetop.oracles.frequency_oracle import Frequencies

NARROW, WIDE = 1 << 13, 1 << 17
"""Beginnings of codes that a search may look at: most texts are found among few, the others are worth more of them."""
FIRST = 1 << 9
"""So many are looked at before anything else: a text that stands out is among them."""
BIT = log(2)

Gains = Frequencies
"""One row for each chunk, one column for each of its 256 values."""


class CodeTrees(NamedTuple):
    """The trees of the public code as arrays: what follows every symbol."""

    children: NDArray[np.int16]
    """By symbol, node and bit: the next node, or -1 - the symbol that is read."""
    nearest_end: NDArray[np.int16]
    """By symbol and node: the fewest bits in which a text can end."""


@cache
def code_trees() -> CodeTrees:
    """Build them once: any symbol may stand before another."""
    children = np.array([code_after(symbol).tree for symbol in range(END + 1)], dtype=np.int16)
    reads, symbols = children < 0, np.where(children < 0, -1 - children, np.arange(END + 1)[:, None, None])
    nodes, far = np.where(reads, 0, children), np.iinfo(np.int16).max - 1
    bits = np.full(children.shape[:2], far, dtype=np.int16)
    while True:
        fewer = 1 + np.where(reads & (symbols == END), 0, bits[symbols, nodes]).min(axis=2)
        if (fewer == bits).all():
            return CodeTrees(children, bits)
        bits = np.minimum(fewer, far).astype(np.int16)


def log_likelihood_gains(counts: Frequencies, variance: float, expected: Frequencies) -> Gains:
    """Return how much likelier each value is as the true one, whose count is expected, than as one nobody has.

    One row of counts, and one expected count, for each hash or chunk; what all values of a row share is left out.
    """
    gains: Gains = expected[:, None] * counts / variance
    return gains


def recovered_text(gains: Gains, accepts: Callable[[bytes], bool], effort: int = WIDE) -> bytes | None:
    """Run by the server: the likeliest text that is accepted, or None if none of those that are reached is."""
    tried = 0
    for nodes in (min(FIRST, effort), effort):
        texts = likely_texts(gains, nodes)
        for text in texts[tried:]:
            if accepts(text):
                return text
        tried = len(texts)
    return None


def likely_texts(gains: Gains, effort: int) -> list[bytes]:
    """Return the likeliest texts, by falling likelihood, as far as so many beginnings of codes lead."""
    from treetop.trie.code_search import likeliest_codes  # noqa: PLC0415  numba loads only where one searches

    scores = np.array(list(_rows(gains)))
    orders = np.argsort(-scores, axis=1, kind="stable")
    texts, ends = likeliest_codes(scores, orders, _highest(scores, len(gains)), *code_trees(), effort)
    joined, stops = texts.tobytes(), ends.tolist()
    return [joined[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]


def _rows(gains: Gains) -> Iterator[Frequencies]:
    """Yield for every length and each chunk of a code of that length what its values gain, less its 8 bits."""
    for length in range(1, len(gains) + 1):
        yield from (gains[place::length].sum(axis=0) - CHUNK_BITS * BIT for place in range(length))


def _highest(scores: Frequencies, longest: int) -> Frequencies:
    """Return for every length and chunk what it and those behind it could gain; zeros behind an end are no bits."""
    value = np.arange(CHUNK_VALUES)
    zeros = np.log2(value & -value, out=np.full(CHUNK_VALUES, CHUNK_BITS - 1.0), where=value > 0)
    best, last = scores.max(axis=1), (scores + zeros * BIT).max(axis=1)
    highest = np.zeros((longest + 1, longest + 1))
    for length in range(1, longest + 1):
        end = length * (length + 1) // 2
        highest[length, :length] = np.append(best[end - length : end - 1], last[end - 1])[::-1].cumsum()[::-1]
    return highest
