"""`treetop evaluate`: a grid of runs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from treetop.cli.file_options import Files, reads_files
from treetop.cli.options import (
    CatalogueFile,
    DaskCluster,
    Encoding,
    ItemsPerUser,
    Normalise,
    Reading,
    Seed,
    Set,
    Simulator,
    TextRecovery,
    WordList,
    WordListOrder,
    Workers,
    completing,
    read_list,
    read_settings,
)
from treetop.cli.output import OutputFile, checked_target, write_output
from treetop.cli.rendering import campaign_table, evaluation_table, fitted
from treetop.cli.screen import Json, note, out, print_json, progress_bar, reading_bar, waiting
from treetop.datasets.item_lists import load_catalogue, word_list_of
from treetop.datasets.loading import federation_named
from treetop.datasets.table_files.options import ReadOptions
from treetop.evaluation.campaigns import SEEDABLE, WEEKS, Calendar, CampaignEvaluation, CampaignExperiment, CampaignRow
from treetop.evaluation.evaluate import MEANINGS, Evaluation, Experiment, Row, default_mechanisms
from treetop.evaluation.grid import VARIANTS, Grid, cells_of
from treetop.mechanisms.defaults import DEFAULT_BUDGET, DEFAULT_K
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import MECHANISMS
from treetop.oracles.registry import AUTO, oracle_names
from treetop.query.find import checked_seed
from treetop.query.sets import settled_sets
from treetop.simulation.weeks import DRIFT

ALL_MECHANISMS = ",".join(MECHANISMS)

Mechanisms = Annotated[
    str | None,
    typer.Option(
        "--mechanisms",
        help="Mechanisms, separated by commas; of Panorama also panorama:list (the word list alone), panorama:texts "
        "(texts alone) and panorama:catalogue (all items known: the limit).",
        autocompletion=completing([*MECHANISMS, *(f"panorama:{variant}" for variant in VARIANTS)]),
        show_default=f"{ALL_MECHANISMS}; for sets and campaigns {', '.join(SEEDABLE)}",
    ),
]
Epsilons = Annotated[str, typer.Option("--epsilons", help="Privacy budgets, separated by commas.")]
Ks = Annotated[str, typer.Option("--ks", help="Numbers of items, separated by commas.")]
Oracles = Annotated[
    str,
    typer.Option(
        "--oracles", help="Frequency oracles, separated by commas.", autocompletion=completing(oracle_names())
    ),
]
Repeats = Annotated[int, typer.Option("--repeats", help="Runs of every cell.")]
Campaign = Annotated[
    bool,
    typer.Option(
        "--campaign",
        help="Ask the same every week, over items that drift: everybody every week, in rotation, and in rotation "
        "seeded by earlier weeks. --epsilons are what everybody spends in a cycle.",
    ),
]
Weeks = Annotated[int, typer.Option("--weeks", help="Campaigns: weeks.")]
Cycle = Annotated[
    int | None,
    typer.Option("--cycle", help="Campaigns: weeks in which everybody answers once; by default, all of them."),
]
Drift = Annotated[float, typer.Option("--drift", help="Campaigns: items among the first k that change every week.")]


@reads_files
def evaluate(
    files: Files,
    *,
    mechanisms: Mechanisms = None,
    epsilons: Epsilons = DEFAULT_BUDGET,
    ks: Ks = str(DEFAULT_K),
    oracles: Oracles = AUTO,
    encoding: Encoding = None,
    catalogue: CatalogueFile = None,
    word_list: WordList = None,
    word_list_order: WordListOrder = None,
    text_recovery: TextRecovery = None,
    normalise: Normalise = None,
    items_per_user: ItemsPerUser = None,
    reading: Reading = None,
    settings: Set = None,
    repeats: Repeats = 50,
    workers: Workers = 1,
    dask: DaskCluster = None,
    seed: Seed = None,
    simulator: Simulator = "exact",
    campaign: Campaign = False,
    weeks: Weeks = WEEKS,
    cycle: Cycle = None,
    drift: Drift = DRIFT,
    output: OutputFile = None,
    json: Json = False,
    read: ReadOptions,
) -> None:
    """Run mechanisms many times over a grid and average; rows finished before Ctrl-C are kept in --output."""
    target = checked_target(output)
    with reading_bar() as progress:
        federation, of_sets = settled_sets(
            federation_named(files, replace(read, progress=progress)), items_per_user=items_per_user, reading=reading
        )
    chosen = read_settings(settings) | of_sets
    usual = SEEDABLE if campaign else default_mechanisms(federation)
    cells = cells_of(
        usual if mechanisms is None else read_list("--mechanisms", mechanisms, str, "names"),
        read_list("--oracles", oracles, str, "names"),
        read_list("--epsilons", epsilons, float, "numbers"),
        read_list("--ks", ks, int, "whole numbers"),
        chosen,
    )
    with waiting("preparing"):
        given = Query(
            encoding=encoding,
            catalogue=None if catalogue is None else load_catalogue(catalogue),
            word_list=word_list_of(word_list, word_list_order),
            text_recovery=text_recovery,
            normalise=() if normalise is None else normalise,
            settings=chosen,
        )
        if campaign:
            calendar = Calendar(weeks, weeks if cycle is None else cycle, drift)
            grid = Grid(cells, repeats, checked_seed(seed), simulator)
            campaigns = CampaignExperiment.of(federation, grid, given, calendar)
        else:
            experiment = Experiment.of(federation, cells, given, repeats=repeats, seed=seed, simulator=simulator)
    if campaign:
        _run_campaigns(campaigns, workers, dask, target, json=json)
        return
    for text in (f"seed {experiment.grid.seed}", *(each.text for each in experiment.notes)):
        note(text)
    rows: dict[int, Row] = {}
    try:
        with progress_bar("runs", experiment.grid.runs) as bar:
            task = bar.task_ids[0]
            rows.update(experiment.rows(workers, lambda done: bar.advance(task, done), dask))
    finally:  # whatever happens, the rows that are finished are written
        evaluation = experiment.evaluation(rows)
        if target is not None:
            write_output(target, evaluation.to_json(), lambda: _show(evaluation), evaluation)
            note(f"{len(rows)} of {len(cells)} rows are in {target}")
    if json:
        print_json(evaluation.to_json())
    else:
        _show(evaluation)


def _show(evaluation: Evaluation) -> None:
    out.print(fitted(evaluation_table(evaluation.rows)))
    out.print(MEANINGS, style="dim")


def _run_campaigns(
    campaigns: CampaignExperiment, workers: int, dask: str | None, target: Path | None, *, json: bool
) -> None:
    """Run all campaigns, and show or write the rows that are finished."""
    note(f"seed {campaigns.grid.seed}")
    rows: list[CampaignRow] = []
    try:
        with progress_bar("campaigns", campaigns.grid.runs) as bar:
            task = bar.task_ids[0]
            rows.extend(campaigns.rows(workers, lambda done: bar.advance(task, done), dask))
    finally:
        evaluation = CampaignEvaluation(tuple(rows), campaigns.grid.seed)
        if target is not None:
            write_output(target, evaluation.to_json(), lambda: out.print(fitted(campaign_table(rows))), evaluation)
            note(f"{len(rows)} of {len(campaigns.designs) * len(campaigns.grid.cells)} rows are in {target}")
    if json:
        print_json(evaluation.to_json())
    else:
        out.print(fitted(campaign_table(rows)))
