"""Exact checks of every oracle: the law of its reports, read from the shipped device face, against e^epsilon.

The face declares what it draws and the thresholds that words are compared with. The audit feeds it every string of
bytes for what is drawn, the first word of every interval between thresholds, and the first seeds of those that are
reported. What it reads is therefore what the code does. Of the declaration only the thresholds are believed, and a face
is unfaithful to them if the ends of an interval give different reports, if its budget changes more than the thresholds,
or if it reads other bytes than it declares: then nothing is known, and the largest ratio is infinite.

Lists too long to enumerate follow, of oracles that draw one word for each slot, as OUE does. All reports of d bits are
too many from d = 9 on. But if each bit is decided by its own word, the law of a report is the product of the laws of
its bits. So each word in turn lies at both ends of each interval between thresholds, while all others are as low as
they can be, and then as high: its own bit may change, and no other. That a bit depends on no other word is seen for
these settings of the others, not for all.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, pairwise, permutations, product
from math import lcm, prod
from operator import attrgetter, methodcaller
from typing import Any

from treetop.audit.checks import NO_DIFFERENCE, Cases, Check, Odds, largest_odds, tight, within
from treetop.audit.chosen_inputs import Exhausted, ScriptedEntropy, word
from treetop.oracles.protocol import NO_CODE_KEY, Below, DeviceFace, Draw, Oracle, Seed, Words
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS

BUDGETS = tuple(Budget(text) for text in ("0.1", "0.5", "1", "2", "3", "4", "5", "8", "16"))
QUICK_BUDGETS = (Budget("1"),)
"""Of long lists in a quick audit."""
KEYS = (0, 1, 2, NO_CODE_KEY)
"""What devices hash where there is no list; the last one stands for all without a code."""
LONG_LENGTHS = (*range(9, 41), 321)
"""Numbers of slots, the dummy counted, of lists too long to enumerate."""
TOY_SEEDS = 16
"""Seeds that are enumerated in place of 2^32: the ratio must hold for each of them, as a seed is public."""
MANY_BUCKETS = 1000
"""Oracles with more slots that are not listed are enumerated for one seed, and in a quick audit not at all."""
UNKNOWN = Odds(1, 0)
"""Of a face that does not do what it declares."""

Intervals = tuple[int, ...]
"""For every word of a draw: which interval between thresholds it lies in."""
Cell = tuple[tuple[int, int], ...]
"""How many draws give an output for one value: a choice of intervals, by its number, and how many with it."""
FaceFactory = Callable[[Fraction, int], DeviceFace]


def edges(face: DeviceFace) -> list[tuple[int, int]]:
    """Return the first word of every interval between thresholds, and the one after its last."""
    return list(pairwise((0, *face.thresholds, WORDS)))


def number_of_words(face: DeviceFace) -> int:
    """Return the number of words that decide a report."""
    return sum(need.count for need in face.randomness if isinstance(need, Words))


def scripts(face: DeviceFace, words: Sequence[int], seed: int, numbers: str = "all") -> Iterator[bytes]:
    """Yield the strings of bytes that a face may read with these words and this seed.

    For a number below a bound they have all strings of bytes, or only that of the lowest or the highest number.
    """
    parts: list[Sequence[bytes]] = []
    left = iter(words)
    for need in face.randomness:
        match need:
            case Words(count):
                parts.append([b"".join(word(next(left)) for _ in range(count))])
            case Seed(length):
                parts.append([seed.to_bytes(length, "big")])
            case Below(bound):
                length = ((bound - 1).bit_length() + 7) // 8
                wanted = {"all": range(1 << (8 * length)), "lowest": [0], "highest": [bound - 1]}[numbers]
                parts.append([number.to_bytes(length, "big") for number in wanted])
    return map(b"".join, product(*parts))


def draws_of(face: DeviceFace, words: Sequence[int], seed: int) -> Counter[Draw]:
    """Return the accepted draws with these words; those that wanted more bytes were drawn again."""
    accepted: Counter[Draw] = Counter()
    for script in scripts(face, words, seed):
        try:
            accepted[face.draw(ScriptedEntropy(script))] += 1
        except Exhausted:
            continue
    return accepted


@dataclass(frozen=True)
class Shape:
    """A face's law but for its thresholds: which cells stand together in a column, one for each value."""

    columns: frozenset[frozenset[Cell]]
    totals: dict[Intervals, int]
    """Accepted strings of bytes, by the intervals of the words."""

    def odds(self, face: DeviceFace) -> Odds:
        """Return the largest ratio of two probabilities of one output, under the thresholds of a face."""
        widths = [end - start for start, end in edges(face)]
        common = lcm(*self.totals.values())
        weights = [prod(widths[i] for i in where) * (common // total) for where, total in self.totals.items()]
        return largest_odds(
            [sum(weights[choice] * count for choice, count in cell) for cell in column] for column in self.columns
        )


def shape_of(face: DeviceFace, values: Sequence[Any], seeds: int = 1) -> Shape | None:
    """Return the shape of a face from every draw and every value, or None if it reads other bytes than it declares."""
    # A threshold of 2^64 leaves an empty last interval, whose start is no word; its width of 0 cancels it.
    starts = [min(start, WORDS - 1) for start, _ in edges(face)]
    choices = list(product(range(len(starts)), repeat=number_of_words(face)))
    accepted = [
        [draws_of(face, [starts[index] for index in intervals], seed) for intervals in choices] for seed in range(seeds)
    ]
    totals = {tuple(draws.total() for draws in of_seed) for of_seed in accepted}
    if len(totals) > 1 or not all(min(totals)):
        return None
    try:
        columns = frozenset(column for of_seed in accepted for column in _columns(of_seed, values))
    except Exhausted:
        return None
    return Shape(columns, dict(zip(choices, min(totals), strict=True)))


def _columns(accepted: Sequence[Counter[Draw]], values: Sequence[Any]) -> set[frozenset[Cell]]:
    """Return the cells of each output, given the draws of each choice of intervals.

    While they are counted, a cell is a number that has a digit for each choice: far quicker than a table.
    """
    digit_bits = max(draws.total() for draws in accepted).bit_length()
    alike: defaultdict[int, list[Draw]] = defaultdict(list)
    for digit, draws in enumerate(accepted):
        for draw, count in draws.items():
            alike[count << digit * digit_bits].append(draw)
    columns: defaultdict[Hashable, set[int]] = defaultdict(set)
    seen: Counter[Hashable] = Counter()
    for value in values:
        cells: dict[Hashable, int] = {}
        for weight, draws_alike in alike.items():
            for output, times in Counter(map(methodcaller("report", value), draws_alike)).items():
                cells[output] = cells.get(output, 0) + times * weight
        seen.update(cells.keys())
        for output, cell in cells.items():
            columns[output].add(cell)
    for output, column in columns.items():
        if seen[output] < len(values):
            column.add(0)  # some value never gives this output: the ratio is infinite
    distinct = {frozenset(column) for column in columns.values()}
    return {frozenset(_digits(cell, digit_bits) for cell in column) for column in distinct}


def _digits(number: int, bits: int) -> Cell:
    """Return the digits that are not zero, each with its position; a digit has that many bits."""
    found: list[tuple[int, int]] = []
    while number:
        position = ((number & -number).bit_length() - 1) // bits
        digit = (number >> position * bits) & ((1 << bits) - 1)
        found.append((position, digit))
        number ^= digit << position * bits
    return tuple(found)


Conduct = dict[tuple[str, int, int], list[Hashable]]
"""The reports of all values, by which end everything else drawn is at, the word that varies, and its interval."""


def conduct_of(face: DeviceFace, values: Sequence[Any]) -> Conduct | None:
    """Return what a face reports in each interval, or None if it does not do what it declares.

    Each word in turn lies at both ends of each interval, which must give the same reports, while everything else that
    is drawn is as low as it can be, and then as high.
    """
    bounds = edges(face)
    words = number_of_words(face)
    found = Conduct()
    if any(start > end for start, end in bounds):
        return None
    for (side, rest), index in product((("lowest", 0), ("highest", WORDS - 1)), range(words)):
        for interval, (start, end) in enumerate(bounds):
            if start == end:
                continue
            before = [rest] * index
            after = [rest] * (words - 1 - index)
            first, last = (_reports(face, values, [*before, at, *after], side) for at in (start, end - 1))
            if first is None or first != last:
                return None
            found[side, index, interval] = first
    return found


def _reports(face: DeviceFace, values: Sequence[Any], words: Sequence[int], numbers: str) -> list[Hashable] | None:
    """Return the reports of one draw, or None if it reads other bytes than declared, before the value or after."""
    (script,) = scripts(face, words, 0, numbers)
    entropy = ScriptedEntropy(script)
    try:
        draw = face.draw(entropy)
        reports = [draw.report(value) for value in values]
    except Exhausted:
        return None
    return reports if entropy.taken == len(script) else None


def worst_odds(faces: Sequence[DeviceFace], values: Sequence[Any], seeds: int = 1) -> list[Odds]:
    """Return the largest ratio of each face; they differ in their budget only, so all share the shape of the first."""
    first, *_ = conducts = [conduct_of(face, values) for face in faces]
    shape = shape_of(faces[0], values, seeds) if first else None
    return [
        shape.odds(face)
        if first
        and shape
        and conduct
        # Intervals that are empty in one face are missing from its conduct.
        and all(conduct[where] == first[where] for where in conduct.keys() & first.keys())
        else UNKNOWN
        for face, conduct in zip(faces, conducts, strict=True)
    ]


def oracle_cases(oracle: Oracle, quick: bool, factory: FaceFactory | None = None) -> Cases:
    """Return the largest ratio of an oracle for every size and budget."""
    make = factory or oracle.device_face
    cases: list[tuple[Budget, Odds]] = []
    if oracle.listed:
        for slots in oracle.audited_sizes(quick):
            faces = [make(budget.odds_below, slots) for budget in BUDGETS]
            alike = [list(some) for _, some in groupby(faces, key=attrgetter("randomness"))]  # a budget may change it
            cases += zip(BUDGETS, [odds for some in alike for odds in worst_odds(some, range(slots))], strict=True)
        return cases
    for budget in BUDGETS:
        face = make(budget.odds_below, oracle.slots_for(budget.odds_below))
        many = face.slots > MANY_BUCKETS
        if not (many and quick):
            cases.append((budget, worst_odds([face], KEYS, 1 if many else TOY_SEEDS)[0]))
    return cases


def oracle_checks(oracle: Oracle, quick: bool, factory: FaceFactory | None = None) -> list[Check]:
    """Check that no output is more than e^epsilon times likelier for one value, and that it comes close."""
    cases = oracle_cases(oracle, quick, factory)
    sizes = f"{len(set(oracle.audited_sizes(quick)))} sizes" if oracle.listed else "every seed of a toy family"
    claim = f"{oracle.name}, {sizes}, {len({budget for budget, _ in cases})} budgets: no output ratio exceeds e^epsilon"
    return [within(f"exact_{oracle.name}", claim, cases), tight(f"tight_{oracle.name}", cases)]


@lru_cache
def weighted_draws(face: DeviceFace, seeds: int) -> list[tuple[Draw, Fraction]]:
    """Return every draw of a face with its probability, under the first seeds of those that are reported."""
    toys = seeds if any(isinstance(need, Seed) for need in face.randomness) else 1
    found: list[tuple[Draw, Fraction]] = []
    for seed, chosen in product(range(toys), product(edges(face), repeat=number_of_words(face))):
        draws = draws_of(face, [start for start, _ in chosen], seed)
        weight = Fraction(prod(end - start for start, end in chosen), WORDS ** len(chosen) * draws.total() * toys)
        found += [(draw, weight * count) for draw, count in draws.items()]
    return found


@lru_cache
def report_law(face: DeviceFace, values: tuple[int, ...], seeds: int = 2) -> dict[Hashable, list[Fraction]]:
    """Return how likely every report is under each of some values."""
    law: dict[Hashable, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * len(values))
    for draw, weight in weighted_draws(face, seeds):
        for index, value in enumerate(values):
            law[draw.report(value)][index] += weight
    return dict(law)


def event_law(face: DeviceFace, value: int, values: tuple[int, int], seeds: int = 64) -> dict[tuple[bool, bool], float]:
    """Return how likely a report of a value supports the first and the second of two values."""
    total: defaultdict[tuple[bool, bool], float] = defaultdict(float)
    for report, (chance,) in report_law(face, (value,), seeds).items():
        total[face.supports(report, values[0]), face.supports(report, values[1])] += float(chance)
    return dict(total)


def has_a_word_for_each_slot(face: DeviceFace) -> bool:
    """Return whether a face draws one word for each slot, so that the law of its reports is a product."""
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
            for number, bit in enumerate(bits):
                counts[number][index] += width * bool(bit)
    return counts


def long_list_odds(face: DeviceFace, values: Sequence[int]) -> Odds:
    """Return the largest ratio of the probabilities of one report under two of the values."""
    counts = words_that_set(face, values)
    if counts is None:
        return UNKNOWN
    worst = NO_DIFFERENCE
    for one, other in permutations(counts, 2):
        larger = smaller = 1
        for p, q in zip(one, other, strict=True):
            # Bits are independent, so the worst report has each bit at the value with the larger ratio.
            if p != q:
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
    for slots in LONG_LENGTHS:
        some = sorted({0, 1, slots // 2, slots - 2, slots - 1})
        values = some if quick or slots > LONG_LENGTHS[-2] else range(slots)
        budgets = QUICK_BUDGETS if quick else BUDGETS
        cases += [(budget, long_list_odds(make(budget.odds_below, slots), values)) for budget in budgets]
    return cases


def long_list_checks(oracle: Oracle, quick: bool, factory: FaceFactory | None = None) -> list[Check]:
    """Check long lists, where the oracle draws a word for each slot; it has no such check otherwise."""
    if not oracle.listed or not has_a_word_for_each_slot(oracle.device(QUICK_BUDGETS[0], LONG_LENGTHS[0])):
        return []
    cases = long_list_cases(oracle, quick, factory)
    lists = f"{len(LONG_LENGTHS)} longer lists up to d = {max(LONG_LENGTHS)}"
    claim = f"{oracle.name}, {lists}: no output ratio exceeds e^epsilon"
    return [within(f"exact_long_{oracle.name}", claim, cases), tight(f"tight_long_{oracle.name}", cases)]
