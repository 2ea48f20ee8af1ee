"""Counting report files: against merely reading them, on a second core, on Dask, and from 1e5 to 1e8 reports."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow.parquet as pq
from distributed import LocalCluster

from benchmarks.measuring import Failed, Measured, Row, best_of, best_of_each, best_wall_of, times_as_fast
from benchmarks.peers import multi_freq, pure_ldp_client
from treetop.adapters.dask.cluster import connected
from treetop.adapters.report_files.counting import Candidates, EmbeddedEngine
from treetop.adapters.report_files.sealed_file import ReportFileWriter, ReportKind
from treetop.oracles.frequency_oracle import Columns

TITLE = "Counting report files"
LIMITS = """
The second core must make counting 1.7 times as fast on an idle machine, and 1.6 times for OUE. Two plain processes show
how idle it was: where they gain less than 1.8, the wall lines carry no verdict, and the CPU time of two threads against
one shows whether they get in each other's way.

What limits: k-RR files are bound by **Parquet's decoding**, which takes most of the time in both lines; checksum and
histogram together take less than half as long. OLH against 64 candidates spends about half of its time on reading
(10^7 x 64 pairs at the rate above are 0.11 s); from a few hundred candidates on it is bound by **arithmetic**. Memory
does not grow with the number of reports, because a thread holds one row group (8 MB or 4 M reports); the rest is
Python, pyarrow and numba themselves. Dask costs a few milliseconds for each file and nothing for each report.

