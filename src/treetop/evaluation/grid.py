"""The cells of an experiment, and running them: in this process, in several or on a Dask cluster.

The numbers are the same wherever a cell is run, because each repetition has its own stream of the seed.
"""

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from os import _exit
from typing import Any, TypeVar

from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, UnknownName
from treetop.extras import needed_for
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import MECHANISMS, mechanism_named, parameters_for
from treetop.oracles.name_reports import counts_every_name
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO, find_oracle
from treetop.query.find import Score, score
from treetop.simulation.population import Population
from treetop.simulation.run import run

LISTED = "list"
"""The variant of Panorama that reads names from the word list alone."""
SPELT = "texts"
"""The variant that reads texts alone."""
KNOWN = "catalogue"
"""The variant that is given all items: the limit of what the others can reach."""
VARIANTS = (LISTED, SPELT, KNOWN)
"""Of Panorama, beside what `find` would do."""
BEFORE_VARIANT = ":"
RUNS_AT_ONCE = 5
"""Repetitions in one job: workers share a cell, and progress is reported after each job."""

Value = TypeVar("Value")
Job = TypeVar("Job")
Done = TypeVar("Done")
Progress = Callable[[int], None]
"""Called with the number of runs that were finished since the last call."""


@dataclass(frozen=True)
class Cell:
    """One mechanism with its parameters, to be run many times."""

    mechanism: Mechanism[Any]
    parameters: Parameters
    variant: str = ""

    @property
    def name(self) -> str:
        """Return the name that rows show: `canopy`, or `panorama:texts`."""
        return BEFORE_VARIANT.join(filter(None, (self.mechanism.name, self.variant)))


@dataclass(frozen=True)
class Grid:
    """All cells, in the order in which their rows are printed, and how often each is run."""

    cells: tuple[Cell, ...]
    repeats: int
    seed: int
    simulator: str = "exact"

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise InvalidInput("repeats_invalid", repeats=self.repeats)

    @property
    def runs(self) -> int:
        """Return the number of runs of all cells."""
        return len(self.cells) * self.repeats


def cells_of(
    mechanisms: Sequence[str | Mechanism[Any]] = tuple(MECHANISMS),
    oracles: Sequence[str | Oracle] = (AUTO,),
    epsilons: Sequence[float] = (DEFAULT_EPSILON,),
    ks: Sequence[int] = (DEFAULT_K,),
    settings: Mapping[str, object] | None = None,
    *,
    encoding: str | ItemCodec | None = None,
) -> tuple[Cell, ...]:
    """Return the cells of a full grid, each validated, without Panorama where an oracle cannot count every name.

    A name may be followed by a variant: `panorama:list`, `panorama:texts`, `panorama:catalogue`.
    """
    bits = {"bits": encoding.bits} if isinstance(encoding, ItemCodec) else {}
    named = [_variant_of(mechanism) for mechanism in mechanisms]
    known = [mechanism for mechanism, _ in named]
    _distinct("mechanisms", [BEFORE_VARIANT.join(filter(None, (each.name, variant))) for each, variant in named])
    grid = product(named, _distinct("oracles", oracles), _distinct("epsilons", epsilons), _distinct("ks", ks))
    cells = tuple(
        Cell(
            mechanism,
            parameters_for(mechanism, k, epsilon, oracle, {**bits, **(settings or {})}, others=known),
            variant,
        )
        for (mechanism, variant), oracle, epsilon, k in grid
        if not mechanism.reports_names or variant == KNOWN or oracle == AUTO or counts_every_name(find_oracle(oracle))
    )
    if not cells:
        raise InvalidInput("panorama_oracle", found=", ".join(str(oracle) for oracle in oracles))
    return cells


def _variant_of(mechanism: str | Mechanism[Any]) -> tuple[Mechanism[Any], str]:
    """Return the mechanism and the variant of a name such as `panorama:texts`; the variant may be empty."""
    if not isinstance(mechanism, str) or BEFORE_VARIANT not in mechanism:
        return mechanism_named(mechanism), ""
    name, _, variant = mechanism.partition(BEFORE_VARIANT)
    if not mechanism_named(name).reports_names:
        raise InvalidInput("variant_unknown", mechanism=mechanism)
    if variant not in VARIANTS:
        raise UnknownName("variant of panorama", variant, VARIANTS)
    return mechanism_named(name), variant


