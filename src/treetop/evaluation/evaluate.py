"""A grid of simulated runs, averaged: `treetop.evaluate`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treetop.datasets.federation import Federation
from treetop.datasets.item_lists import Words, catalogue_of, word_list_of
from treetop.datasets.loading import as_federation
from treetop.encoding.item_codecs import Hashed, ItemCatalogue, ItemCodec
from treetop.errors import InvalidInput
from treetop.evaluation.execute import Progress, execute_cells
from treetop.evaluation.grid import KNOWN, LISTED, SPELT, Cell, Grid, cells_of
from treetop.evaluation.results import Evaluation, Row, row_of
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.panorama.parameters import MAX_CODE_BITS
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import MECHANISMS
from treetop.mechanisms.strategy import Question, check_takes_sets
from treetop.oracles.registry import AUTO
from treetop.query.find import checked_seed, warn_of
from treetop.query.preparation import Populations, Prepared, prepared
from treetop.query.sets import settled_sets, whole_items
from treetop.simulation.population import Population
from treetop.wording import Note


@dataclass(frozen=True)
class Given:
    """What all cells are given besides mechanism, oracle, epsilon and k; lists and texts are for Panorama alone."""

    encoding: str | ItemCodec | None = None
    catalogue: ItemCatalogue | None = None
    word_list: ItemCatalogue | None = None
    text_recovery: bool | None = None
    normalise: str | Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)

    def question(self, cell: Cell, federation: Federation, others: tuple[Mechanism[Any], ...]) -> Question:
        """Return what a cell asks; a variant of Panorama overrules what was given."""
        parameters = cell.parameters
        asked = Question(
            parameters.k,
            float(parameters.epsilon),
            cell.mechanism,
            parameters.oracle,
            self.encoding,
            normalise=self.normalise,
            settings={**parameters.changed(), **self.settings},
            others=others,
        )
        if not cell.mechanism.reports_names:
            return asked
        named = replace(
            asked,
            mechanism=cell.mechanism.name,
            encoding=self.encoding if self.encoding == Hashed.name else None,
            settings={name: value for name, value in asked.settings.items() if not self._is_of_a_trie(name, cell)},
        )
        if cell.variant == KNOWN or (self.catalogue is not None and not cell.variant):
            everything = ItemCatalogue(tuple(federation.items), source="all items of the data")
            return replace(named, catalogue=self.catalogue or everything, encoding=None)
        if cell.variant == SPELT:
            return replace(named, text_recovery=True)
        if cell.variant == LISTED and self.word_list is None:
            raise InvalidInput("variant_needs_word_list")
        texts = False if cell.variant == LISTED else self.text_recovery
        return replace(named, word_list=self.word_list, text_recovery=texts)

    @staticmethod
    def _is_of_a_trie(name: str, cell: Cell) -> bool:
        """Return whether a setting is the length of codes that are searched, too long for names."""
        return name == "bits" and cell.parameters.bits > MAX_CODE_BITS


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
        given: Given = Given(),  # noqa: B008  frozen
        *,
        repeats: int,
        seed: int | None,
        simulator: str = "exact",
    ) -> "Experiment":
        """Check what was asked for, and encode the data, once for all cells that name items alike."""
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
                ready[what] = prepared(federation, given.question(cell, federation, others), grid.seed, encoded)
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
        """Return rows in the order of the grid, however they were finished."""
        return Evaluation(tuple(rows[index] for index in sorted(rows)), self.notes, self.grid.seed)


def _named_alike(cell: Cell) -> tuple[str, int]:
    """Return what cells must share to have one population."""
    return cell.name, cell.parameters.bits


def _fitted(cell: Cell, ready: Prepared) -> Cell:
    """Return a cell of Panorama with its lists, and with names of the length that the items need."""
    if not cell.mechanism.reports_names:
        return cell
    k = cell.parameters.k
    epsilon = cell.parameters.epsilon
    oracle = cell.parameters.oracle
    parameters = replace(ready.parameters, k=k, epsilon=epsilon, oracle=oracle)
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
    known = MECHANISMS.items()
    return tuple(
        name
        for name, mechanism in known
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
    given = Given(encoding, known, words, text_recovery, normalise, settings)
    experiment = Experiment.of(federation, cells, given, repeats=repeats, seed=seed, simulator=simulator)
    warn_of(experiment.notes)
    return experiment.evaluation(dict(experiment.rows(workers, progress, dask)))
