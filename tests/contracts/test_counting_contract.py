"""What every counting engine must do: the same tallies, from any order of files, or none at all."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.support.refusals import refused
from tests.support.report_batches import (
    KEYS,
    KINDS,
    asking,
    parities_by_numpy,
    random_reports,
    support_by_numpy,
    written,
)

from treetop.adapters.dask.cluster import DaskEngine, connected
from treetop.adapters.report_files.counting import Candidates, CountingEngine, EmbeddedEngine
from treetop.adapters.report_files.sealed_file import ReportKind
from treetop.errors import InvalidInput, ReportFileRefused
from treetop.oracles.frequency_oracle import Tally

SIZES = (2500, 1, 0, 1700, 900)
EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started:
        yield started


@pytest.fixture(params=["embedded", "one thread", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[CountingEngine]:
    if request.param == "dask":
        with connected(request.getfixturevalue("cluster").scheduler_address) as engine:
            yield engine
    else:
        yield EmbeddedEngine(1 if request.param == "one thread" else None)


def batches(folder: Path, kind: ReportKind) -> list[Path]:
    return [
        written(folder / f"{place}.parquet", kind, random_reports(kind, size, seed=place))
        for place, size in enumerate(SIZES)
    ]


def plainly(kind: ReportKind) -> Tally:
    """The naive twin: numpy over all reports at once."""
    parts = [random_reports(kind, size, seed=place) for place, size in enumerate(SIZES)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if kind.oracle == "krr":
        support = np.bincount(columns[0], minlength=kind.slots)
    elif kind.oracle == "oue":
        support = np.unpackbits(columns[0], axis=1)[:, : kind.slots].sum(axis=0)
    else:
        support = by_keys(kind, columns, KEYS)
    return Tally(support, sum(SIZES))


def by_keys(kind: ReportKind, columns: Any, keys: Any) -> Any:
    if kind.oracle == "walsh":
        return parities_by_numpy(columns, keys, kind.slots)
    return support_by_numpy(columns[0], columns[1], keys, kind.slots)


def assert_equal(one: Tally, two: Tally) -> None:
    assert one.reports == two.reports
    np.testing.assert_array_equal(one.support, two.support)


@EVERY
def test_tallies_are_exact_in_any_order(engine: CountingEngine, kind: ReportKind, tmp_path: Path) -> None:
    files = batches(tmp_path, kind)
    tally = engine.count(files, asking(kind))
    assert tally.support.dtype == np.int64
    assert_equal(tally, plainly(kind))
    assert_equal(engine.count(files[::-1], asking(kind)), tally)


def test_every_name_is_counted_at_once(engine: CountingEngine, tmp_path: Path) -> None:
    kind, bits = KINDS["walsh"], 11
    files = batches(tmp_path, kind)
    parts = [random_reports(kind, size, seed=place) for place, size in enumerate(SIZES)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    expected = Tally(by_keys(kind, columns, np.arange(1 << bits, dtype=np.uint64)), sum(SIZES))
    assert_equal(engine.count(files, Candidates(kind, bits=bits)), expected)
    assert_equal(engine.count(files[::-1], Candidates(kind, bits=bits)), expected)
    assert_equal(engine.count([], Candidates(kind, bits=bits)), Tally(np.zeros(1 << bits, dtype=np.int64), 0))


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (Candidates(KINDS["olh"], bits=11), "names_not_counted"),
        (Candidates(KINDS["walsh"], bits=29), "spectrum_bits"),
    ],
)
def test_every_name_is_refused_where_it_cannot_be_counted(
    engine: CountingEngine, asked: Candidates, problem: str
) -> None:
    with refused(problem, InvalidInput):
        engine.count([], asked)


def test_names_are_all_counted_or_listed() -> None:
    with refused("keys_and_names", InvalidInput, bits=11):
        Candidates(KINDS["walsh"], KEYS, 11)


def test_no_files_have_no_reports(engine: CountingEngine) -> None:
    assert_equal(engine.count([], Candidates(KINDS["olh"], KEYS)), Tally(np.zeros(len(KEYS), dtype=np.int64), 0))


def test_one_damaged_file_ends_the_count_and_is_named(engine: CountingEngine, tmp_path: Path) -> None:
    files = batches(tmp_path, KINDS["krr"])
    damaged = bytearray(files[3].read_bytes())
    damaged[200] ^= 4
    files[3].write_bytes(damaged)
    with pytest.raises(ReportFileRefused, match=r"3\.parquet") as refusal:
        engine.count(files, asking(KINDS["krr"]))
    assert refusal.value.path == str(files[3])


def test_a_file_is_never_counted_twice(engine: CountingEngine, tmp_path: Path) -> None:
    files = batches(tmp_path, KINDS["krr"])
    with refused("file_named_twice", InvalidInput):
        engine.count([*files, tmp_path / ".." / tmp_path.name / "0.parquet"], asking(KINDS["krr"]))


def test_a_worker_killed_in_the_middle_changes_nothing(cluster: LocalCluster, tmp_path: Path) -> None:
    kind = KINDS["olh"]
    candidates = Candidates(kind, np.arange(20_000, dtype=np.uint64))
    files = [
        written(tmp_path / f"{place}.parquet", kind, random_reports(kind, 20_000, seed=place), 5000)
        for place in range(12)
    ]
    with Client(cluster.scheduler_address, set_as_default=False) as client, ThreadPoolExecutor() as pool:
        under_way = pool.submit(DaskEngine(client).count, files, candidates)
        victim = _first_busy(client)
        os.kill(client.run(os.getpid, workers=[victim])[victim], signal.SIGKILL)
        assert not under_way.done()
        assert_equal(under_way.result(60), EmbeddedEngine().count(files, candidates))


def _first_busy(client: Any) -> str:
    """Return a worker that is counting while another result is already there."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        busy = [worker for worker, tasks in client.processing().items() if tasks]
        if busy and any(client.has_what().values()):
            return str(busy[0])
        time.sleep(0.01)
    raise AssertionError("no worker began")


def test_a_scheduler_that_is_not_there_is_named() -> None:
    with (
        refused("dask_unreachable", InvalidInput),
        connected("tcp://127.0.0.1:9", seconds=1),
    ):
        raise AssertionError
