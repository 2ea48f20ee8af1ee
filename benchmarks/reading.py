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
LIMITS = """Completing the name of a command loads no command. Completing its options and values loads that command,
numpy and pyarrow included, and takes as long as its help."""
ROWS, PARTIES, ITEMS = 5_000_000, 8, 200_000
MAIN = "from treetop.cli.main import main; main()"
HELP = "import sys; sys.argv = ['treetop', 'find', '--help']; " + MAIN


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
    own = child_seconds(MAIN, "treetop fi")
    reference = child_seconds("import typer")
    yield Measured("completing `treetop fi` / importing typer", own / reference, 3.5, own, reference)
    own = child_seconds(MAIN, "treetop find --mechanism ta")
    reference = child_seconds(HELP)
    yield Measured(
        "completing `treetop find --mechanism ta` / `treetop find --help`", own / reference, 1.2, own, reference
    )


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


def child_seconds(code: str, completed: str = "") -> float:
    """Return the least processor time of five fresh interpreters, which complete a line if one is given."""
    place = str(len(completed.split()) - 1)
    shell = {"COMP_WORDS": completed, "COMP_CWORD": place, "_TREETOP_COMPLETE": "complete_bash"} if completed else {}
    tries = []
    for _ in range(5):
        before = getrusage(RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code]
        subprocess.run(command, env=os.environ | shell, capture_output=True, check=False)  # noqa: S603
        after = getrusage(RUSAGE_CHILDREN)
        tries.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(tries)