def _distinct(what: str, values: Iterable[Value]) -> tuple[Value, ...]:
    listed = tuple(values)
    if not listed or len(set(listed)) < len(listed):
        names = ", ".join(str(getattr(value, "name", value)) for value in listed)
        raise InvalidInput("grid_values", what=what, names=names)
    return listed


def execute_cells(
    populations: Sequence[Population],
    grid: Grid,
    workers: int = 1,
    progress: Progress = lambda _: None,
    dask: str | None = None,
) -> Iterator[tuple[int, list[Score]]]:
    """Yield the index of every cell and its scores in order, as soon as all its repetitions are done.

    Every cell has its population; several may share one. `dask` is the address of a scheduler whose workers run them.
    """
    for cell, population in zip(grid.cells, populations, strict=True):
        population.check_k(cell.parameters.k)
    blocks = (
        (index, range(first, min(first + RUNS_AT_ONCE, grid.repeats)))
        for index in range(len(grid.cells))
        for first in range(0, grid.repeats, RUNS_AT_ONCE)
    )
    waiting: dict[int, dict[int, Score]] = {index: {} for index in range(len(grid.cells))}
    for (index, _), scores in finished_jobs(partial(run_some, populations, grid), blocks, workers, dask):
        waiting[index].update(scores)
        progress(len(scores))
        if len(waiting[index]) == grid.repeats:
            yield index, [waiting[index][repetition] for repetition in range(grid.repeats)]


def run_some(populations: Sequence[Population], grid: Grid, block: tuple[int, range]) -> dict[int, Score]:
    """Run some repetitions of one cell; repetition r draws from the same stream of the seed in every process."""
    index, repetitions = block
    mechanism = grid.cells[index].mechanism
    parameters = grid.cells[index].parameters
    population = populations[index]
    scores = {}
    for number in repetitions:
        outcome = run(mechanism, parameters, population, seed=grid.seed, repetition=number, simulator=grid.simulator)
        scores[number] = score(outcome, population, parameters.k)
    return scores


def finished_jobs(
    work: Callable[[Job], Done], jobs: Iterable[Job], workers: int, dask: str | None = None
) -> Iterator[tuple[Job, Done]]:
    """Yield every job with its result: in order in this process, or as they are finished in several."""
    if workers < 1:
        raise InvalidInput("workers_invalid", workers=workers)
    if dask is not None:
        return _on_cluster(work, jobs, dask)
    if workers == 1:
        return ((job, work(job)) for job in jobs)
    return in_processes(work, jobs, workers)


def in_processes(work: Callable[[Job], Done], jobs: Iterable[Job], workers: int) -> Iterator[tuple[Job, Done]]:
    """Run the jobs in fresh processes, which end with this generator, however it ends."""
    # Not fork, which copies locks that other threads hold, and nobody releases them in the child.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, initializer=_begin_worker, initargs=(work,))
    try:
        with _not_run_again(work):
            futures: dict[Future[Done], Job] = {pool.submit(_work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        # Ctrl-C as well: shutting the pool down would wait for the runs that are under way.
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _not_run_again(sent: object) -> Iterator[None]:
    """Start fresh processes without the main program, unless it defines something that they are sent.

    They would import it again, and a program or notebook without a `__main__` guard would start itself once more.
    """
    main = sys.modules["__main__"]
    if b"__main__" in bytes(ForkingPickler.dumps(sent)):
        yield
        return
    known = {name: getattr(main, name) for name in ("__spec__", "__file__") if hasattr(main, name)}
    try:
        for name in known:
            setattr(main, name, None)
        yield
    finally:
        for name, value in known.items():
            setattr(main, name, value)


def _on_cluster(work: Callable[[Job], Done], jobs: Iterable[Job], scheduler: str) -> Iterator[tuple[Job, Done]]:
    """Run the jobs on the workers of a Dask cluster."""
    with needed_for("a Dask cluster", "dask"):
        from treetop.adapters.dask.cluster import cluster_at, finished  # noqa: PLC0415  an extra
    with cluster_at(scheduler) as client:
        yield from finished(client, _done, work, jobs)


def _done(job: Job, work: Callable[[Job], Done]) -> Done:
    return work(job)


_given: Callable[[Any], Any]


def _begin_worker(work: Callable[[Any], Any]) -> None:
    """Run once in a worker: keep the work that all its jobs share, and exit when the parent does."""
    global _given  # noqa: PLW0603  a worker process serves one experiment only
    _given = work
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker without a traceback
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Exit as soon as the parent is gone, even if it was killed and could end nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        _exit(1)


def _work(job: Any) -> Any:
    return _given(job)
