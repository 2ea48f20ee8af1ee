"""The exact law of OUE, read from the shipped sampler position by position."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Protocol

from treetop.audit.exact_ratios import Odds, largest_odds
from treetop.audit.scripted_entropy import ScriptedEntropy, threshold_of, word
from treetop.federation.ports import Entropy
from treetop.federation.thresholds import WORDS
from treetop.privacy.budget import Budget


class Draw(Protocol):
    """The randomness of one report."""

    def report(self, slot: int) -> tuple[bool, ...]:
        """Return the bits for a value."""
        ...


class Sampler(Protocol):
    """Anything that claims to be OUE."""

    def draw(self, entropy: Entropy) -> Draw:
        """Take the randomness of one report: a word for each position."""
        ...


SamplerFactory = Callable[[Budget, int], Sampler]


def set_probabilities(sampler: Sampler, slots: int, slot: int) -> list[Fraction]:
    """Return how likely each bit is set for a value, by bisection on the word that decides it."""

    def is_set(place: int, number: int) -> bool:
        words = [word(number) if position == place else word(0) for position in range(slots)]
        return sampler.draw(ScriptedEntropy(b"".join(words))).report(slot)[place]

    return [
        Fraction(threshold_of(lambda number, place=place: is_set(place, number)), WORDS)  # type: ignore[misc]
        for place in range(slots)
    ]


def _columns(sampler: Sampler, slots: int) -> Iterator[list[Fraction]]:
    laws = [set_probabilities(sampler, slots, slot) for slot in range(slots)]
    for bits in product((False, True), repeat=slots):
        yield [_probability(law, bits) for law in laws]


def _probability(law: list[Fraction], bits: tuple[bool, ...]) -> Fraction:
    return prod((p if bit else 1 - p for p, bit in zip(law, bits, strict=True)), start=Fraction(1))


def worst_odds(factory: SamplerFactory, budget: Budget, slots: int) -> Odds:
    """Return the largest ratio over all 2^d outputs and all pairs of values, the dummy being one."""
    return largest_odds(_columns(factory(budget, slots), slots))
