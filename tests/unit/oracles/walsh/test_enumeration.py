"""All masks and shifts of toy sizes: the shipped report under every one of them, in fractions.

A seed is as many bits as shift and masks have, so that all seeds together are the ideal map. The exact ratio is that of
k-RR whatever the map; how often names agree is what estimates rest on, and what broken maps are caught by.
"""

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from treetop.audit.checks import NO_DIFFERENCE, largest_odds
from treetop.audit.oracle_laws import edges
from treetop.oracles.walsh import device
from treetop.oracles.walsh.device import ParityFace
from treetop.privacy.budget import Budget

SIZES = [(3, 1), (3, 2), (4, 2), (2, 3)]
"""b and s."""
EVERY = pytest.mark.parametrize(("bits", "parities"), SIZES)


def toy_words(bits: int) -> Any:
    """The shift and the masks that a number spells, b bits each and s for the shift."""

    def words(seed: int, count: int) -> list[int]:
        parities = count - 1
        masks = [(seed >> parities + bits * place) % (1 << bits) for place in range(parities)]
        return [seed % (1 << parities), *masks]

    return words


class NoShift(ParityFace):
    """A linear map: name 0 has outcome 0 under every seed."""

    def hashed(self, seed: int, value: int) -> int:
        return super().hashed(seed, value) ^ super().hashed(seed, 0)


class OneMaskForAll(ParityFace):
    """The first mask is used again for every parity."""

    def hashed(self, seed: int, value: int) -> int:
        return (super().hashed(seed, value) & 1) * (self.slots - 1)


class WrongBits(ParityFace):
    """The parity is taken over all bits of the name but the lowest."""

    def hashed(self, seed: int, value: int) -> int:
        return super().hashed(seed, value & ~1)


def maps(face: ParityFace, bits: int, parities: int) -> Any:
    """The outcome of every name, under every seed."""
    return np.array([[face.hashed(seed, name) for name in range(1 << bits)] for seed in seeds_of(bits, parities)])


def seeds_of(bits: int, parities: int) -> range:
    return range(1 << parities * (bits + 1))


def agreeing(of_seeds: Any) -> set[Fraction]:
    """How often two names have the same outcome, over all pairs."""
    pairs = combinations(of_seeds.T, 2)
    return {Fraction(int(np.count_nonzero(one == two)), len(of_seeds)) for one, two in pairs}


def three_are_independent(of_seeds: Any, outcomes: int) -> bool:
    """Whether any three names have all triples of outcomes equally often: a report of one supports two others so."""
    share = len(of_seeds) / outcomes**3
    return all(
        np.all(np.bincount((one * outcomes + two) * outcomes + three, minlength=outcomes**3) == share)
        for one, two, three in combinations(of_seeds.T, 3)
    )


@EVERY
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_the_worst_ratio_is_e_to_the_epsilon(
    bits: int, parities: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chances of every report under every name, in units of 2^-64 / g and of one seed."""
    monkeypatch.setattr(device, "mixed_words", toy_words(bits))
    budget, names, worst = Budget(epsilon), range(1 << bits), NO_DIFFERENCE
    face = ParityFace(budget.odds_below, 1 << parities)
    for seed in seeds_of(bits, parities):
        law = {outcome: [0] * len(names) for outcome in range(face.slots)}
        for (word, end), other, name in product(edges(face), range(face.slots), names):
            law[face.report((seed, (word,), other), name).bucket][name] += end - word
        assert [sum(chances[name] for chances in law.values()) for name in names] == [face.slots << 64] * len(names)
        worst = largest_odds((map(Fraction, chances) for chances in law.values()), worst)
    assert worst.within(budget)
    assert worst.tight(budget)


@EVERY
def test_two_names_agree_once_in_g_and_three_are_independent(
    bits: int, parities: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "mixed_words", toy_words(bits))
    of_seeds = maps(ParityFace(Fraction(2), 1 << parities), bits, parities)
    assert agreeing(of_seeds) == {Fraction(1, 1 << parities)}
    assert three_are_independent(of_seeds, 1 << parities)


def test_a_map_without_the_shift_is_caught_by_three_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs agree as they should; but whoever supports y and z supports their sum with them."""
    monkeypatch.setattr(device, "mixed_words", toy_words(3))
    of_seeds = maps(NoShift(Fraction(2), 4), 3, 2)
    assert agreeing(of_seeds) == {Fraction(1, 4)}
    assert not three_are_independent(of_seeds, 4)


@pytest.mark.parametrize("mutant", [OneMaskForAll, WrongBits])
def test_masks_that_miss_bits_or_come_twice_are_caught_by_two_names(
    mutant: type[ParityFace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "mixed_words", toy_words(3))
    assert agreeing(maps(mutant(Fraction(2), 4), 3, 2)) != {Fraction(1, 4)}
