"""A grid of simulated runs, averaged: `treetop.evaluate`.

From the outside in: `evaluate` builds cells and what they are given, an `Experiment` prepares their populations and
runs them, and an `Evaluation` holds rows of means with standard errors.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treetop.answers.result_files import html_table, html_text, write_result
from treetop.datasets.federation import Federation
from treetop.datasets.item_lists import Words, catalogue_of, word_list_of
from treetop.datasets.loading import as_federation
from treetop.encoding.item_codecs import Hashed, ItemCatalogue, ItemCodec
from treetop.errors import InvalidInput
from treetop.evaluation.grid import KNOWN, LISTED, SPELT, Cell, Grid, Progress, cells_of, execute_cells
from treetop.extras import needed_for
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.panorama.parameters import MAX_CODE_BITS
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import MECHANISMS
from treetop.mechanisms.strategy import check_takes_sets
from treetop.oracles.registry import AUTO
from treetop.query.find import Score, checked_seed, warn_of
from treetop.query.preparation import Populations, Prepared, prepared
from treetop.query.sets import settled_sets, whole_items
from treetop.simulation.population import Population
from treetop.wording import Note

MEANINGS = (
    "F1: how well the k items found match the true top k, 1 at best. NCR: the same, the most popular weighing most. "
    "recall: the share of the true top k that is in a party's own top k, on average; where parties are unlike each "
    "other it is low, however good the common answer is. kbit up: what a party sends. ms: time of one run."
)


@dataclass(frozen=True)
class Row:
    """One cell: means over its repetitions, with standard errors from two repetitions on."""

    data: str
    mechanism: str
    oracle: str
    encoding: str
    epsilon: float
    k: int
    levels: int
    repeats: int
    f1: float
    f1_se: float | None
    ncr: float
    ncr_se: float | None
    local_recall: float
    uplink_bits: float
    seconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as people read it: mechanism, oracle, epsilon, k, F1, NCR, recall, kilobits, milliseconds."""
        f1, ncr = (
            f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"
            for mean, error in ((self.f1, self.f1_se), (self.ncr, self.ncr_se))
        )
        costs = (f"{self.local_recall:.3f}", f"{self.uplink_bits / 1000:.1f}", f"{self.seconds * 1000:.0f}")
        return (self.mechanism, self.oracle, f"{self.epsilon:g}", str(self.k), f1, ncr, *costs)


def row_of(population: Population, cell: Cell, scores: Sequence[Score]) -> Row:
    """Average the repetitions of a cell."""
    return Row(
        data=population.federation.name,
        mechanism=cell.name,
        oracle=cell.parameters.oracle_name,
        encoding=population.codec.name,
        epsilon=float(cell.parameters.epsilon),
        k=cell.parameters.k,
        levels=len(cell.mechanism.levels(cell.parameters)),
        repeats=len(scores),
        f1=mean([score.f1 for score in scores]),
        f1_se=standard_error([score.f1 for score in scores]),
        ncr=mean([score.ncr for score in scores]),
        ncr_se=standard_error([score.ncr for score in scores]),
        local_recall=mean([score.local_recall for score in scores]),
        uplink_bits=mean([score.uplink_bits for score in scores]),
        seconds=mean([score.seconds for score in scores]),
    )


def mean(values: Sequence[float]) -> float:
    """Return the mean of some repetitions."""
    return float(np.mean(values))


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean of some repetitions; None for a single one."""
    return float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The rows of a grid in its order, notes for their reader, and the seed that reproduces them."""

    rows: tuple[Row, ...]
    notes: tuple[Note, ...]
    seed: int

    @cached_property
    def table(self) -> pa.Table:
        """Return the rows as a pyarrow table with the seed in its metadata."""
        kinds: dict[Any, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), float | None: pa.float64()}
        columns = [(field.name, kinds[field.type]) for field in fields(Row)]
        return pa.Table.from_pylist(self.to_json(), schema=pa.schema(columns, metadata={"seed": str(self.seed)}))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows as `treetop evaluate --json` prints them."""
        return [asdict(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; needs the extra `pandas`."""
        with needed_for("a DataFrame", "pandas"):
            return self.table.to_pandas()

    def write(self, path: str | Path) -> None:
        """Write the rows to .parquet, .csv, .json or .html, whole or not at all."""
        write_result(path, self.table, self.to_json(), self._repr_html_())

    def _repr_html_(self) -> str:
        """Return the rows as notebooks show them."""
        names = ["mechanism", "oracle", "ε", "k", "F1", "NCR", "recall", "kbit up", "ms"]
        rows = [[html_text(cell) for cell in row.cells] for row in self.rows]
        repeats = self.rows[0].repeats if self.rows else 0
        title = f"Means of {repeats} runs ± standard error, seed {self.seed}"
        return html_table(title, names, rows, 2, [MEANINGS, *(note.text for note in self.notes)])

    def __repr__(self) -> str:
        best = max(self.rows, key=lambda row: row.f1, default=None)
        found = "" if best is None else f"; best F1 {best.f1:.2f} by {best.mechanism}"
        return f"Evaluation({len(self.rows)} rows, seed {self.seed}{found})"