OUE files are bound by **memory**: of 0.20 s on one core, 0.18 s go into copying 320 MB out of the page cache, unpacking
and checksumming them. Reading alone gains 1.5 to 2.0 from the second core, counting 1.6 to 1.9 (six comparisons, each
the best of 5), which is why its limit is lower. Before the last step of counting was compiled, threads also waited for
Python's lock there, and the gain was 1.5 to 1.8.
"""
TASK = "be" * 32
KRR, OUE, OLH = ReportKind(TASK, 1, "krr", 200), ReportKind(TASK, 1, "oue", 256), ReportKind(TASK, 1, "olh", 9)
KEYS = np.arange(64, dtype=np.uint64)
FILES = 10
IDLE = 1.8
"""A second core that is worth less is busy with something else."""
MEMORY = """
import sys
from pathlib import Path
import numpy as np
from treetop.adapters.report_files.counting import Candidates
from treetop.adapters.report_files.counting import EmbeddedEngine
from treetop.adapters.report_files.sealed_file import ReportFile
files = [Path(name) for name in sys.argv[1:]]
kind = ReportFile.opened(files[0]).kind
EmbeddedEngine(2).count(files, Candidates(kind, np.arange(64 if kind.oracle == "olh" else 0, dtype=np.uint64)))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def measure() -> list[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        return [*against_reading(folder), *growth(folder), *engines(folder), *bytes_per_report(folder)]


def written(folder: Path, kind: ReportKind, reports: int, files: int = FILES) -> list[Path]:
    """Write files once; reports are repeated stretches of a million random ones."""
    paths = [folder / f"{kind.oracle}_{reports}_{files}_{place}.parquet" for place in range(files)]
    stretch = random_columns(kind, min(1_000_000, reports // files))
    for path in paths:
        if not path.exists():
            with ReportFileWriter(path, kind) as writer:
                for _ in range(reports // files // len(stretch[0])):
                    writer.append(*stretch)
    return paths


def random_columns(kind: ReportKind, reports: int) -> Columns:
    randomness = np.random.default_rng(reports)
    if kind.oracle == "oue":
        return (randomness.integers(256, size=(reports, kind.slots // 8), dtype=np.uint8),)
    values = randomness.integers(kind.slots, size=reports).astype(np.uint8)
    if kind.oracle == "krr":
        return (values,)
    return randomness.integers(2**32, size=reports, dtype=np.uint32), values


def against_reading(folder: Path) -> list[Row]:
    files, asked = written(folder, KRR, 10**8), Candidates(KRR)
    engine = EmbeddedEngine(1)

    def read() -> None:
        for file in files:
            pq.read_table(file, columns=["slot"], use_threads=False)

    ours, reading = best_of_each(3, lambda: engine.count(files, asked), read)
    return [Measured("1e8 k-RR reports / merely reading the column with pyarrow", ours / reading, 3, ours, reading)]


def growth(folder: Path) -> list[Row]:
    """Seconds for a report, and the highest memory of a process of its own, from 1e5 to 1e8 reports."""
    asked = Candidates(KRR)
    seconds: dict[int, float] = {}
    rows: list[Row] = []
    for power in (5, 6, 7, 8):
        files = written(folder, KRR, 10**power)
        seconds[power] = best_of(3, lambda f=files: EmbeddedEngine(1).count(f, asked))  # type: ignore[misc]
        ten_fold = seconds[power] / seconds.get(power - 1, seconds[power])
        name = f"1e{power} k-RR reports, {10**power / seconds[power] / 1e6:,.0f} M/s"
        if power > 5:
            rows.append(Measured(f"{name} / 1e{power - 1} of them", ten_fold, 11, seconds[power], seconds[power - 1]))
        rows.append(memory(f"highest memory, 1e{power} k-RR reports / 1 GB", files))
    rows.append(memory("highest memory, 1e7 OUE reports of 256 slots / 1 GB", written(folder, OUE, 10**7)))
    rows.append(memory("highest memory, 1e7 OLH reports x 64 candidates / 1 GB", written(folder, OLH, 10**7)))
    return rows


def memory(what: str, files: list[Path]) -> Measured:
    command = [sys.executable, "-c", MEMORY, *map(str, files)]
    kilobytes = int(subprocess.run(command, check=True, capture_output=True).stdout)  # noqa: S603  our own program
    return Measured(f"{what} ({kilobytes / 1000:,.0f} MB)", kilobytes * 1024 / 1e9, 1, 0, 0)


def engines(folder: Path) -> Iterator[Row]:
    """A second core, and Dask with two workers, warm."""
    control = second_core()
    yield control
    idle = control.ratio >= IDLE
    rooms = ((KRR, 10**8, KEYS[:0], 1.7), (OUE, 10**7, KEYS[:0], 1.6), (OLH, 10**7, KEYS, 1.7))
    for kind, reports, keys, limit in rooms:
        name = f"{reports:.0e} {kind.oracle}".replace("+0", "")
        yield from engine_rows(name, written(folder, kind, reports), Candidates(kind, keys), limit if idle else None)


def second_core() -> Measured:
    """Let two plain processes share what one does: that much a second core is worth at this moment."""

    def busy(processes: int) -> None:
        command = [sys.executable, "-c", f"for _ in range({24_000_000 // processes}): pass"]
        started = [subprocess.Popen(command) for _ in range(processes)]  # noqa: S603  our own program
        for process in started:
            process.wait()

    one, two = best_wall_of(4, lambda: busy(1)), best_wall_of(4, lambda: busy(2))
    return times_as_fast("two plain processes that share a loop, wall, times as fast as one", two, one)


def engine_rows(name: str, files: list[Path], asked: Candidates, at_least: float | None) -> list[Row]:
    def one() -> object:
        return EmbeddedEngine(1).count(files, asked)

    def two() -> object:
        return EmbeddedEngine(2).count(files, asked)

    alone, together = best_of_each(5, one, two)
    with dask_count(files, asked) as count:
        wall, second, dask = best_of_each(9, one, two, count, clock=perf_counter)
    must = 1.5 if asked.kind is KRR else None
    return [
        times_as_fast(f"{name}, two threads, wall, times as fast as one", second, wall, at_least),
        Measured(f"{name}, two threads / one, CPU time of all threads", together / alone, 1.25, together, alone),
        Measured(f"{name}, Dask with two workers / two threads, wall", dask / second, must, dask, second),
    ]


@contextmanager
def dask_count(files: list[Path], asked: Candidates) -> Iterator[Callable[[], object]]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        connected(cluster.scheduler_address) as engine,
    ):
        engine.count(files, asked)
        yield lambda: engine.count(files, asked)


def bytes_per_report(folder: Path) -> Iterator[Row]:
    """Bytes instead of seconds: a report in our files against the peers' Python objects."""
    for kind, multi, pure in ((KRR, "GRR", "DE"), (OUE, "UE", "UE"), (OLH, "LH", "LH")):
        ours = sum(file.stat().st_size for file in written(folder, kind, 10**7)) / 10**7
        for name, make in (
            ("multi-freq-ldpy", lambda m=multi, k=kind: getattr(multi_freq(m), f"{m}_Client")(1, k.slots, 2.0)),
            ("pure-ldp", lambda p=pure, k=kind: pure_ldp_client(p, k.slots).privatise(1)),
        ):
            what = f"bytes of a {kind.oracle} report: {name} / a file of ours"
            try:
                theirs = object_bytes(make)
            except Exception as error:  # a peer may fail in any way
                yield Failed(what, f"{type(error).__name__}: {error}")
            else:
                yield Measured(f"{what} ({theirs:,.0f} / {ours:.2f})", theirs / ours, None, 0, 0)


def object_bytes(make: Callable[[], object]) -> float:
    """Return the bytes that Python needs for one of a thousand reports in a list."""
    make()
    tracemalloc.start()
    kept = [make() for _ in range(1000)]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(kept)
