"""Corpora as histograms, read as streams: one random word of every record, or one random item of every user."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import unescape

from numpy.random import Generator

from treetop.datasets.party_split import deal

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
    for index, item in enumerate(items):
        if index < size:
            kept.append(item)
        elif (slot := int(randomness.integers(index + 1))) < size:
            kept[slot] = item
    return Counter(kept)


def one_item_each(clicks: Iterable[tuple[str, str]], randomness: Generator) -> list[str]:
    """Return one random distinct item of every user, in the order in which users first click."""
    seen: dict[str, list[str]] = {}
    for user, item in clicks:
        held = seen.setdefault(user, [])
        if item not in held:
            held.append(item)
    return [held[int(randomness.integers(len(held)))] for held in seen.values()]


def every_click(clicks: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the item of every click: each click is a user of its own."""
    return (click[0] for click in clicks)


def dealt_to_parties(items: Iterable[str], sizes: Mapping[str, int], randomness: Generator) -> dict[str, Counter[str]]:
    """Deal the users of one log to parties at random, each as many as it asks for."""
    listed = list(items)
    indices = deal(len(listed), sizes, randomness)
    counts = {name: Counter[str]() for name in sizes}
    names = list(sizes)
    for item, index in zip(listed, indices.tolist(), strict=True):
        if index >= 0:
            counts[names[index]][item] += 1
    return counts
