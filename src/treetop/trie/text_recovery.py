"""Chunk estimates -> the text they came from: a best-first walk over whole codes, checked against the hash.

For a hash H every chunk j of the code has 256 possible values with noisy estimates. A whole code is one value for each
chunk; its log-likelihood is the sum of its values' gains, and the public code gives it the prior 2^-length, which is
what makes it a code. So the walk tries codes by falling

    sum_j gain[j, v_j]  -  8 ln 2 * (chunks that the text takes),

chunks behind the end being zero, and accepts the first text whose hash is H. The bound that steers it is the best that
any ending could add, so that no code is tried before a likelier one.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from math import log

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, ReadingPlace, read_chunk
from treetop.oracles.tallies import Frequencies

MOST_TEXTS = 100_000
MOST_STEPS = 2 * MOST_TEXTS
CHUNK_COST = CHUNK_BITS * log(2)

Gains = Frequencies
"""One row for each chunk, one column for each of its 256 values."""


def log_likelihood_gains(counts: Frequencies, deviations: Frequencies, expected: float) -> Gains:
    """Return how much likelier each value is as the true one, whose count is expected, than as one nobody has.

    Counts are normal with the chunk's standard deviation; what all values of a chunk share is left out.
    """
    gains: Gains = expected * counts / (deviations**2)[:, None]
    return gains


def recovered_text(gains: Gains, accepts: Callable[[bytes], bool], most_texts: int = MOST_TEXTS) -> bytes | None:
    """Run by the server: the likeliest text that is accepted, or None if none of the first `most_texts` is."""
    for tried, text in enumerate(likely_texts(gains)):
        if tried == most_texts:
            return None
        if accepts(text):
            return text
    return None


def likely_texts(gains: Gains, most_steps: int = MOST_STEPS) -> Iterator[bytes]:
    """Yield texts by falling likelihood until the walk has taken its steps."""
    walk = _Walk(gains)
    for _ in range(most_steps):
        if not walk.open:
            return
        text = walk.step()
        if text is not None:
            yield text


class _Walk:
    """Open codes by their bound: each stands for the values from a rank on at its last chunk."""

    def __init__(self, gains: Gains) -> None:
        self._order: NDArray[np.int64] = np.argsort(-gains, axis=1, kind="stable")
        ranked = np.take_along_axis(gains, self._order, axis=1) - CHUNK_COST
        self._values, self._ranked = self._order.tolist(), ranked.tolist()
        self._chunks = len(gains)
        self._filling = _sums_from(gains[:, 0])
        self._rest = self._best_endings()
        self._tie = count()
        self.open: list[tuple[float, int, int, int, float, ReadingPlace, bytes]] = []
        self._push(0, 0, 0.0, ReadingPlace(), b"")

    def _best_endings(self) -> list[float]:
        """Return for each chunk the best that it and its followers can add to a text that has not ended."""
        rest = [float("-inf")] * (self._chunks + 1)
        for chunk in range(self._chunks - 1, -1, -1):
            rest[chunk] = self._ranked[chunk][0] + max(self._filling[chunk + 1], rest[chunk + 1])
        return rest

    def _push(self, chunk: int, rank: int, score: float, place: ReadingPlace, text: bytes) -> None:
        bound = score + self._ranked[chunk][rank] + max(self._filling[chunk + 1], self._rest[chunk + 1])
        heapq.heappush(self.open, (-bound, next(self._tie), chunk, rank, score, place, text))

    def step(self) -> bytes | None:
        """Take the likeliest open code: return its text if it is whole, else open what follows from it."""
        _, _, chunk, rank, score, place, text = heapq.heappop(self.open)
        if chunk == self._chunks:
            return text
        if rank + 1 < CHUNK_VALUES:
            self._push(chunk, rank + 1, score, place, text)
        read = read_chunk(place, self._values[chunk][rank])
        score, text = score + self._ranked[chunk][rank], text + read.text
        if read.ended and read.sound:
            whole = (-(score + self._filling[chunk + 1]), next(self._tie), self._chunks, 0, score, read.place, text)
            heapq.heappush(self.open, whole)
        elif not read.ended and chunk + 1 < self._chunks:
            self._push(chunk + 1, 0, score, read.place, text)
        return None


def _sums_from(values: Frequencies) -> list[float]:
    """Return for each place the sum from there to the end; 0 behind the end."""
    return [*np.cumsum(values[::-1])[::-1].tolist(), 0.0]
