"""Users with many items at scale: reading a file of events, and one exact run over it.

    python -m benchmarks.set_loading --users 10000000 --rows 80000000

The file is Parquet with the columns party (4 of them), user_id (whole numbers) and item (ids below 100,000, popular
by 1 / rank), rows in random order. Memory is the peak of the process that loads and runs, which did not make the file.
"""

import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import treetop

ITEMS, PARTIES, AT_ONCE = 100_000, 4, 5_000_000


def write_events(path: Path, users: int, rows: int) -> int:
    """Write so many rows of so many users, and return the bytes of their columns in memory."""
    randomness, size = np.random.default_rng(1), 0
    popularity = np.cumsum(1 / np.arange(1, ITEMS + 1))
    schema = pa.schema([("party", pa.string()), ("user_id", pa.int64()), ("item", pa.string())])
    with pa.parquet.ParquetWriter(path, schema, compression="zstd") as file:
        for start in range(0, rows, AT_ONCE):
            number = min(AT_ONCE, rows - start)
            owners = randomness.integers(0, users, number)
            items = np.searchsorted(popularity, randomness.random(number) * popularity[-1])
            parties = pa.array([f"party {party}" for party in range(PARTIES)]).take(pa.array(owners % PARTIES))
            table = pa.table(
                {"party": parties, "user_id": owners, "item": pa.array(items).cast(pa.string())}, schema=schema
            )
            size += table.nbytes
            file.write_table(table)
    return size


def measured(path: Path) -> dict[str, object]:
    """Load the file and run once; both in wall time and in processor time."""
    before = getrusage(RUSAGE_SELF).ru_maxrss
    begin, spent = perf_counter(), process_time()
    federation = treetop.load(path, user="user_id")
    loaded, spent_loading = perf_counter() - begin, process_time() - spent
    after_loading = getrusage(RUSAGE_SELF).ru_maxrss
    begin, spent = perf_counter(), process_time()
    answer = treetop.find(federation, epsilon=2, seed=1)
    run, spent_running = perf_counter() - begin, process_time() - spent
    return {
        "users": federation.users, "entries": sum(len(party.sets.items) for party in federation.parties if party.sets),
        "load_seconds": round(loaded, 1), "load_cpu_seconds": round(spent_loading, 1),
        "run_seconds": round(run, 1), "run_cpu_seconds": round(spent_running, 1),
        "before_mb": before // 1024, "load_peak_mb": after_loading // 1024,
        "peak_mb": getrusage(RUSAGE_SELF).ru_maxrss // 1024,
        "f1": answer.truth and answer.truth.f1, "strategy": answer.choices[-1],
    }  # fmt: skip


def main() -> None:
    """Write a file, and measure it in a process of its own."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=80_000_000)
    parser.add_argument("--file", type=Path, help="measure this file alone")
    given = parser.parse_args()
    if given.file is not None:
        print(json.dumps(measured(given.file)))
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        size = write_events(path, given.users, given.rows)
        print(f"columns in memory: {size / 1e6:,.0f} MB; file: {path.stat().st_size / 1e6:,.0f} MB", flush=True)
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.set_loading", "--file", str(path)]
        subprocess.run(command, check=True)  # noqa: S603


if __name__ == "__main__":
    main()
