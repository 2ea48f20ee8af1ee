"""Exact checks of every oracle: the law of its reports, read from the shipped device face, against e^epsilon.

The face declares what it draws and the thresholds that words are compared with. The audit feeds it every string of
bytes for what is drawn, one word from each end of every interval between thresholds, and the first seeds of those that
are reported. What it reads is therefore what the code does: of the declaration only the thresholds are believed, and
both ends of an interval must give the same reports.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import lcm, prod

from treetop.audit.audit_report import Check
from treetop.audit.exact_ratios import Cases, Odds, tight, within
from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy, word
from treetop.oracles.protocol import NO_CODE_KEY, Below, DeviceFace, Oracle, Seed, Words
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS

BUDGETS = tuple(Budget(text) for text in ("0.1", "0.5", "1", "2", "3", "4", "5", "8", "16"))
KEYS = (0, 1, 2, NO_CODE_KEY)
"""What devices hash where there is no list; the last one stands for all without a code."""
TOY_SEEDS = 16
MANY_BUCKETS = 1000
"""Oracles with more slots that are not listed are enumerated for one seed, and in a quick audit not at all."""

Intervals = tuple[int, ...]
"""For every word of a draw: which interval between thresholds it lies in."""
Cell = tuple[tuple[Intervals, int], ...]
"""How many draws give an output for one value, by the intervals of their words."""
FaceFactory = Callable[[Fraction, int], DeviceFace]


def edges(face: DeviceFace) -> list[tuple[int, int]]:
    """Return the first word of every interval between thresholds, and the one after its last."""
    bounds = (0, *face.thresholds, WORDS)
    return list(pairwise(bounds))


def scripts(face: DeviceFace, words: Sequence[int], seed: int, *, endings: bool = True) -> Iterator[bytes]:
    """Yield all strings of bytes that a face may read with these words and this seed; or only the one with zeros."""
    parts: list[list[bytes]] = []
    left = list(words)
    for need in face.randomness:
        match need:
            case Words(count):
                parts.append([b"".join(word(left.pop(0)) for _ in range(count))])
            case Seed(length):
                parts.append([seed.to_bytes(length, "big")])
            case Below(bound):
                length = ((bound - 1).bit_length() + 7) // 8
                strings = (number.to_bytes(length, "big") for number in range(1 << (8 * length)))
                parts.append(list(strings) if endings else [bytes(length)])
    return map(b"".join, product(*parts))


def number_of_words(face: DeviceFace) -> int:
    """Return how many words a report is decided by."""
    return sum(need.count for need in face.randomness if isinstance(need, Words))


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
        weights = {
            intervals: prod(widths[index] for index in intervals) * (common // total)
            for intervals, total in self.totals.items()
        }
        worst = Odds(1, 1)
        for column in self.columns:
            chances = [sum(weights[intervals] * count for intervals, count in cell) for cell in column]
            found = Odds(max(chances), min(chances))
            if found.larger * worst.smaller > worst.larger * found.smaller or found.infinite:
                worst = found
        return worst


def shape_of(face: DeviceFace, values: Sequence[int], seeds: int = 1) -> Shape:
    """Return the shape of a face from every draw and every value."""
    columns: set[frozenset[Cell]] = set()
    totals: dict[Intervals, int] = {}
    for seed in range(seeds):
        draws = {
            intervals: _draws(face, intervals, seed)
            for intervals in product(range(len(edges(face))), repeat=number_of_words(face))
        }
        totals = {intervals: accepted.total() for intervals, accepted in draws.items() if accepted}
        rows = [_row(draws, value) for value in values]
        outputs = {output for row in rows for output in row}
        columns |= {frozenset(row.get(output, ()) for row in rows) for output in outputs}
    return Shape(frozenset(columns), totals)


def _draws(face: DeviceFace, intervals: Intervals, seed: int) -> Counter[Hashable]:
    """Return the accepted draws whose words begin these intervals; those with too few bytes were redrawn."""
    words = [edges(face)[index][0] for index in intervals]
    accepted: Counter[Hashable] = Counter()
    for script in scripts(face, words, seed):
        try:
            accepted[face.draw(ScriptedEntropy(script))] += 1
        except Exhausted:
            continue
    return accepted


def _row(draws: dict[Intervals, Counter[Hashable]], value: int) -> dict[Hashable, Cell]:
    """Return for one value how many draws give each output."""
    outputs: dict[Hashable, dict[Intervals, int]] = {}
    for intervals, accepted in draws.items():
        for draw, count in accepted.items():
            cell = outputs.setdefault(draw.report(value), {})  # type: ignore[attr-defined]
            cell[intervals] = cell.get(intervals, 0) + count
    return {output: tuple(cell.items()) for output, cell in outputs.items()}


def is_faithful(face: DeviceFace, values: Sequence[int]) -> bool:
    """Return whether both ends of every interval give the same reports, each word in turn."""
    words = number_of_words(face)
    for index, (start, end) in product(range(words), edges(face)):
        if start == end:
            continue
        ends = [
            next(scripts(face, [number if i == index else 0 for i in range(words)], 0, endings=False))
            for number in (start, end - 1)
        ]
        first, last = (face.draw(ScriptedEntropy(script)) for script in ends)
        if any(first.report(value) != last.report(value) for value in values):
            return False
    return True


def oracle_cases(oracle: Oracle, quick: bool, factory: FaceFactory | None = None) -> Cases:
    """Return the largest ratio of an oracle for every size and budget; a shape is taken once, it has no budget."""
    make = factory or oracle.device_face
    cases: list[tuple[Budget, Odds]] = []
    if oracle.listed:
        for slots in oracle.audited_sizes(quick):
            faces = [(budget, make(budget.odds_below, slots)) for budget in BUDGETS]
            shape = shape_of(faces[0][1], range(slots))
            cases += [(budget, _judged(face, shape, range(slots))) for budget, face in faces]
        return cases
    for budget in BUDGETS:
        face = make(budget.odds_below, oracle.slots_for(budget.odds_below))
        many = face.slots > MANY_BUCKETS
        if not (many and quick):
            cases.append((budget, _judged(face, shape_of(face, KEYS, 1 if many else TOY_SEEDS), KEYS)))
    return cases


def _judged(face: DeviceFace, shape: Shape, values: Sequence[int]) -> Odds:
    """Return the largest ratio, which is unbounded where the face compares words with other thresholds than it says."""
    return shape.odds(face) if is_faithful(face, values) else Odds(1, 0)


def oracle_checks(oracle: Oracle, quick: bool) -> list[Check]:
    """Check that no output is more than e^epsilon times likelier for one value, and that it comes close."""
    cases = oracle_cases(oracle, quick)
    sizes = f"{len(set(oracle.audited_sizes(quick)))} sizes" if oracle.listed else "every seed of a toy family"
    claim = f"{oracle.name}, {sizes}, {len({budget for budget, _ in cases})} budgets: no output ratio exceeds e^epsilon"
    return [within(f"exact_{oracle.name}", claim, cases), tight(f"tight_{oracle.name}", cases)]


def event_law(face: DeviceFace, value: int, values: tuple[int, int], seeds: int = 64) -> dict[tuple[bool, bool], float]:
    """Return how likely a report of a value supports the first and the second of two values."""
    total: Counter[tuple[bool, bool]] = Counter()
    widths = [end - start for start, end in edges(face)]
    toys = seeds if any(isinstance(need, Seed) for need in face.randomness) else 1
    for seed, intervals in product(range(toys), product(range(len(widths)), repeat=number_of_words(face))):
        draws = _draws(face, intervals, seed)
        weight = prod(widths[index] for index in intervals) / (WORDS ** len(intervals) * draws.total() * toys)
        for draw, count in draws.items():
            report = draw.report(value)  # type: ignore[attr-defined]
            total[face.supports(report, values[0]), face.supports(report, values[1])] += weight * count
    return dict(total)
