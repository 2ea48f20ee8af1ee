"""`treetop demo`: Canopy and the paper's mechanisms on the paper's synthetic federation."""

from dataclasses import asdict
from typing import Any

from rich.table import Table

from treetop.cli.evaluate import results_table
from treetop.cli.options import EpsilonOption, Json, K, Oracle, Seed, Workers
from treetop.cli.screen import out, print_json, progress_bar
from treetop.datasets.synthetic import synthetic
from treetop.evaluation.evaluate import in_order
from treetop.evaluation.execute import execute
from treetop.evaluation.grid import Grid, cells_of
from treetop.evaluation.results import Row
from treetop.mechanisms.registry import MECHANISMS
from treetop.oracles.registry import AUTO
from treetop.query.answer import Answer
from treetop.query.encode import populate
from treetop.query.find import checked_seed, find
from treetop.simulation.population import Population

REPEATS = 20


def demo(
    k: K = 10,
    epsilon: EpsilonOption = 4.0,
    oracle: Oracle = AUTO,
    seed: Seed = None,
    workers: Workers = 2,
    json: Json = False,
) -> None:
    """Let all mechanisms compete on the built-in federation SYN: 8 parties, 780,000 users."""
    cells = cells_of(oracles=[oracle], epsilons=[epsilon], ks=[k])
    grid = Grid(cells, REPEATS, checked_seed(seed))
    population = populate(synthetic(), cells[0].parameters, None)
    population.check_k(k)
    answers = [
        find(population.federation, k=k, epsilon=epsilon, oracle=oracle, mechanism=name, seed=grid.seed)
        for name in MECHANISMS
    ]
    with progress_bar("runs", grid.runs) as bar:
        task = bar.task_ids[0]
        rows = in_order(list(execute(population, grid, workers, lambda done: bar.advance(task, done))), grid)
    truth = _truth(population, k)
    if json:
        print_json({"truth": truth, "answers": [a.to_json() for a in answers], "rows": [asdict(r) for r in rows]})
    else:
        _show(truth, answers, rows, population)


def _truth(population: Population, k: int) -> list[dict[str, Any]]:
    names, users = population.show(population.truth.codes[:k]), population.truth.users[:k].tolist()
    return [{"item": item, "count": count} for item, count in zip(names, users, strict=True)]


def _show(truth: list[dict[str, Any]], answers: list[Answer], rows: list[Row], population: Population) -> None:
    p, first = answers[0].parameters, answers[0]
    out.print(
        f"[bold]SYN: {first.users:,} users in {len(first.parties)} parties hold "
        f"{len(population.truth.codes):,} different items.[/bold]"
    )
    out.print(f"Nobody sees what a user holds: one report each, ε = {p.epsilon:g} ({p.oracle}).\n")
    out.print(_answers_table(truth, answers))
    out.print("✓ is in the true top k, ✗ is not; estimates with one standard error.\n", style="dim")
    out.print(f"[bold]Means of {rows[0].repeats} runs ± standard error, seed {first.seed}[/bold]")
    out.print(results_table(rows))


def _answers_table(truth: list[dict[str, Any]], answers: list[Answer]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", justify="right")
    table.add_column("truth")
    for answer in answers:
        table.add_column(answer.mechanism)
    for rank, true in enumerate(truth):
        cells = [_cell(answer, rank, {row["item"] for row in truth}) for answer in answers]
        table.add_row(str(rank + 1), f"{true['item']}\n[dim]{true['count']:,}[/dim]", *cells)
    for name in ("f1", "ncr"):
        table.add_row(
            "", f"[bold]{name.upper()}[/bold]", *(f"[bold]{getattr(a.truth, name):.2f}[/bold]" for a in answers)
        )
    return table


def _cell(answer: Answer, rank: int, truth: set[str]) -> str:
    if rank >= len(answer.items):
        return "-"
    row = answer.items[rank]
    mark = "[green]✓[/green]" if row.item in truth else "[red]✗[/red]"
    return f"{row.item} {mark}\n[dim]{row.count:,.0f}±{row.stderr:,.0f}[/dim]"
