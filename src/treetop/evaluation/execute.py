"""Runs the cells of a grid, in this process, in several or on a Dask cluster; the numbers are the same."""

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from os import _exit
from typing import Any, TypeVar

from treetop.errors import InvalidInput
from treetop.evaluation.grid import Grid
from treetop.extras import needed_for
from treetop.query.find import Score, score
from treetop.simulation.population import Population
from treetop.simulation.run import run

RUNS_AT_ONCE = 5

Job = TypeVar("Job")
Done = TypeVar("Done")
Progress = Callable[[int], None]
"""Called with the number of runs that were finished since the last call."""


def execute_cells(
    populations: Sequence[Population],
    grid: Grid,
    workers: int = 1,
    progress: Progress = lambda _: None,
    dask: str | None = None,
) -> Iterator[tuple[int, list[Score]]]:
    """Yield the index of every cell and its scores in order, as soon as all its repetitions are done.

    Every cell has its population; several may share one. With the address of a Dask scheduler its workers run them.
    """
    for cell, population in zip(grid.cells, populations, strict=True):
        population.check_k(cell.parameters.k)
    waiting: dict[int, dict[int, Score]] = {index: {} for index in range(len(grid.cells))}
    for (index, _), scores in finished_jobs(partial(run_some, populations, grid), _blocks(grid), workers, dask):
        waiting[index].update(scores)
        progress(len(scores))
        if len(waiting[index]) == grid.repeats:
            yield index, [waiting[index][repetition] for repetition in range(grid.repeats)]


def run_some(populations: Sequence[Population], grid: Grid, block: tuple[int, range]) -> dict[int, Score]:
    """Run some repetitions of one cell; repetition r has its own stream of the seed, whoever runs it."""
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
    """Yield every job with what came of it: in order in this process, or as they are finished in several."""
    if workers < 1:
        raise InvalidInput("workers_invalid", workers=workers)
    if dask is not None:
        return _on_cluster(work, jobs, dask)
    return ((job, work(job)) for job in jobs) if workers == 1 else in_processes(work, jobs, workers)


def _blocks(grid: Grid) -> Iterator[tuple[int, range]]:
    """Yield the runs of every cell, a few at a time."""
    for index in range(len(grid.cells)):
        for first in range(0, grid.repeats, RUNS_AT_ONCE):
            yield index, range(first, min(first + RUNS_AT_ONCE, grid.repeats))


def in_processes(work: Callable[[Job], Done], jobs: Iterable[Job], workers: int) -> Iterator[tuple[Job, Done]]:
    """Let fresh processes do the work; whatever ends this generator early ends them, too."""
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, initializer=_begin_worker, initargs=(work,))
    try:
        with _not_run_again(work):
            futures: dict[Future[Done], Job] = {pool.submit(_work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _not_run_again(sent: object) -> Iterator[None]:
    """Let fresh processes start without the program that started them, unless what they are sent is defined there.

    They would run it once more, and a program or notebook without a guard would start itself again.
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
    """Let the workers of a cluster do the work."""
    with needed_for("a Dask cluster", "dask"):
        from treetop.adapters.dask.cluster import cluster_at, finished  # noqa: PLC0415  an extra of its own
    with cluster_at(scheduler) as client:
        yield from finished(client, _done, work, jobs)


def _done(job: Job, work: Callable[[Job], Done]) -> Done:
    return work(job)


_given: Callable[[Any], Any]


def _begin_worker(work: Callable[[Any], Any]) -> None:
    """Run once in a worker: keep what is to be done with every job, and leave when the parent does."""
    global _given  # noqa: PLW0603  a worker process serves one experiment only
    _given = work
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        _exit(1)


def _work(job: Any) -> Any:
    return _given(job)
