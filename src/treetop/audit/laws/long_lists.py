"""Exact checks of lists too long to enumerate: of oracles that draw one word for each slot, as OUE does.

All reports of d bits are too many from d = 9 on. But if each bit is decided by its own word, the law of a report is the
product of the laws of its bits. So each word in turn lies at both ends of each interval between thresholds, while all
others are as low as they can be, and then as high: its own bit may change, and no other. That a bit depends on no other
word is seen for these settings of the others, not for all.
"""

from collections.abc import Hashable, Sequence
from itertools import permutations

from treetop.audit.audit_report import Check
from treetop.audit.laws.exact_ratios import Cases, Odds, tight, within
from treetop.audit.laws.oracle_laws import BUDGETS, UNKNOWN, FaceFactory, conduct_of, edges
from treetop.oracles.protocol import DeviceFace, Oracle, Words
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS

LENGTHS = (*range(9, 41), 321)
QUICK_BUDGETS = (Budget("1"),)


def has_a_word_for_each_slot(face: DeviceFace) -> bool:
    """Return whether the law of its reports can be read here."""
    return face.randomness == (Words(face.slots),)


def words_that_set(face: DeviceFace, values: Sequence[int]) -> list[list[int]] | None:
    """Return for every value how many of the 2^64 words set each bit, or None if a bit is not its own word's."""
    conduct = conduct_of(face, values)
    if conduct is None:
        return None
    widths = [end - start for start, end in edges(face)]
    counts = [[0] * face.slots for _ in values]
    for index in range(face.slots):
        of_sides: list[list[Sequence[Hashable]]] = []
        for side in ("lowest", "highest"):
            by_interval = {interval: conduct[side, index, interval] for interval, width in enumerate(widths) if width}
            others = {
                tuple((*report[:index], *report[index + 1 :]) for report in reports)  # type: ignore[index]
                for reports in by_interval.values()
            }
            if len(others) > 1:
                return None
            of_sides.append([[report[index] for report in reports] for reports in by_interval.values()])  # type: ignore[index]
        if of_sides[0] != of_sides[1]:
            return None
        for width, bits in zip(filter(None, widths), of_sides[0], strict=True):
            for place, bit in enumerate(bits):
                counts[place][index] += width * bool(bit)
    return counts


def worst_odds(face: DeviceFace, values: Sequence[int]) -> Odds:
    """Return the largest ratio of the probabilities of one report under two of the values."""
    counts = words_that_set(face, values)
    if counts is None:
        return UNKNOWN
    worst = Odds(1, 1)
    for one, other in permutations(counts, 2):
        larger = smaller = 1
        for p, q in zip(one, other, strict=True):
            if p != q:  # the bit is set, or not, whichever tells more
                set_bit = p * (WORDS - q) >= (WORDS - p) * q
                larger *= p if set_bit else WORDS - p
                smaller *= q if set_bit else WORDS - q
        if larger * worst.smaller > worst.larger * smaller:
            worst = Odds(larger, smaller)
    return worst


def long_list_cases(oracle: Oracle, quick: bool, factory: FaceFactory | None = None) -> Cases:
    """Return the largest ratio for every length and budget; in a quick audit for five values of each list."""
    make = factory or oracle.device_face
    cases: list[tuple[Budget, Odds]] = []
    for slots in LENGTHS:
        some = sorted({0, 1, slots // 2, slots - 2, slots - 1})
        values = some if quick or slots > LENGTHS[-2] else range(slots)
        budgets = QUICK_BUDGETS if quick else BUDGETS
        cases += [(budget, worst_odds(make(budget.odds_below, slots), values)) for budget in budgets]
    return cases


def long_list_checks(oracle: Oracle, quick: bool, factory: FaceFactory | None = None) -> list[Check]:
    """Check long lists, where the oracle draws a word for each slot; it has no such check otherwise."""
    if not oracle.listed or not has_a_word_for_each_slot(oracle.device(QUICK_BUDGETS[0], LENGTHS[0])):
        return []
    cases = long_list_cases(oracle, quick, factory)
    claim = f"{oracle.name}, {len(LENGTHS)} longer lists up to d = {max(LENGTHS)}: no output ratio exceeds e^epsilon"
    return [within(f"exact_long_{oracle.name}", claim, cases), tight(f"tight_long_{oracle.name}", cases)]
