"""Grids and the reproduction on a Dask cluster: the same bytes as in this process, workers killed in the middle."""

import csv
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from distributed import Client, LocalCluster
from tests.support.every_command import app
from tests.support.histogram_folders import small_folder
from tests.support.small_reproductions import small
from typer.testing import CliRunner

import treetop
from treetop.errors import InvalidInput
from treetop.evaluation.evaluate import Evaluation
from treetop.reproduction.report import write_report
from treetop.reproduction.run import Reproducer, RunSettings
from treetop.reproduction.specification import specifications_named

DATA = Path(__file__).parents[2] / "examples" / "coffee_shops.csv"
T = TypeVar("T")
DRINKS = {"harbour": {"chai": 9000, "cocoa": 2000, "malt": 40}, "market": {"chai": 5000, "latte": 3000}}


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def evaluated(dask: str | None, repeats: int = 7) -> Evaluation:
    """Everything but how long it took."""
    found = treetop.evaluate(DRINKS, mechanisms=["gtf", "taps"], ks=[2], repeats=repeats, seed=7, dask=dask)
    return replace(found, rows=tuple(replace(row, seconds=0.0) for row in found.rows))


def test_a_grid_on_a_cluster_is_the_grid_here(scheduler: str, tmp_path: Path) -> None:
    here, there = evaluated(None), evaluated(scheduler)
    assert there == here
    for name, evaluation in (("here", here), ("there", there)):
        evaluation.write(tmp_path / f"{name}.csv")
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def campaigns(file: Path, dask: str | None, repeats: int = 2) -> list[dict[str, str]]:
    """Run the command over campaigns; return the rows that it writes, but for how long they took."""
    command = [
        "evaluate", str(DATA), "--campaign", "--weeks", "3", "--cycle", "3", "--mechanisms", "canopy",
        "--epsilons", "4", "--ks", "3", "--repeats", str(repeats), "--seed", "7", "--output", str(file),
    ]  # fmt: skip
    told = CliRunner().invoke(app, [*command, *(["--dask", dask] if dask else ["--workers", "1"])])
    assert told.exit_code == 0, told.output
    with file.open(newline="") as written:
        rows = [row for row in csv.DictReader(written) if float(row.pop("seconds")) > 0]
    assert len(rows) == 3
    return rows


def test_campaigns_on_a_cluster_are_the_campaigns_here(scheduler: str, tmp_path: Path) -> None:
    assert campaigns(tmp_path / "there.csv", scheduler) == campaigns(tmp_path / "here.csv", None)


def with_a_worker_killed(scheduler: str, run: Callable[[], T]) -> T:
    """Run something, and kill a worker that is at work on it."""
    with ThreadPoolExecutor(1) as pool, Client(scheduler, set_as_default=False) as client:
        under_way = pool.submit(run)
        end, busy = time.monotonic() + 60, list[str]()
        while not busy and time.monotonic() < end:
            busy = [str(worker) for worker, tasks in client.processing().items() if tasks]
        os.kill(client.run(os.getpid, workers=busy[:1])[busy[0]], signal.SIGKILL)
        assert not under_way.done()
        return under_way.result(240)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(scheduler: str) -> None:
    assert with_a_worker_killed(scheduler, lambda: evaluated(scheduler, 150)) == evaluated(None, 150)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_campaigns_changes_nothing(scheduler: str, tmp_path: Path) -> None:
    there = with_a_worker_killed(scheduler, lambda: campaigns(tmp_path / "there.csv", scheduler, 12))
    assert there == campaigns(tmp_path / "here.csv", None, 12)


def test_a_reproduction_on_a_cluster_writes_the_same_bytes(scheduler: str, tmp_path: Path) -> None:
    data = small_folder(tmp_path / "data")
    specifications = [small(each) for each in specifications_named(("oracles",))]
    for name, dask in (("here", None), ("there", scheduler)):
        running = Reproducer(specifications, data, RunSettings(5, 2, "0", "0"), tmp_path / name)
        running.run(1, dask=dask)
        write_report(running.finished(), tmp_path / name, "treetop reproduce")
    for file in ("results.parquet", "runs.parquet"):
        assert (tmp_path / "there" / file).read_bytes() == (tmp_path / "here" / file).read_bytes()


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    with pytest.raises(InvalidInput, match="no Dask scheduler answers at nonsense"):
        evaluated("nonsense://nowhere")
