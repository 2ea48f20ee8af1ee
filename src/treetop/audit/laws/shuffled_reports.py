"""The central guarantee against the exact law of a few shuffled reports, read from the shipped device faces.

Who sees n reports in no order sees how often each was sent. For n so small that every such histogram can be enumerated,
the exact delta of an oracle is computed in rationals for one user who holds one value or another, and others who hold
whatever they like; it must never exceed what `privacy/shuffling.py` promises.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, permutations
from math import lcm

from treetop.audit.audit_report import Check
from treetop.audit.laws.oracle_laws import KEYS, report_law
from treetop.oracles.protocol import DeviceFace, Oracle
from treetop.privacy.budget import Budget, exponential_bounds
from treetop.privacy.shuffling import Clones

BUDGETS = tuple(Budget(text) for text in ("0.5", "1", "2", "4"))
PARTS = tuple(Fraction(part, 20) for part in (1, 5, 10, 15, 19))
"""Central epsilons that are looked at, as parts of the local one."""
SLOTS = 3
Histogram = tuple[int, ...]
Law = dict[Histogram, int]
"""How likely every histogram is, in whole units."""


def classes(face: DeviceFace, values: Sequence[int]) -> tuple[list[tuple[int, ...]], int]:
    """Return, for each value, how likely each class of reports is, in units of which there are so many.

    A class is made of reports that all values make likely in the same proportions: which of them was sent says nothing
    about the value, so nothing is lost.
    """
    together: defaultdict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
    for chances in report_law(face, tuple(values)).values():
        scale = sum(chances)
        together[tuple(chance / scale for chance in chances)] += scale
    kinds = [[part * scale for part in parts] for parts, scale in together.items()]
    units = lcm(*(chance.denominator for kind in kinds for chance in kind))
    return list(zip(*([int(chance * units) for chance in kind] for kind in kinds), strict=True)), units


def with_report(law: Law, sender: tuple[int, ...]) -> Law:
    """Return how likely every histogram is with one more report."""
    grown: defaultdict[Histogram, int] = defaultdict(int)
    for histogram, chance in law.items():
        for kind, likely in enumerate(sender):
            grown[(*histogram[:kind], histogram[kind] + 1, *histogram[kind + 1 :])] += chance * likely
    return dict(grown)


def exact_deltas(face: DeviceFace, values: Sequence[int], reports: int, odds: Sequence[Fraction]) -> list[Fraction]:
    """Return the largest delta for each of some odds: over our user's two values, and what all others hold.

    It is the sum of what is likelier under one value than `odds` times under the other.
    """
    (laws, units) = classes(face, values)
    worst = [0] * len(odds)
    for held in combinations_with_replacement(laws, reports - 1):
        others = reduce(with_report, held, {(0,) * len(laws[0]): 1})
        for one, other in permutations([with_report(others, law) for law in laws], 2):
            pairs = [(chance, other[seen]) for seen, chance in one.items()]
            for index, ratio in enumerate(odds):
                top = ratio.numerator
                bottom = ratio.denominator
                excess = sum(max(bottom * chance - top * rest, 0) for chance, rest in pairs)
                worst[index] = max(worst[index], excess)
    return [Fraction(excess, ratio.denominator * units**reports) for excess, ratio in zip(worst, odds, strict=True)]


def compared(oracle: Oracle, quick: bool) -> Iterator[tuple[Fraction, float]]:
    """Yield the exact delta and the bound, for every budget, number of reports and central epsilon."""
    for budget in BUDGETS[1:3] if quick else BUDGETS:
        slots = SLOTS if oracle.listed else oracle.slots_for(budget.odds_below)
        values = tuple(range(SLOTS)) if oracle.listed else KEYS[:2]
        face = oracle.device_face(budget.odds_below, slots)
        central = [part * budget.amount for part in PARTS]
        odds = [exponential_bounds(part)[0] for part in central]
        for reports in (2, 4) if quick else range(1, 8):
            bounds = Clones(reports, float(budget.amount)).delta([float(part) for part in central])
            yield from zip(exact_deltas(face, values, reports, odds), bounds.tolist(), strict=True)


def shuffled_check(oracle: Oracle, quick: bool) -> Check:
    """Check that the enumerated delta is never above the promised one; the number is the largest quotient."""
    largest = max(exact / Fraction(bound) for exact, bound in compared(oracle, quick))
    claim = (
        f"{oracle.name}, {'2 and 4' if quick else '1 to 7'} reports shuffled: delta is at most that of the central "
        "guarantee (number: the largest part of it)"
    )
    return Check(f"shuffled_{oracle.name}", largest <= 1, claim, float(largest), 1.0)
