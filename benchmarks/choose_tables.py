"""F1 of all mechanisms, and of the catalogue as the limit: `python -m benchmarks.choose_tables [RUNS]`.

Writes docs/how_to/choose_tables.md. Two processes share the cells.
"""

import multiprocessing
import sys
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.histograms import FOLDER, histogram, missing
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import MECHANISMS
from treetop.privacy.epsilon import Epsilon
from treetop.query.find import score
from treetop.query.preparation import Prepared, prepared
from treetop.simulation.run import run

DATA = {"syn": "ids", "rdb": "words", "ycm": "words", "tys": "words", "names6": "words", "uba_sub_tmall": "ids"}
EPSILONS, KS = (0.5, 1.0, 2.0, 4.0), (10, 20, 40)
LIMIT = "catalogue"
NAMES = (*MECHANISMS, LIMIT)
RUNS, SEED, WORKERS = 50, 1, 2
PAGE = Path(__file__).parents[1] / "docs" / "how_to" / "choose_tables.md"

Cell = tuple[str, str, float, int]


@cache
def ready(data: str, name: str) -> Prepared:
    """Return all that a column's runs take; Panorama is given no list, and hashes words."""
    federation = histogram(data)
    if name == LIMIT:
        return prepared(federation, Query(1, catalogue=ItemCatalogue(tuple(federation.items))))
    encoding = None if name == Panorama.name else DATA[data]
    return prepared(federation, Query(1, mechanism=name, encoding=encoding), SEED)


def f1_scores(cell: Cell, runs: int) -> tuple[Cell, list[float]]:
    data, name, epsilon, k = cell
    taken = ready(data, name)
    parameters = replace(taken.parameters, k=k, epsilon=Epsilon(epsilon))
    outcomes = (run(taken.mechanism, parameters, taken.population, seed=SEED, repetition=r) for r in range(runs))
    return cell, [score(outcome, taken.population, k).f1 for outcome in outcomes]


def shown(values: list[float]) -> str:
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{np.mean(values):.2f} ± {error:.2f}".replace("0.", ".")


def page(found: dict[Cell, list[float]], runs: int) -> str:
    lines = [
        "# Measured F1 of every mechanism",
        "",
        f"Mean ± standard error of {runs} runs in exact simulation, oracle `auto`, seed {SEED}; the catalogue of all",
        "items is about the limit of what any search could find. Written by `python -m benchmarks.choose_tables`.",
    ]
    for data, encoding in DATA.items():
        lines += ["", f"## {data} ({encoding})", "", "| epsilon | k | " + " | ".join(NAMES) + " |"]
        lines.append("|---|---|" + "---|" * len(NAMES))
        for epsilon, k in product(EPSILONS, KS):
            cells = (shown(found[data, name, epsilon, k]) for name in NAMES)
            lines.append(f"| {epsilon:g} | {k} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    if absent := missing(list(DATA)):
        print(f"skipped: {', '.join(absent)} not found in {FOLDER} (TREETOP_DATA names another folder)")
        return 0
    cells = list(product(DATA, NAMES, EPSILONS, KS))
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        found = dict(pool.starmap(f1_scores, [(cell, runs) for cell in cells], chunksize=1))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(found, runs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
