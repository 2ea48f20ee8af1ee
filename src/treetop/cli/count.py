"""`treetop count`: the tally of report files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from treetop.cli.options import Json
from treetop.cli.screen import out, print_json, waiting
from treetop.errors import InvalidInput, UnknownName

ENGINES = ("embedded", "dask", "gpu")

ReportFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Report files of one task and level.", show_default=False)
]
CandidatesFile = Annotated[
    Path | None,
    typer.Option("--candidates", help="Text file with one candidate's 64-bit key on each line (OLH alone)."),
]
Engine = Annotated[str, typer.Option("--engine", help=f"Who counts: {', '.join(ENGINES)}.")]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", envvar="TREETOP_SCHEDULER", help="Address of the Dask scheduler, tcp://HOST:PORT."),
]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads of the embedded engine.", show_default="all")]


def count(
    files: ReportFiles,
    candidates: CandidatesFile = None,
    engine: Engine = "embedded",
    scheduler: Scheduler = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Count the support of every slot or candidate in report files; a damaged or foreign file ends the count."""
    # Loaded here because it brings the compiler of the loops, which no other command needs.
    counting = import_module("treetop.adapters.report_files.counting")
    reader = import_module("treetop.adapters.report_files.reader")
    kind = reader.ReportFile.opened(files[0]).kind
    asked = counting.Candidates(kind, *_keys(candidates))
    with waiting("counting"), _engine(engine, scheduler, threads) as chosen:
        tally = chosen.count(files, asked)
    names = [str(key) for key in asked.keys.tolist()] or [str(slot) for slot in range(len(tally.support))]
    if json:
        support = dict(zip(names, tally.support.tolist(), strict=True))
        print_json(asdict(kind) | {"engine": engine, "reports": tally.reports, "support": support})
    else:
        out.print(_table(names, tally))


def _keys(path: Path | None) -> list[Any]:
    if path is None:
        return []
    try:
        return [np.array([int(line) for line in path.read_text().split()], dtype=np.uint64)]
    except (OSError, ValueError, OverflowError) as reason:
        raise InvalidInput(f"--candidates expects whole numbers below 2^64, one on a line: {reason}") from None


@contextmanager
def _engine(name: str, scheduler: str | None, threads: int | None) -> Iterator[Any]:
    """Give the engine of that name; its module is loaded only when it is chosen."""
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)
    if name == "embedded":
        yield _module("report_files.counting", name).EmbeddedEngine(threads)
    elif name == "gpu":
        yield _module("cupy.report_counting", name).CupyEngine()
    elif scheduler is None:
        raise InvalidInput("--engine dask needs --scheduler tcp://HOST:PORT (or TREETOP_SCHEDULER)")
    else:
        with _module("dask.report_counting", name).connected(scheduler) as engine:
            yield engine


def _module(name: str, extra: str) -> Any:
    try:
        return import_module(f"treetop.adapters.{name}")
    except ImportError as missing:
        raise InvalidInput(f"--engine {extra} needs `pip install 'treetop[{extra}]'`: {missing}") from None


def _table(names: list[str], tally: Any) -> Table:
    table = Table("candidate", "support", box=None, pad_edge=False, caption=f"{tally.reports:,} reports")
    for name, support in zip(names, tally.support.tolist(), strict=True):
        table.add_row(name, f"{support:,}")
    return table
