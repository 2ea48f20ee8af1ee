"""`treetop demo`: Panorama, Canopy and the paper's mechanisms on the paper's synthetic federation."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from treetop.answers.answer import Answer
from treetop.cli.options import EpsilonOption, K, Oracle, Seed, Workers
from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver
from treetop.cli.rendering import evaluation_table, fitted
from treetop.cli.screen import Json, out, progress_bar
from treetop.datasets.synthetic import synthetic
from treetop.evaluation.evaluate import MEANINGS, Evaluation, Experiment
from treetop.evaluation.grid import cells_of
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import OWN
from treetop.oracles.registry import AUTO
from treetop.public_text import visible
from treetop.query.find import simulated_answer
from treetop.simulation.population import Population

REPEATS = 20


def demo(
    k: K = DEFAULT_K,
    epsilon: EpsilonOption = DEFAULT_EPSILON,
    oracle: Oracle = AUTO,
    seed: Seed = None,
    workers: Workers = 2,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Let all mechanisms compete on the built-in federation SYN: 8 parties, 780,000 users."""
    target = checked_target(output, PLAIN_FORMATS)
    cells = cells_of(tuple(OWN), oracles=[oracle], epsilons=[epsilon], ks=[k])
    experiment = Experiment.of(synthetic(), cells, repeats=REPEATS, seed=seed)
    population = experiment.populations[0]
    seed = experiment.grid.seed
    population.check_k(k)
    queries = [Query(k, epsilon, name, oracle) for name in OWN]
    answers = [simulated_answer(population.federation, query, seed=seed) for query in queries]
    with progress_bar("runs", experiment.grid.runs) as bar:
        task = bar.task_ids[0]
        evaluation = experiment.evaluation(dict(experiment.rows(workers, lambda done: bar.advance(task, done))))
    names = population.show(population.truth.codes[:k])
    users = population.truth.users[:k].tolist()
    truth = [{"item": item, "count": count} for item, count in zip(names, users, strict=True)]
    content = {"truth": truth, "answers": [answer.to_json() for answer in answers], "rows": evaluation.to_json()}
    deliver(content, lambda: _show(truth, answers, evaluation, population), json_only=json, output=target)


def _show(
    truth: list[dict[str, Any]], answers: Sequence[Answer], evaluation: Evaluation, population: Population
) -> None:
    first = answers[0]
    items = len(population.truth.codes)
    parties = f"{first.users:,} users in {len(first.parties)} parties"
    out.print(f"SYN: {parties} hold {items:,} different items.", style="bold")
    out.print(first.privacy_line)
    out.print()
    out.print(fitted(_answers_table(truth, answers)))
    out.print("✓ is in the true top k, ✗ is not; estimates with one standard error.", style="dim")
    out.print()
    out.print(f"Means of {REPEATS} runs ± standard error, seed {first.seed}", style="bold")
    out.print(fitted(evaluation_table(evaluation.rows)))
    out.print(MEANINGS, style="dim")


def _answers_table(truth: list[dict[str, Any]], answers: Sequence[Answer]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", justify="right")
    table.add_column("truth")
    for answer in answers:
        table.add_column(answer.mechanism)
    for rank, true in enumerate(truth):
        cells = [_cell(answer, rank, {row["item"] for row in truth}) for answer in answers]
        table.add_row(str(rank + 1), Text(visible(true["item"])).append(f"\n{true['count']:,}", style="dim"), *cells)
    for name in ("f1", "ncr"):
        table.add_row("", name.upper(), *(f"{getattr(a.truth, name):.2f}" for a in answers), style="bold")
    return table


def _cell(answer: Answer, rank: int, truth: set[str]) -> Text:
    if rank >= len(answer.items):
        return Text("-")
    row = answer.items[rank]
    mark = (" ✓", "green") if row.item in truth else (" ✗", "red")
    return Text.assemble(visible(row.item), mark, (f"\n{_short(row.count)}±{_short(row.stderr)}", "dim"))


def _short(users: float) -> str:
    """Return a number of users in four or five characters: six mechanisms share a line of 80."""
    return f"{users / 1000:,.1f}k" if users >= 1000 else f"{users:,.0f}"