def cell_query(given: Query, cell: Cell, federation: Federation, others: tuple[Mechanism[Any], ...]) -> Query:
    """Return what a cell asks: what all cells are given, with its own mechanism, oracle, epsilon and k.

    Lists and texts are for Panorama alone, and a variant of it overrides those that were given.
    """
    parameters = cell.parameters
    asked = Query(
        parameters.k,
        float(parameters.epsilon),
        cell.mechanism,
        parameters.oracle,
        given.encoding,
        normalise=given.normalise,
        settings={**parameters.changed(), **given.settings},
        others=others,
    )
    if not cell.mechanism.reports_names:
        return asked
    named = replace(
        asked,
        mechanism=cell.mechanism.name,
        encoding=given.encoding if given.encoding == Hashed.name else None,
        # A trie searches codes that are longer than Panorama can count: their length is none of its settings.
        settings={
            name: value
            for name, value in asked.settings.items()
            if name != "bits" or cell.parameters.bits <= MAX_CODE_BITS
        },
    )
    if cell.variant == KNOWN or (given.catalogue is not None and not cell.variant):
        everything = ItemCatalogue(tuple(federation.items), source="all items of the data")
        return replace(named, catalogue=given.catalogue or everything, encoding=None)
    if cell.variant == SPELT:
        return replace(named, text_recovery=True)
    if cell.variant == LISTED and given.word_list is None:
        raise InvalidInput("variant_needs_word_list")
    texts = False if cell.variant == LISTED else given.text_recovery
    return replace(named, word_list=given.word_list, text_recovery=texts)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A grid over one federation, every cell with its population, ready to run."""

    populations: tuple[Population, ...]
    grid: Grid
    notes: tuple[Note, ...]

    @classmethod
    def of(
        cls,
        data: Any,
        cells: tuple[Cell, ...],
        given: Query = Query(),  # noqa: B008  frozen
        *,
        repeats: int,
        seed: int | None,
        simulator: str = "exact",
    ) -> "Experiment":
        """Check the request, and encode the data once for all cells that name items alike."""
        grid = Grid(cells, repeats, checked_seed(seed), simulator)
        names_items = any(cell.mechanism.reports_names for cell in cells)
        if not names_items and (given.catalogue or given.word_list or given.text_recovery is not None):
            raise InvalidInput("lists_without_panorama")
        federation = as_federation(data)
        encoded = Populations()
        others = tuple(cell.mechanism for cell in cells)
        if (items := given.settings.get("items_per_user")) is not None and federation.holds_sets:
            for cell in cells:
                check_takes_sets(cell.mechanism, whole_items(items))
        ready: dict[tuple[str, int], Prepared] = {}
        for cell in cells:
            if (what := _named_alike(cell)) not in ready:
                ready[what] = prepared(federation, cell_query(given, cell, federation, others), grid.seed, encoded)
        fitted = tuple(_fitted(cell, ready[_named_alike(cell)]) for cell in cells)
        notes = (*_unasked(cells), *(note for each in ready.values() for note in each.notes))
        populations = tuple(ready[_named_alike(cell)].population for cell in cells)
        return cls(populations, replace(grid, cells=fitted), tuple(dict.fromkeys(notes)))

    def rows(
        self, workers: int = 1, progress: Progress = lambda _: None, dask: str | None = None
    ) -> Iterator[tuple[int, Row]]:
        """Yield the index and the row of every cell as soon as all its repetitions are done."""
        for index, scores in execute_cells(self.populations, self.grid, workers, progress, dask):
            yield index, row_of(self.populations[index], self.grid.cells[index], scores)

    def evaluation(self, rows: Mapping[int, Row]) -> Evaluation:
        """Return rows in the order of the grid, not in the order in which they were finished."""
        return Evaluation(tuple(rows[index] for index in sorted(rows)), self.notes, self.grid.seed)


def _named_alike(cell: Cell) -> tuple[str, int]:
    """Return the key under which cells share one population."""
    return cell.name, cell.parameters.bits


def _fitted(cell: Cell, ready: Prepared) -> Cell:
    """Return a cell of Panorama with its lists, and with codes of the length that the items need."""
    if not cell.mechanism.reports_names:
        return cell
    given = cell.parameters
    # Cells share what was prepared for the first of them, but not its k, epsilon and oracle.
    parameters = replace(ready.parameters, k=given.k, epsilon=given.epsilon, oracle=given.oracle)
    return replace(cell, mechanism=ready.mechanism, parameters=parameters)


def _unasked(cells: Iterable[Cell]) -> tuple[Note, ...]:
    """Note the oracles that Panorama has no use for and is not run with."""
    oracles: dict[bool, set[str]] = {True: set(), False: set()}
    for cell in cells:
        oracles[cell.mechanism.reports_names and cell.variant != KNOWN].add(cell.parameters.oracle_name)
    missing = sorted(oracles[False] - oracles[True]) if oracles[True] else []
    return (Note("panorama_not_run_with", oracles=missing),) if missing else ()


def default_mechanisms(federation: Federation) -> tuple[str, ...]:
    """Return all mechanisms, or, where users hold sets, those that take them."""
    return tuple(
        name
        for name, mechanism in MECHANISMS.items()
        if not federation.holds_sets or "items_per_user" in mechanism.parameters.settings()
    )


def _listed(values: Any) -> tuple[Any, ...]:
    """Return one value, several, or the names in a text such as `taps,canopy`."""
    if isinstance(values, str):
        return tuple(name.strip() for name in values.split(","))
    return tuple(values) if isinstance(values, Iterable) else (values,)


def evaluate(
    data: Any,
    *,
    mechanisms: str | Mechanism[Any] | Sequence[str | Mechanism[Any]] | None = None,
    epsilons: float | Sequence[float] = (DEFAULT_EPSILON,),
    ks: int | Sequence[int] = (DEFAULT_K,),
    oracles: Any = (AUTO,),
    encoding: str | ItemCodec | None = None,
    catalogue: ItemCatalogue | Iterable[object] | str | Path | None = None,
    word_list: Words | None = None,
    word_list_order: str | None = None,
    text_recovery: bool | None = None,
    normalise: str | Sequence[str] = (),
    user: str | None = None,
    rows_are_users: bool = False,
    items_per_user: int | None = None,
    reading: str | None = None,
    repeats: int = 50,
    workers: int = 1,
    dask: str | None = None,
    seed: int | None = None,
    simulator: str = "exact",
    progress: Progress = lambda _: None,
    **settings: object,
) -> Evaluation:
    """Return mean and standard error of every cell of a grid, one row each.

    `data` is what `find` takes; mechanisms, oracles and the encoding are names or objects, one or several of them.
    Panorama takes lists and texts as `find` does, and is also `panorama:list` (the word list alone), `panorama:texts`
    (texts alone) and `panorama:catalogue` (all items known: the limit). Where users hold many items, `user`,
    `items_per_user` and `reading` are those of `find`, and the default mechanisms those that take sets. `progress` is
    called with the number of runs that were finished since the last call. `dask` is the address of a scheduler,
    tcp://HOST:PORT: its cluster runs the grid, with the same numbers. Several workers find a mechanism or oracle that
    is defined in the program itself only behind the usual `if __name__ == "__main__":`; nothing else needs it. What a
    reader should know is in `notes`, and a warning each.

    >>> import treetop
    >>> drinks = {"harbour": {"chai": 9000, "cocoa": 2000}, "market": {"chai": 5000, "latte": 3000}}
    >>> evaluation = treetop.evaluate(drinks, mechanisms=["gtf", "taps"], ks=[2], repeats=3, seed=1)
    >>> [row.mechanism for row in evaluation.rows]
    ['gtf', 'taps']
    >>> evaluation.table.num_rows, evaluation.seed
    (2, 1)
    """
    federation, of_sets = settled_sets(
        as_federation(data, user=user, rows_are_users=rows_are_users), items_per_user=items_per_user, reading=reading
    )
    settings |= of_sets
    chosen = default_mechanisms(federation) if mechanisms is None else mechanisms
    cells = cells_of(_listed(chosen), _listed(oracles), _listed(epsilons), _listed(ks), settings, encoding=encoding)
    known = catalogue_of(catalogue)
    words = word_list_of(word_list, word_list_order)
    given = Query(
        encoding=encoding,
        catalogue=known,
        word_list=words,
        text_recovery=text_recovery,
        normalise=normalise,
        settings=settings,
    )
    experiment = Experiment.of(federation, cells, given, repeats=repeats, seed=seed, simulator=simulator)
    warn_of(experiment.notes)
    return experiment.evaluation(dict(experiment.rows(workers, progress, dask)))
