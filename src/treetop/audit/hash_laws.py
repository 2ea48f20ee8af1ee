"""The exact law of OLH over a toy family: the first seeds of the shipped hash, every one of them enumerated."""

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import Protocol

from treetop.audit.exact_ratios import Odds, largest_odds
from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy, threshold_of, word
from treetop.federation.ports import Entropy
from treetop.federation.samplers import HashDraw
from treetop.federation.thresholds import WORDS
from treetop.privacy.budget import Budget

KEYS = (0, 1, 2, (1 << 64) - 1)
"""The last one is what a device without a code hashes."""


class Sampler(Protocol):
    """Anything that claims to be OLH."""

    @property
    def slots(self) -> int:
        """Return d', the number of buckets."""
        ...

    def draw(self, entropy: Entropy) -> HashDraw:
        """Take the randomness of one report: the seed, then that of k-RR."""
        ...


SamplerFactory = Callable[[Budget], Sampler]
Law = dict[Hashable, Fraction]


def law_under(sampler: Sampler, seed: int, key: int) -> Law:
    """Return the probability of every report of a key, given that the device drew this seed."""
    head = seed.to_bytes(4, "big")
    keep = threshold_of(lambda number: sampler.draw(ScriptedEntropy(head + word(number) + bytes(8))).bucket.kept)
    law: Law = {}
    for first, weight in ((max(keep - 1, 0), keep), (keep, WORDS - keep)):
        draws = list(_draws(sampler, head + word(first)))
        for draw in draws:
            report = draw.report(key)
            law[report] = law.get(report, Fraction(0)) + Fraction(weight, WORDS * len(draws))
    return law


def _draws(sampler: Sampler, head: bytes) -> Iterator[HashDraw]:
    length = 1 if sampler.slots - 1 <= 1 << 8 else 2
    for ending in range(1 << (8 * length)):
        try:
            yield sampler.draw(ScriptedEntropy(head + ending.to_bytes(length, "big")))
        except Exhausted:
            continue


def worst_odds(factory: SamplerFactory, budget: Budget, seeds: int) -> Odds:
    """Return the largest ratio over the reports of a toy family and all pairs of keys."""
    sampler = factory(budget)
    columns: list[list[Fraction]] = []
    for seed in range(seeds):
        laws = [law_under(sampler, seed, key) for key in KEYS]
        reports = {report for law in laws for report in law}
        columns.extend([law.get(report, Fraction(0)) for law in laws] for report in reports)
    return largest_odds(columns)
