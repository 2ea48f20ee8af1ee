"""`treetop reproduce`: every table and figure of the paper, ours beside the paper's."""

from pathlib import Path
from shlex import join
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

import treetop
from treetop.cli.options import DaskCluster, Seed, Workers
from treetop.cli.screen import Json, note, out, print_json, progress_bar, waiting
from treetop.errors import InvalidInput
from treetop.query.find import checked_seed
from treetop.reproduction.report import grounds, require_plots, write_report
from treetop.reproduction.run import FULL_REPEATS, QUICK_REPEATS, Reproducer, Reproduction, RunSettings, begun_settings
from treetop.reproduction.specification import specification_names, specifications_named
from treetop.reproduction.verdicts import FAILS, HOLDS

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="Tables and figures; all of them where none is named: " + ", ".join(specification_names()) + ".",
        show_default=False,
        autocompletion=lambda incomplete: [name for name in specification_names() if name.startswith(incomplete)],
    ),
]
Data = Annotated[
    Path, typer.Option("--data", help="Folder of ready histograms: rdb_distinct.parquet and so on; SYN is drawn.")
]
OutputFolder = Annotated[Path, typer.Option("--output", help="Folder for the report, the plots and the results.")]
Quick = Annotated[bool, typer.Option("--quick", help=f"{QUICK_REPEATS} repetitions instead of {FULL_REPEATS}.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that stopped; finished cells are kept.")]
Repeats = Annotated[
    int | None,
    typer.Option("--repeats", help="Runs of every cell.", show_default=f"{FULL_REPEATS}, or {QUICK_REPEATS}"),
]


def reproduce(
    names: Names = None,
    data: Data = ...,  # type: ignore[assignment]
    output: OutputFolder = ...,  # type: ignore[assignment]
    quick: Quick = False,
    resume: Resume = False,
    repeats: Repeats = None,
    workers: Workers = 2,
    dask: DaskCluster = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Run the paper's experiments and write report.html: every table and figure, and whether each claim holds."""
    specifications = specifications_named(names or ())
    require_plots()
    settings = _settings(output, quick, resume, repeats, seed)
    with waiting("reading"):
        reproducer = Reproducer(specifications, data, settings, output, resume)
    note(f"seed {settings.seed}")
    _note_data(reproducer)
    with progress_bar("runs", reproducer.pending_runs) as bar:
        task = bar.task_ids[0]
        reproducer.run(workers, lambda done: bar.advance(task, done), dask)
    with waiting("writing the report"):
        reproduction = reproducer.finished()
        write_report(reproduction, output, _command(names or [], data, output, settings))
    if json:
        print_json(_as_json(reproduction, output))
    else:
        _show(reproduction, output)


def _settings(output: Path, quick: bool, resume: bool, repeats: int | None, seed: int | None) -> RunSettings:
    """Return the settings of the run; one that goes on keeps its seed and repetitions unless asked otherwise."""
    begun = begun_settings(output) if resume else None
    if repeats is None:
        repeats = QUICK_REPEATS if quick else begun.repeats if begun else FULL_REPEATS
    if repeats < 1:
        raise InvalidInput("repeats_invalid", repeats=repeats)
    if seed is None and begun is not None:
        seed = begun.seed
    return RunSettings(checked_seed(seed), repeats, treetop.__version__, np.__version__)


def _note_data(reproducer: Reproducer) -> None:
    """Say which data are missing or something else, and what is finished already."""
    for name, found in reproducer.variants.provenances.items():
        if found.missing:
            note(f"{name} is missing: {found.remark}")
        elif found.remark and found.path is not None:
            note(f"{name}: {found.path.name}: {found.remark}")
    done = len(reproducer.scores)
    pending = len(reproducer.pending)
    if done:
        note(f"{done} of {done + pending} cells are finished already")


def _command(names: list[str], data: Path, output: Path, settings: RunSettings) -> str:
    words = ["treetop", "reproduce", *names, "--data", str(data), "--output", str(output)]
    return join([*words, "--repeats", str(settings.repeats), "--seed", str(settings.seed)])


def _show(reproduction: Reproduction, output: Path) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "claim", "comparisons"):
        table.add_column(name)
    for verdict in reproduction.verdicts:
        style = {HOLDS: "green", FAILS: "red"}.get(verdict.verdict, "yellow")
        table.add_row(Text(verdict.verdict, style=style), verdict.claim.text, grounds(verdict))
    out.print(table)
    out.print(f"{output / 'report.html'} has every table and figure.", soft_wrap=True)


def _as_json(reproduction: Reproduction, output: Path) -> dict[str, Any]:
    return {
        "seed": reproduction.settings.seed,
        "repeats": reproduction.settings.repeats,
        "report": str(output / "report.html"),
        "missing": [name for name, found in reproduction.provenances.items() if found.missing],
        "substitutes": [name for name, found in reproduction.provenances.items() if found.substitute],
        "claims": [
            {
                "name": verdict.specification,
                "line": verdict.claim.line,
                "claim": verdict.claim.text,
                "verdict": verdict.verdict,
                **{side: verdict.sides()[side] for side in ("for", "open", "against")},
            }
            for verdict in reproduction.verdicts
        ],
    }
