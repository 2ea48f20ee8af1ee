"""Chunk estimates -> the text they came from: a walk over the likeliest whole codes, checked against the hash.

For a hash H every chunk j of the code has 256 possible values with noisy estimates. A code of c chunks is repeated
until it has taken them all, so its log-likelihood is the sum of the gains of its values wherever they stand, and the
public code gives it the prior 2^-length, which is what makes it a code. So texts are tried by falling

    sum_j gain[j, v_(j mod c)]  -  8 ln 2 * c,

and the first text whose hash is H is accepted. For each c the walk goes chunk by chunk and keeps the `width` likeliest
beginnings; all beginnings of one length could gain the same by what follows, so that no text is lost whose beginnings
are all among them.
"""

from collections.abc import Callable
from functools import cache
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, ReadingPlace, endings, read_chunk
from treetop.oracles.frequency_oracle import Frequencies

MAX_TEXTS = 100_000
NARROW, WIDE = 128, 1_000
"""Most texts are found among few beginnings; only the others are worth a long walk."""
CHUNK_COST = CHUNK_BITS * log(2)

Gains = Frequencies
"""One row for each chunk, one column for each of its 256 values."""
Places = NDArray[np.int64]


class Beginnings(NamedTuple):
    """Codes read so far that have not ended, the likeliest first."""

    scores: Frequencies
    places: list[ReadingPlace]
    texts: list[bytes]


class WholeText(NamedTuple):
    """A text whose code has ended; the likelier one sorts first."""

    unlikeliness: float
    text: bytes


def log_likelihood_gains(counts: Frequencies, variance: float, expected: Frequencies) -> Gains:
    """Return how much likelier each value is as the true one, whose count is expected, than as one nobody has.

    One row of counts, and one expected count, for each hash or chunk; what all values of a row share is left out.
    """
    gains: Gains = expected[:, None] * counts / variance
    return gains


def recovered_text(
    gains: Gains,
    accepts: Callable[[bytes], bool],
    max_texts: int = MAX_TEXTS,
    *,
    widths: tuple[int, ...] = (NARROW, WIDE),
) -> bytes | None:
    """Run by the server: the likeliest text that is accepted, or None if none of the first `max_texts` is."""
    for width in widths:
        for text in likely_texts(gains, width)[:max_texts]:
            if accepts(text):
                return text
    return None


def likely_texts(gains: Gains, width: int = WIDE) -> list[bytes]:
    """Return the texts that the walk reaches, by falling likelihood."""
    whole = [found for length in range(1, len(gains) + 1) for found in _texts_of(length, gains, width)]
    return [text for _, text in sorted(whole)]


def _texts_of(length: int, gains: Gains, width: int) -> list[WholeText]:
    """Return the likeliest texts whose code takes that many chunks."""
    rows = [gains[place::length].sum(axis=0) - CHUNK_COST for place in range(length)]
    beginnings = Beginnings(np.zeros(1), [ReadingPlace()], [b""])
    for row in rows[:-1]:
        beginnings = _going_on(beginnings, row, width)
    last = rows[-1].tolist()
    return [
        WholeText(-score - last[value], text + end)
        for score, place, text in zip(beginnings.scores.tolist(), beginnings.places, beginnings.texts, strict=True)
        for value, end in endings(place)
    ]


def _going_on(open_: Beginnings, row: Frequencies, width: int) -> Beginnings:
    """Read one chunk more behind the likeliest beginnings, and keep those that do not end in it."""
    values = np.argsort(-row, kind="stable")
    parents, ranks, scores = _likeliest_pairs(open_.scores, row[values], width)
    going_on, places, texts = [], [], []
    for number, (parent, value) in enumerate(zip(parents.tolist(), values[ranks].tolist(), strict=True)):
        read = read_chunk(open_.places[parent], value)
        if not read.ended:
            going_on.append(number)
            places.append(read.place)
            texts.append(open_.texts[parent] + read.text)
    return Beginnings(scores[going_on], places, texts)


def _likeliest_pairs(first: Frequencies, second: Frequencies, width: int) -> tuple[Places, Places, Frequencies]:
    """Return the places of the `width` largest sums of two falling lists, largest first, and the sums."""
    rows, columns = _undominated(width)
    inside = (rows < len(first)) & (columns < len(second))
    rows, columns = rows[inside], columns[inside]
    sums = first[rows] + second[columns]
    best = np.argsort(-sums, kind="stable")[:width]
    return rows[best], columns[best], sums[best]


@cache
def _undominated(width: int) -> tuple[Places, Places]:
    """Return the pairs (i, j) that fewer than `width` pairs dominate: (i + 1)(j + 1) <= width."""
    lengths = [width // (column + 1) for column in range(min(CHUNK_VALUES, width))]
    rows = np.concatenate([np.arange(length) for length in lengths])
    return rows, np.repeat(np.arange(len(lengths)), lengths)
