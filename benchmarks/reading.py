"""Reading what people have, and completing what they type."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.measuring import Measured, Row, best_of_each
from treetop.datasets.loading import load

TITLE = "Reading files, and the shell"
LIMITS = """When CSV was read in UTF-8 and with commas alone, the first two lines were 3.1 to 3.4 and 2.8 to 2.9,
measured beside these. Completing a word loaded every command then, and took 1.3 s of processor time."""
ROWS, PARTIES, ITEMS = 5_000_000, 8, 200_000
COMPLETE = "from treetop.cli.main import main; main()"


def measure() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        for counted, limit in ((True, 3.1), (False, 2.9)):
            path = Path(folder) / "rows.csv"
            write_rows(path, counted)
            columns = "party, item, users" if counted else "party, item"
            text = pa.csv.ConvertOptions(
                column_types=dict.fromkeys(("party", "item", "users"), pa.string()), strings_can_be_null=False
            )

            def plainly(path: Path = path, text: pa.csv.ConvertOptions = text) -> None:
                pa.csv.read_csv(path, convert_options=text)

            def ours(path: Path = path) -> None:
                load(path)

            own, reference = best_of_each(5, ours, plainly)
            what = f"a federation from {ROWS / 1e6:.0f} M rows of CSV ({columns}) / pyarrow reading the columns as text"
            yield Measured(what, own / reference, limit, own, reference)
    own, reference = child_seconds(COMPLETE, completing=True), child_seconds("import typer", completing=False)
    yield Measured("completing `treetop find --mechanism ta` / importing typer", own / reference, 3.5, own, reference)


def write_rows(path: Path, counted: bool) -> None:
    draw = np.random.default_rng(1)
    columns = {
        "party": pa.array([f"party_{number}" for number in range(PARTIES)]).take(
            pa.array(draw.integers(0, PARTIES, ROWS))
        ),
        "item": pa.array([f"item number {number}" for number in range(ITEMS)]).take(
            pa.array(draw.zipf(1.3, ROWS) % ITEMS)
        ),
    }
    users = {"users": draw.integers(1, 5, ROWS)} if counted else {}
    pa.csv.write_csv(pa.table(columns | users), path, pa.csv.WriteOptions(quoting_style="none"))


def child_seconds(code: str, *, completing: bool) -> float:
    """Return the least processor time of five fresh interpreters."""
    shell = {"COMP_WORDS": "treetop find --mechanism ta", "COMP_CWORD": "3", "_TREETOP_COMPLETE": "complete_bash"}
    tries = []
    for _ in range(5):
        before = getrusage(RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code]
        subprocess.run(command, env=os.environ | (shell if completing else {}), capture_output=True, check=False)  # noqa: S603
        after = getrusage(RUSAGE_CHILDREN)
        tries.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(tries)
