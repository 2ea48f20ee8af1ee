"""A grid of runs as a table: `treetop.evaluate`."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from treetop.datasets.loading import as_federation
from treetop.evaluation.execute import execute
from treetop.evaluation.grid import Grid, cells_of
from treetop.evaluation.results import Row, table_of
from treetop.mechanisms.registry import MECHANISMS
from treetop.query.encode import populate
from treetop.query.find import checked_seed


def evaluate(
    data: Any,
    *,
    mechanisms: Sequence[str] = tuple(MECHANISMS),
    epsilons: Sequence[float] = (4.0,),
    ks: Sequence[int] = (10,),
    oracles: Sequence[str] = ("krr",),
    encoding: str | None = None,
    repeats: int = 50,
    workers: int = 1,
    seed: int | None = None,
    simulator: str = "exact",
    **settings: object,
) -> pa.Table:
    """Return mean and standard error of every cell of a grid, one row each; the seed is in the metadata."""
    cells = cells_of(mechanisms, oracles, epsilons, ks, settings)
    grid = Grid(cells, repeats, checked_seed(seed), simulator)
    population = populate(as_federation(data), cells[0].parameters, encoding)
    rows = in_order(list(execute(population, grid, workers)), grid)
    return table_of(rows, grid.seed)


def in_order(rows: Sequence[Row], grid: Grid) -> list[Row]:
    """Return rows in the grid's order, however they were finished."""
    keys = [(c.mechanism, c.parameters.oracle, float(c.parameters.epsilon), c.parameters.k) for c in grid.cells]
    return sorted(rows, key=lambda row: keys.index((row.mechanism, row.oracle, row.epsilon, row.k)))
