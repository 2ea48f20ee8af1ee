"""Chunk estimates -> the text they came from: a search over the likeliest whole codes, checked against the hash.

For a hash H every chunk j of the code has 256 possible values with noisy estimates. A code of c chunks is repeated
until it has taken them all, so its log-likelihood is the sum of the gains of its values wherever they stand, and the
public code gives a text of L bits the prior 2^-L, which is what makes it a code. So texts are tried by falling

    sum_j gain[j, v_(j mod c)]  -  ln 2 * L,

exactly in this order, and the first text whose hash of b bits is H is accepted. Some text has that hash by chance: all
texts that there can be, weighed alike, have a weight of M together, and 2^-b M of it falls on H. So the search ends
where a text would be far less likely than that: the text is one whose code was cut, or nobody's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, END, code_after
from treetop.oracles.frequency_oracle import Frequencies

NARROW = 1 << 13
"""Beginnings of codes that a search looks at first: most texts are found among them."""
WIDE = 1 << 17
"""Beginnings that it looks at where the first were not enough."""
BIT = log(2)
"""What a bit of the code costs, as a logarithm of the prior 2^-L."""
DOUBT = 3.0
"""How much less likely than a text that has the hash by chance, as a logarithm."""

ZEROS = np.array([CHUNK_BITS - 1, *((value & -value).bit_length() - 1 for value in range(1, CHUNK_VALUES))])
"""The most zeros that can stand behind an end in every value of a chunk."""

Gains = Frequencies
"""One row for each chunk, one column for each of its 256 values."""


class CodeTrees(NamedTuple):
    """The trees of the public code as arrays: what follows every symbol."""

    children: NDArray[np.int16]
    """By symbol, node and bit: the next node, or -1 - the symbol that is read."""
    ends: NDArray[np.int16]
    """The chunks that end a text, symbol by symbol and node by node."""
    zeros: NDArray[np.int16]
    """The number of bits behind the end in each of them."""
    starts: NDArray[np.int64]
    """Where the ends of every symbol and node begin."""


@cache
def code_trees() -> CodeTrees:
    """Build them once: any symbol may stand before another."""
    from treetop.trie.text_kernels import all_ends  # noqa: PLC0415  numba loads only where one searches

    children = np.array([code_after(symbol).tree for symbol in range(END + 1)], dtype=np.int16)
    return CodeTrees(children, *all_ends(children))


def log_likelihood_gains(counts: Frequencies, variance: float, expected: Frequencies) -> Gains:
    """Return how much likelier each value is as the true one, whose count is expected, than as one nobody has.

    One row of counts, and one expected count, for each hash or chunk; what all values of a row share is left out.
    """
    gains: Gains = expected[:, None] * counts / variance
    return gains


def recovered_text(gains: Gains, accepts: Callable[[bytes], bool], bits: int, effort: int = WIDE) -> bytes | None:
    """Run by the server: the likeliest text that is accepted, or None if none of those that are reached is."""
    codes = WeighedCodes.of(gains, bits)
    tried = 0
    for nodes in (NARROW, effort)[effort <= NARROW :]:
        texts = codes.likeliest(nodes)
        for text in texts[tried:]:
            if accepts(text):
                return text
        tried = len(texts)
    return None


@dataclass(frozen=True, eq=False)
class WeighedCodes:
    """What every value gains in each chunk of the codes of every length, the rows of longer ones behind."""

    scores: Frequencies
    """Each less the 8 bits of its chunk."""
    orders: NDArray[np.int64]
    """The values of every row by falling score, where a code of that length can be above the floor."""
    highest: Frequencies
    """By length and chunk: what it and those behind it could gain; zeros behind an end are no bits."""
    floor: float
    """The least score that a text needs."""

    @classmethod
    def of(cls, gains: Gains, bits: float = inf) -> "WeighedCodes":
        """Add up the repetitions of every code; the floor is set by the bits of the hash."""
        lengths = np.arange(1, len(gains) + 1)
        scores = np.array([gains[index::length].sum(axis=0) for length in lengths for index in range(length)])
        scores -= CHUNK_BITS * BIT
        last = lengths.cumsum() - 1
        best = scores.max(axis=1)
        best[last] = (scores[last] + ZEROS * BIT).max(axis=1)
        highest = np.zeros((len(gains) + 1, len(gains) + 1))
        for length, end in zip(lengths.tolist(), (last + 1).tolist(), strict=True):
            highest[length, :length] = best[end - length : end][::-1].cumsum()[::-1]
        cut = np.logaddexp.reduce(gains - CHUNK_BITS * BIT, axis=1).sum()
        whole = np.add.reduceat(np.logaddexp.reduce(scores, axis=1), last + 1 - lengths)
        floor = float(np.logaddexp.reduce(whole, initial=cut)) - bits * BIT - DOUBT
        hopeful = np.flatnonzero(np.repeat(highest[1:, 0] >= floor, lengths))
        orders = np.zeros(scores.shape, dtype=np.int64)
        orders[hopeful] = np.argsort(-scores[hopeful], axis=1, kind="stable")
        return cls(scores, orders, highest, floor)

    def likeliest(self, effort: int) -> list[bytes]:
        """Return the likeliest texts above the floor that `effort` beginnings lead to, by falling likelihood."""
        from treetop.trie.text_kernels import likeliest_codes  # noqa: PLC0415  numba loads only where one searches

        texts, ends = likeliest_codes(self.scores, self.orders, self.highest, *code_trees(), self.floor, effort)
        joined = texts.tobytes()
        stops = ends.tolist()
        return [joined[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
