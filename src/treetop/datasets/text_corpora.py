"""Text corpora as histograms: one random word of every record, read as a stream."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape

from numpy.random import Generator

SHORTEST, LONGEST = 3, 20
NOT_WORDS = re.compile(r"https?://\S+|www\.\S+|@\w+|<[^<>]*>")
APOSTROPHES = re.compile("['’`]")
LETTERS = re.compile("[a-z]+")


def words(record: str) -> list[str]:
    """Return the words of a record in order.

    Lower case; addresses, mentions and tags removed; apostrophes deleted; runs of a to z of 3 to 20 letters.
    """
    text = APOSTROPHES.sub("", NOT_WORDS.sub(" ", unescape(record)).lower())
    return [word for word in LETTERS.findall(text) if SHORTEST <= len(word) <= LONGEST]


def one_word_each(records: Iterable[str], randomness: Generator, *, distinct: bool = True) -> Iterator[str]:
    """Yield one random word of each record that has one; a repeated word counts once if `distinct`."""
    for record in records:
        found = words(record)
        choices = list(dict.fromkeys(found)) if distinct else found
        if choices:
            yield choices[int(randomness.integers(len(choices)))]


def sample(items: Iterable[str], size: int | None, randomness: Generator) -> Counter[str]:
    """Count items, or a random sample of them without replacement, holding no more than the sample."""
    if size is None:
        return Counter(items)
    kept: list[str] = []
    for place, item in enumerate(items):
        if place < size:
            kept.append(item)
        elif (slot := int(randomness.integers(place + 1))) < size:
            kept[slot] = item
    return Counter(kept)
