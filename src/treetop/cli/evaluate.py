"""`treetop evaluate`: a grid of runs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from treetop.cli.options import Encoding, Files, Json, Seed, Set, Simulator, Workers, read_list, read_settings
from treetop.cli.screen import note, out, print_json, progress_bar, waiting
from treetop.datasets.loading import federation_named
from treetop.evaluation.evaluate import in_order
from treetop.evaluation.execute import execute
from treetop.evaluation.grid import Grid, cells_of
from treetop.evaluation.results import Row, checked_output, write
from treetop.mechanisms.registry import MECHANISMS, mechanism_named
from treetop.query.encode import populate
from treetop.query.find import checked_seed, oracle_notes, setting_notes, sharing_notes
from treetop.simulation.population import Population

ALL_MECHANISMS = ",".join(MECHANISMS)

Mechanisms = Annotated[str, typer.Option("--mechanisms", help="Mechanisms, separated by commas.")]
Epsilons = Annotated[str, typer.Option("--epsilons", help="Privacy budgets, separated by commas.")]
Ks = Annotated[str, typer.Option("--ks", help="Numbers of items, separated by commas.")]
Oracles = Annotated[str, typer.Option("--oracles", help="Frequency oracles, separated by commas.")]
Repeats = Annotated[int, typer.Option("--repeats", help="Runs of every cell.")]
Output = Annotated[Path | None, typer.Option("--output", help="Parquet or CSV file for the rows.", show_default=False)]


def evaluate(
    files: Files,
    mechanisms: Mechanisms = ALL_MECHANISMS,
    epsilons: Epsilons = "4",
    ks: Ks = "10",
    oracles: Oracles = "krr",
    encoding: Encoding = None,
    settings: Set = None,
    repeats: Repeats = 50,
    workers: Workers = 1,
    seed: Seed = None,
    simulator: Simulator = "exact",
    output: Output = None,
    json: Json = False,
) -> None:
    """Run mechanisms many times over a grid and average; rows finished before Ctrl-C are kept in --output."""
    chosen = read_settings(settings)
    cells = cells_of(
        read_list("--mechanisms", mechanisms, str, "names"),
        read_list("--oracles", oracles, str, "names"),
        read_list("--epsilons", epsilons, float, "numbers"),
        read_list("--ks", ks, int, "whole numbers"),
        chosen,
    )
    grid = Grid(cells, repeats, checked_seed(seed), simulator)
    target = checked_output(output) if output else None
    with waiting("reading"):
        population = populate(federation_named(files), cells[0].parameters, encoding)
    _tell(population, grid, chosen)
    rows = _run(population, grid, workers, target)
    if json:
        print_json([asdict(row) for row in rows])
    else:
        out.print(results_table(rows))


def _tell(population: Population, grid: Grid, settings: dict[str, object]) -> None:
    note(f"seed {grid.seed}")
    for text in population.notes:
        note(text)
    for text in dict.fromkeys(
        text for cell in grid.cells for text in oracle_notes(mechanism_named(cell.mechanism), cell.parameters)
    ):
        note(text)
    for name in dict.fromkeys(cell.mechanism for cell in grid.cells):
        for text in (
            *setting_notes(mechanism_named(name), settings),
            *sharing_notes(mechanism_named(name), population),
        ):
            note(text)


def _run(population: Population, grid: Grid, workers: int, target: Path | None) -> list[Row]:
    """Collect rows; whatever happens, those that are finished are written."""
    rows: list[Row] = []
    try:
        with progress_bar("runs", grid.runs) as bar:
            task = bar.task_ids[0]
            rows.extend(execute(population, grid, workers, lambda done: bar.advance(task, done)))
    finally:
        rows = in_order(rows, grid)
        if target is not None:
            write(rows, grid.seed, target)
            note(f"{len(rows)} of {len(grid.cells)} rows are in {target}")
    return rows


def results_table(rows: list[Row]) -> Table:
    """Lay rows out for a person."""
    table = Table(box=None, pad_edge=False)
    for name in ("mechanism", "oracle"):
        table.add_column(name, no_wrap=True)
    for name in ("ε", "k", "F1", "NCR", "recall", "kbit up", "ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        numbers = (f"{row.epsilon:g}", str(row.k), _with_error(row.f1, row.f1_se), _with_error(row.ncr, row.ncr_se))
        costs = (f"{row.local_recall:.3f}", f"{row.uplink_bits / 1000:.1f}", f"{row.seconds * 1000:.0f}")
        table.add_row(row.mechanism, row.oracle, *numbers, *costs)
    return table


def _with_error(mean: float, error: float | None) -> str:
    return f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"
