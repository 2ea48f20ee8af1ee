"""Runs the cells of a grid, in this process or in several; the numbers are the same."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing.connection import wait
from os import _exit

from treetop.errors import InvalidInput
from treetop.evaluation.grid import Cell, Grid
from treetop.evaluation.results import Row, row_of
from treetop.query.score import Score, score
from treetop.simulation.population import Population
from treetop.simulation.run import run

RUNS_AT_ONCE = 5

Progress = Callable[[int], None]


def execute(population: Population, grid: Grid, workers: int = 1, progress: Progress = lambda _: None) -> Iterator[Row]:
    """Yield the row of every cell as soon as all its repetitions are done; `progress` hears of finished runs."""
    for place, scores in execute_cells(population, grid, workers, progress):
        yield row_of(population, grid.cells[place], scores)


def execute_cells(
    population: Population, grid: Grid, workers: int = 1, progress: Progress = lambda _: None
) -> Iterator[tuple[int, list[Score]]]:
    """Yield the place of every cell and its scores in order, as soon as all its repetitions are done."""
    if workers < 1:
        raise InvalidInput(f"workers must be a whole number of at least 1, found {workers}")
    for cell in grid.cells:
        population.check_k(cell.parameters.k)
    finished = _here(population, grid) if workers == 1 else _in_processes(population, grid, workers)
    waiting: dict[int, dict[int, Score]] = {place: {} for place in range(len(grid.cells))}
    for place, scores in finished:
        waiting[place].update(scores)
        progress(len(scores))
        if len(waiting[place]) == grid.repeats:
            yield place, [waiting[place][repetition] for repetition in range(grid.repeats)]


def run_some(population: Population, grid: Grid, place: int, repetitions: range) -> dict[int, Score]:
    """Run some repetitions of one cell; repetition r has its own stream of the seed, whoever runs it."""
    return {repetition: _run_one(population, grid, grid.cells[place], repetition) for repetition in repetitions}


def _run_one(population: Population, grid: Grid, cell: Cell, repetition: int) -> Score:
    outcome = run(
        cell.mechanism, cell.parameters, population, seed=grid.seed, repetition=repetition, simulator=grid.simulator
    )
    return score(outcome, population, cell.parameters.k)


def _blocks(grid: Grid) -> Iterator[tuple[int, range]]:
    for place in range(len(grid.cells)):
        for first in range(0, grid.repeats, RUNS_AT_ONCE):
            yield place, range(first, min(first + RUNS_AT_ONCE, grid.repeats))


def _here(population: Population, grid: Grid) -> Iterator[tuple[int, dict[int, Score]]]:
    for place, repetitions in _blocks(grid):
        yield place, run_some(population, grid, place, repetitions)


def _in_processes(population: Population, grid: Grid, workers: int) -> Iterator[tuple[int, dict[int, Score]]]:
    """Let fresh processes run the blocks; whatever ends this generator early ends them, too."""
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, initializer=_begin_worker, initargs=(population, grid))
    try:
        futures: dict[Future[dict[int, Score]], int] = {
            pool.submit(_work, place, repetitions): place for place, repetitions in _blocks(grid)
        }
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_given: tuple[Population, Grid]


def _begin_worker(population: Population, grid: Grid) -> None:
    """Run once in a worker: keep the population, and leave when the parent does."""
    global _given  # noqa: PLW0603  a worker process serves one experiment only
    _given = (population, grid)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        _exit(1)


def _work(place: int, repetitions: range) -> dict[int, Score]:
    return run_some(*_given, place, repetitions)
