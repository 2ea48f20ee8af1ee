"""Lazily split cells against drawing users one by one: the joint law of all answers, exactly."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any, cast

import numpy as np
import pytest

from treetop.simulation.simulated_users import LazyCells

Ranges = list[tuple[int, int]]
Counts = tuple[int, ...]
Strategy = Callable[[list[Counts]], tuple[Ranges, int]]
Law = dict[tuple[Counts, ...], Fraction]


class Enumerated:
    """Stands in for a generator: follows one path of choices and remembers how many there were at each turn."""

    def __init__(self, path: Sequence[int]) -> None:
        self.path, self.taken, self.widths, self.probability = list(path), [0] * 0, [0] * 0, Fraction(1)

    def _choose(self, outcomes: list[tuple[Any, Fraction]]) -> Any:
        turn = len(self.taken)
        self.taken.append(self.path[turn] if turn < len(self.path) else 0)
        self.widths.append(len(outcomes))
        value, probability = outcomes[self.taken[-1]]
        self.probability *= probability
        return value

    def multivariate_hypergeometric(self, colors: Any, nsample: int, method: str) -> Any:
        assert method == "marginals"
        every = product(*(range(color + 1) for color in colors.tolist()))
        total = comb(int(colors.sum()), nsample)
        outcomes = [
            (draw, Fraction(int(np.prod([comb(c, x) for c, x in zip(colors.tolist(), draw, strict=True)])), total))
            for draw in every
            if sum(draw) == nsample
        ]
        return np.array(self._choose(outcomes))

    def hypergeometric(self, good: Any, bad: Any, sample: Any) -> Any:
        return np.array([self._one(*map(int, triple)) for triple in zip(good, bad, sample, strict=True)])

    def _one(self, good: int, bad: int, sample: int) -> int:
        total = comb(good + bad, sample)
        few = range(max(0, sample - bad), min(good, sample) + 1)
        return int(self._choose([(x, Fraction(comb(good, x) * comb(bad, sample - x), total)) for x in few]))


def lazy_law(counts: list[int], strategy: Strategy, groups: int, kind: type[Enumerated] = Enumerated) -> Law:
    """Walk every path that the cells can take."""
    law: Law = defaultdict(Fraction)
    before = np.concatenate([[0], np.cumsum(counts)])
    path: list[int] | None = []
    while path is not None:
        randomness = kind(path)
        cells = LazyCells(before, cast(Any, randomness))
        answers: list[Counts] = []
        for _ in range(groups):
            ranges, size = strategy(answers)
            starts, ends = (np.array(side) for side in zip(*ranges, strict=True))
            answers.append(tuple(int(x) for x in cells.draw_group(starts, ends, size)))
        law[tuple(answers)] += randomness.probability
        path = next_path(randomness)
    return law


def next_path(randomness: Enumerated) -> list[int] | None:
    """Return the path after this one in the order of an odometer."""
    taken, widths = randomness.taken, randomness.widths
    for turn in reversed(range(len(taken))):
        if taken[turn] + 1 < widths[turn]:
            return [*taken[:turn], taken[turn] + 1]
    return None


def one_by_one_law(counts: list[int], strategy: Strategy, groups: int) -> Law:
    """Name every user and draw every possible group of those not yet asked."""
    users = [item for item, count in enumerate(counts) for _ in range(count)]
    law: Law = defaultdict(Fraction)

    def draw(left: frozenset[int], answers: list[Counts], probability: Fraction) -> None:
        if len(answers) == groups:
            law[tuple(answers)] += probability
            return
        ranges, size = strategy(answers)
        every = list(combinations(sorted(left), size))
        for members in every:
            answer = tuple(sum(start <= users[u] < end for u in members) for start, end in ranges)
            draw(left - set(members), [*answers, answer], probability / len(every))

    draw(frozenset(range(len(users))), [], Fraction(1))
    return law


def deeper(answers: list[Counts]) -> tuple[Ranges, int]:
    """Grow a trie: the better half is split at the next level, as TAP does."""
    if not answers:
        return [(0, 2), (2, 4)], 2
    first = answers[0]
    better = 0 if first[0] >= first[1] else 2
    if len(answers) == 1:
        return [(better, better + 1), (better + 1, better + 2)], 2
    return [(better, better + 1)], 1


def elsewhere(answers: list[Counts]) -> tuple[Ranges, int]:
    """Ask a validation list that lies outside what the party kept, as TAPS does, and an empty range."""
    plans: list[tuple[Ranges, int]] = [([(0, 2)], 2), ([(2, 3), (3, 4), (4, 4)], 1), ([(1, 2), (4, 5)], 2)]
    return plans[len(answers)]


def all_at_once(answers: list[Counts]) -> tuple[Ranges, int]:
    """Split into many parts after a group has been used."""
    plans: list[tuple[Ranges, int]] = [([(0, 5)], 3), ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], 2)]
    return plans[len(answers)]


@pytest.mark.parametrize(("strategy", "groups"), [(deeper, 3), (elsewhere, 3), (all_at_once, 2)])
@pytest.mark.parametrize("counts", [[1, 1, 2, 1, 1], [2, 0, 1, 3, 0], [1, 2, 0, 1, 2]])
def test_the_joint_law_is_that_of_drawing_users_one_by_one(counts: list[int], strategy: Strategy, groups: int) -> None:
    lazy, reference = lazy_law(counts, strategy, groups), one_by_one_law(counts, strategy, groups)
    assert sum(lazy.values()) == 1
    assert {key: value for key, value in lazy.items() if value} == dict(reference)


def test_a_wrong_split_would_be_seen() -> None:
    """The test has teeth: dealing used users binomially instead of hypergeometrically changes the law."""

    class Binomial(Enumerated):
        def _one(self, good: int, bad: int, sample: int) -> int:
            half = Fraction(good, good + bad)
            few = range(max(0, sample - bad), min(good, sample) + 1)
            weights = [comb(sample, x) * half**x * (1 - half) ** (sample - x) for x in few]
            return int(self._choose([(x, w / sum(weights)) for x, w in zip(few, weights, strict=True)]))

    counts = [2, 0, 1, 3, 0]
    assert dict(lazy_law(counts, all_at_once, 2, Binomial)) != dict(one_by_one_law(counts, all_at_once, 2))
