"""Click logs as histograms: one random item of every user, read as a stream."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from numpy.random import Generator

from treetop.datasets.party_split import deal


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
    places = deal(len(listed), sizes, randomness)
    counts = {name: Counter[str]() for name in sizes}
    names = list(sizes)
    for item, place in zip(listed, places.tolist(), strict=True):
        if place >= 0:
            counts[names[place]][item] += 1
    return counts
