"""Subset selection on a device: report w of the d slots, the true one among them with p = w e^eps / (w e^eps + d - w).

Privacy: a subset is reported with p / C(d - 1, w - 1) for a value in it and (1 - p) / C(d - 1, w) for one outside.
The ratio of the two is p / (1 - p) (d - w) / w = e^eps.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, cached_property
from math import comb
from typing import Any

from treetop.oracles import Below, Oracle, Randomness, Words
from treetop.oracles.oue.device import BitsFace


def subset_size(odds: Fraction, slots: int) -> int:
    """Return w, for which the variance is smallest."""
    return max(1, round(slots / (odds + 1)))


@cache
def keep_threshold(odds: Fraction, slots: int) -> int:
    """Return floor(2^64 p), from a lower bound of e^eps: rounded down, so that the ratio is at most e^eps."""
    w = subset_size(odds, slots)
    return int((w * odds) / (w * odds + slots - w) * 2**64)


class SubsetFace(BitsFace):
    """A report is a tuple of d bits, w of them set; how it is written and read is that of OUE."""

    @cached_property
    def w(self) -> int:
        return subset_size(self.odds, self.slots)

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        """Return whether the true slot is in, and which others are: w - 1 beside it, or w without it."""
        others = self.slots - 1
        return Words(), Below(comb(others, self.w - 1)), Below(comb(others, self.w))

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        return (keep_threshold(self.odds, self.slots),)

    def report(self, drawn: tuple[Any, ...], value: int) -> tuple[bool, ...]:
        (word,), beside, without = drawn
        kept = word < self.thresholds[0]
        bits = numbered_subset(self.slots - 1, self.w - kept, beside if kept else without)
        return (*bits[:value], kept, *bits[value:])

    def list_thresholds(self) -> Mapping[str, int]:
        return {"keep": self.thresholds[0]}

    def task_thresholds(self) -> Mapping[str, int]:
        return {}


def numbered_subset(slots: int, size: int, number: int) -> list[bool]:
    """Return one of the C(slots, size) subsets as bits: those with the first slot have the lowest numbers."""
    bits, subsets = [], comb(slots, size)
    for left in range(slots, 0, -1):
        with_next = subsets * size // left
        chosen = number < with_next
        bits.append(chosen)
        if chosen:
            subsets, size = with_next, size - 1
        else:
            subsets, number = subsets - with_next, number - with_next
    return bits


class SubsetSelection(Oracle):
    name, tag, listed = "subset", 64, True
    device_face = SubsetFace
    counting_face = "treetop_example_plugin.subset_counting:SubsetCounting"
    max_slots = (1 << 13) + 1  # a number below C(d - 1, w) has about d bits, and a device draws two of them
