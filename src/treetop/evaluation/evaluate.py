"""A grid of simulated runs, averaged: `treetop.evaluate`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treetop.datasets.loading import as_federation
from treetop.encoding.item_codecs import ItemCodec
from treetop.evaluation.execute import Progress, execute_cells
from treetop.evaluation.grid import Cell, Grid, cells_of
from treetop.evaluation.results import Evaluation, Row, row_of
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import MECHANISMS
from treetop.mechanisms.strategy import trie_codec
from treetop.oracles.registry import AUTO
from treetop.query.find import checked_seed, warn_of
from treetop.query.preparation import mechanism_notes
from treetop.simulation.population import Population


@dataclass(frozen=True, eq=False)
class Experiment:
    """A grid over one population, ready to run."""

    population: Population
    grid: Grid
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        data: Any,
        cells: tuple[Cell, ...],
        *,
        repeats: int,
        seed: int | None,
        encoding: str | ItemCodec | None = None,
        simulator: str = "exact",
        settings: Mapping[str, object] | None = None,
    ) -> "Experiment":
        """Check what was asked for, and encode the data; `settings` are those that the cells were made with."""
        grid = Grid(cells, repeats, checked_seed(seed), simulator)
        federation = as_federation(data)
        population = Population(federation, trie_codec(encoding or federation.encoding, cells[0].parameters))
        notes = [
            note
            for cell in cells
            for note in mechanism_notes(cell.mechanism, cell.parameters, population, settings or {})
        ]
        return cls(population, grid, tuple(dict.fromkeys((*population.notes, *notes))))

    def rows(self, workers: int = 1, progress: Progress = lambda _: None) -> Iterator[tuple[int, Row]]:
        """Yield the index and the row of every cell as soon as all its repetitions are done."""
        for index, scores in execute_cells(self.population, self.grid, workers, progress):
            yield index, row_of(self.population, self.grid.cells[index], scores)

    def evaluation(self, rows: Mapping[int, Row]) -> Evaluation:
        """Return rows in the order of the grid, however they were finished."""
        return Evaluation(tuple(rows[index] for index in sorted(rows)), self.notes, self.grid.seed)


def evaluate(
    data: Any,
    *,
    mechanisms: Sequence[str | Mechanism[Any]] = tuple(MECHANISMS),
    epsilons: Sequence[float] = (4.0,),
    ks: Sequence[int] = (10,),
    oracles: Sequence[Any] = (AUTO,),
    encoding: str | ItemCodec | None = None,
    repeats: int = 50,
    workers: int = 1,
    seed: int | None = None,
    simulator: str = "exact",
    progress: Progress = lambda _: None,
    **settings: object,
) -> Evaluation:
    """Return mean and standard error of every cell of a grid, one row each.

    `data` is what `find` takes; mechanisms, oracles and the encoding are names or objects. `progress` is called with
    the number of runs that were finished since the last call. With several workers a program of its own needs the
    usual `if __name__ == "__main__":`. What a reader should know is in `notes`, and a warning each.

    >>> import treetop
    >>> drinks = {"harbour": {"chai": 9000, "cocoa": 2000}, "market": {"chai": 5000, "latte": 3000}}
    >>> evaluation = treetop.evaluate(drinks, mechanisms=["gtf", "taps"], ks=[2], repeats=3, seed=1)
    >>> [row.mechanism for row in evaluation.rows]
    ['gtf', 'taps']
    >>> evaluation.table.num_rows, evaluation.seed
    (2, 1)
    """
    cells = cells_of(mechanisms, oracles, epsilons, ks, settings, encoding=encoding)
    experiment = Experiment.of(
        data, cells, repeats=repeats, seed=seed, encoding=encoding, simulator=simulator, settings=settings
    )
    warn_of(experiment.notes)
    return experiment.evaluation(dict(experiment.rows(workers, progress)))
