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

from treetop.adapters.report_files.locations import located
from treetop.cli.options import completing
from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver
from treetop.cli.screen import Json, out, waiting
from treetop.errors import InvalidInput, UnknownName
from treetop.extras import needed_for

ENGINES = ("embedded", "dask", "gpu")

ReportFiles = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Report files of one task and level, local or s3://…", show_default=False),
]
CandidatesFile = Annotated[
    Path | None,
    typer.Option("--candidates", help="Text file with one candidate's 64-bit key on each line (olh, walsh)."),
]
Bits = Annotated[
    int | None,
    typer.Option("--bits", help="Count every name of so many bits (walsh), and show those that stand out."),
]
Above = Annotated[
    float, typer.Option("--above", help="With --bits: standard deviations above a name that nobody holds.")
]
Engine = Annotated[
    str, typer.Option("--engine", help=f"Who counts: {', '.join(ENGINES)}.", autocompletion=completing(ENGINES))
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", envvar="TREETOP_SCHEDULER", help="Address of the Dask scheduler, tcp://HOST:PORT."),
]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads of the embedded engine.", show_default="all")]


def count(
    files: ReportFiles,
    candidates: CandidatesFile = None,
    bits: Bits = None,
    above: Above = 5.5,
    engine: Engine = "embedded",
    scheduler: Scheduler = None,
    threads: Threads = None,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Count the support of every slot, candidate or name in report files; a damaged or foreign file ends the count."""
    target = checked_target(output, PLAIN_FORMATS)
    # Loaded here because it brings the compiler of the loops, which no other command needs.
    counting = import_module("treetop.adapters.report_files.counting")
    reader = import_module("treetop.adapters.report_files.sealed_file")
    places = [located(file) for file in files]
    kind = reader.ReportFile.opened(places[0]).kind
    asked = counting.Candidates(kind, _keys(candidates), bits)
    with waiting("counting"), _engine(engine, scheduler, threads) as chosen:
        tally = chosen.count(places, asked)
    if bits is None:
        names = asked.keys if len(asked.keys) else np.arange(len(tally.support))
        support = tally.support
    else:
        names = import_module("treetop.oracles.walsh.spectrum").names_above(tally, kind.slots, above)
        names = names[np.argsort(-tally.support[names], kind="stable")]
        support = tally.support[names]
    counted = dict(zip(map(str, names.tolist()), support.tolist(), strict=True))
    content = asdict(kind) | {"engine": engine, "reports": tally.reports, "support": counted}
    deliver(content, lambda: out.print(_table(counted, tally.reports)), json_only=json, output=target)


def _keys(path: Path | None) -> Any:
    try:
        lines = [] if path is None else path.read_text().split()
        return np.array([int(line) for line in lines], dtype=np.uint64)
    except (OSError, ValueError, OverflowError) as reason:
        raise InvalidInput("candidates_malformed", reason=reason) from None


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
        raise InvalidInput("dask_needs_scheduler")
    else:
        with _module("dask.cluster", name).connected(scheduler) as engine:
            yield engine


def _module(name: str, extra: str) -> Any:
    with needed_for(f"--engine {extra}", extra):
        return import_module(f"treetop.adapters.{name}")


def _table(counted: dict[str, int], reports: int) -> Table:
    table = Table("candidate", "support", box=None, pad_edge=False, caption=f"{reports:,} reports")
    for name, support in counted.items():
        table.add_row(name, f"{support:,}")
    return table
