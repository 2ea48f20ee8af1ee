"""How often the intervals of named items hold the true count: `python -m benchmarks.interval_coverage [RUNS]`.

60,060 users in four unequal parties, one of 60; ten popular items and 500 rare ones; k = 10, exact simulation, seed 77.
`clear`: the popular items have 12 to 3.5 % of users each; `weak`: 0.8 to 0.4 %. Each cell has the mean of (count - true
count) / standard error over all items that were named, and the share of 95 % intervals that hold the true count; then
the same of the items that are marked. Mechanisms that name other items in each run are asked fewer times.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation, federation_from_mapping
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.mechanisms.query import Query
from treetop.query.preparation import prepared
from treetop.simulation.run import run

SIZES, RARE, K, SEED, RUNS = (40_000, 15_000, 5_000, 60), 500, 10, 77, 60
POPULAR = {
    "clear": np.array([0.12, 0.10, 0.09, 0.08, 0.07, 0.06, 0.05, 0.045, 0.04, 0.035]),
    "weak": np.linspace(0.008, 0.004, K),
}
EPSILONS = (1.0, 4.0)
Z95 = 1.96


def number(place: int) -> str:
    return str(1000 + 7919 * place)


def word(place: int) -> str:
    return "".join(chr(97 + place // 26**letter % 26) for letter in range(4)) + "x"


def federation(popular: np.ndarray, name: Callable[[int], str]) -> Federation:
    shares = np.concatenate([popular, np.full(RARE, (1 - popular.sum()) / RARE)])
    randomness = np.random.default_rng(0)
    drawn = {f"p{place}": randomness.multinomial(users, shares) for place, users in enumerate(SIZES)}
    return federation_from_mapping(
        {party: {name(place): int(n) for place, n in enumerate(held) if n} for party, held in drawn.items()}
    )


def modes() -> Iterator[tuple[str, Callable[[int], str], dict[str, Any], int]]:
    """Yield what is asked, by which names, and how many times fewer runs it gets."""
    places = range(K + RARE)
    yield "panorama, catalogue", number, {"catalogue": ItemCatalogue(tuple(map(number, places)))}, 1
    yield "panorama, ids", number, {}, 1
    yield "panorama, word list", word, {"word_list": ItemCatalogue(tuple(map(word, places)))}, 4
    yield "canopy", number, {"mechanism": "canopy", "encoding": "ids"}, 1
    for mechanism in ("fedpem", "gtf", "tap", "taps"):
        for oracle in ("krr", "olh"):
            asked = {"mechanism": mechanism, "encoding": "ids", "oracle": oracle}
            yield f"{mechanism}, {oracle}", number, asked, 4


def cell(popular: np.ndarray, name: Callable[[int], str], asked: dict[str, Any], epsilon: float, runs: int) -> str:
    taken = prepared(federation(popular, name), Query(K, epsilon, **asked), seed=3)
    errors, marks = [], []
    for repetition in range(runs):
        found = run(taken.mechanism, taken.parameters, taken.population, seed=SEED, repetition=repetition).ranking
        true = np.array(taken.population.true_counts(found.prefixes), dtype=float)
        errors.append((found.counts - true) / np.sqrt(found.variances))
        marks.append(np.zeros(len(found), dtype=bool) if found.significant is None else found.significant)
    every, marked = np.concatenate(errors), np.concatenate(marks)
    return f"{_said(every)} | {_said(every[marked])}"


def _said(errors: np.ndarray) -> str:
    return f"{errors.mean():+.2f}, {np.mean(np.abs(errors) < Z95):.0%} of {len(errors)}" if len(errors) else "–"


def main(runs: int) -> None:
    print("| how | items | epsilon | named | marked |\n|---|---|---|---|---|")
    for said, name, asked, fewer in modes():
        for items, popular in POPULAR.items():
            for epsilon in EPSILONS:
                found = cell(popular, name, asked, epsilon, max(runs // fewer, 2))
                print(f"| {said} | {items} | {epsilon:g} | {found} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
