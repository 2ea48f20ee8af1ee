"""The exact law of k-RR, read from the shipped sampler by feeding it every possible byte."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Protocol

from treetop.audit.exact_ratios import Odds, largest_odds
from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy, threshold_of, word
from treetop.federation.ports import Entropy
from treetop.federation.thresholds import WORDS
from treetop.privacy.budget import Budget

Cell = tuple[int, int]
"""How many of the truthful, and of the lying, draws give an output for one value."""


class Draw(Protocol):
    """The randomness of one report."""

    @property
    def kept(self) -> bool:
        """Return whether the report is true."""
        ...

    def report(self, slot: int) -> Hashable:
        """Return the output for a value."""
        ...


class Sampler(Protocol):
    """Anything that claims to be k-RR."""

    def draw(self, entropy: Entropy) -> Draw:
        """Take the randomness of one report."""
        ...


SamplerFactory = Callable[[Budget, int], Sampler]


def keep_word(sampler: Sampler) -> int:
    """Return the shipped keep threshold as the sampler's own conduct shows it."""
    endings = bytes(8)  # the lie that every sampler accepts
    return threshold_of(lambda number: sampler.draw(ScriptedEntropy(word(number) + endings)).kept)


def lie_bytes(sampler: Sampler, keep: int) -> int:
    """Return how many bytes a lie is drawn from."""
    script = ScriptedEntropy(word(keep) + bytes(8))
    sampler.draw(script)
    return script.taken - 8


def draws_after(sampler: Sampler, first: int, endings: int) -> Counter[Draw]:
    """Return the accepted draws that begin with one word and end in any string of that many bytes."""
    accepted: Counter[Draw] = Counter()
    for ending in product(range(256), repeat=endings):
        try:
            accepted[sampler.draw(ScriptedEntropy(word(first) + bytes(ending)))] += 1
        except Exhausted:
            continue
    return accepted


@dataclass(frozen=True)
class SlotShape:
    """Everything about a sampler's law but its threshold: which cells stand together in a column."""

    columns: frozenset[frozenset[Cell]]
    truths: int
    lies: int
    """Accepted strings of lie bytes after a truthful and after a lying first word."""

    def odds(self, keep: int) -> Odds:
        """Return the largest ratio of output probabilities under a threshold."""
        return largest_odds([self._probability(cell, keep) for cell in column] for column in self.columns)

    def _probability(self, cell: Cell, keep: int) -> Fraction:
        truthful, lying = cell
        return Fraction(truthful * keep, self.truths * WORDS) + Fraction(lying * (WORDS - keep), self.lies * WORDS)


def slot_shape(sampler: Sampler, slots: int, keep: int) -> SlotShape:
    """Return the shape of a sampler over d slots, from every draw and every value."""
    endings = lie_bytes(sampler, keep)
    truthful = draws_after(sampler, max(keep - 1, 0), endings)
    lying = draws_after(sampler, keep, endings)
    rows = [_row(truthful, lying, slot) for slot in range(slots)]
    return SlotShape(_columns(rows), truthful.total(), lying.total())


def _row(truthful: Counter[Draw], lying: Counter[Draw], slot: int) -> dict[Hashable, Cell]:
    told, lied = _outputs(truthful, slot), _outputs(lying, slot)
    return {output: (told.get(output, 0), lied.get(output, 0)) for output in told.keys() | lied.keys()}


def _outputs(draws: Counter[Draw], slot: int) -> dict[Hashable, int]:
    outputs: dict[Hashable, int] = {}
    for draw, count in draws.items():
        output = draw.report(slot)
        outputs[output] = outputs.get(output, 0) + count
    return outputs


def _columns(rows: list[dict[Hashable, Cell]]) -> frozenset[frozenset[Cell]]:
    cells: dict[Hashable, set[Cell]] = {}
    seen: Counter[Hashable] = Counter()
    for row in rows:
        seen.update(row.keys())
        for output, cell in row.items():
            cells.setdefault(output, set()).add(cell)
    for output, column in cells.items():
        if seen[output] < len(rows):
            column.add((0, 0))
    return frozenset(frozenset(column) for column in cells.values())


def worst_odds(factory: SamplerFactory, budgets: Iterable[Budget], slots: int) -> list[tuple[Budget, Odds]]:
    """Return the largest ratio for every budget; the shape is taken once, as it does not depend on it."""
    samplers = [(budget, factory(budget, slots)) for budget in budgets]
    keeps = [keep_word(sampler) for _, sampler in samplers]
    shape = slot_shape(samplers[0][1], slots, keeps[0])
    return [(budget, shape.odds(keep)) for (budget, _), keep in zip(samplers, keeps, strict=True)]
