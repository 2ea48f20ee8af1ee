"""`treetop find`: one answer."""

from typing import Any

from rich.table import Table
from rich.text import Text

from treetop.cli.bars import WIDTH, bar, rounded
from treetop.cli.marks import mark_of, show_standing
from treetop.cli.options import (
    CatalogueFile,
    Encoding,
    EpsilonOption,
    Files,
    Json,
    K,
    MechanismOption,
    Oracle,
    Seed,
    Set,
    Simulator,
    TextRecovery,
    Way,
    WordList,
    read_settings,
)
from treetop.cli.screen import note, out, print_json, waiting
from treetop.datasets.item_catalogue import load_catalogue
from treetop.datasets.loading import federation_named
from treetop.mechanisms.registry import DEFAULT_MECHANISM
from treetop.metrics.noise_advice import Advice
from treetop.oracles.registry import AUTO
from treetop.privacy.guarantee import Guarantee
from treetop.query.answer import Answer, AnswerItem
from treetop.query.find import find as find_answer

NARROW = 8
"""A bar beside long names."""


def find(
    files: Files,
    k: K = 10,
    epsilon: EpsilonOption = 2.0,
    mechanism: MechanismOption = DEFAULT_MECHANISM,
    oracle: Oracle = AUTO,
    encoding: Encoding = None,
    way: Way = None,
    catalogue: CatalogueFile = None,
    word_list: WordList = None,
    text_recovery: TextRecovery = None,
    seed: Seed = None,
    settings: Set = None,
    simulator: Simulator = "exact",
    json: Json = False,
) -> None:
    """Find the k most popular items of a federation in one simulated run."""
    chosen: dict[str, Any] = read_settings(settings)
    with waiting("reading and running"):
        answer = find_answer(
            federation_named(files),
            k=k,
            epsilon=epsilon,
            mechanism=mechanism,
            oracle=oracle,
            encoding=encoding,
            seed=seed,
            simulator=simulator,
            way=way,
            catalogue=None if catalogue is None else load_catalogue(catalogue),
            word_list=None if word_list is None else load_catalogue(word_list),
            text_recovery=text_recovery,
            **chosen,
        )
    for text in answer.notes:
        note(text)
    if json:
        for text in answer.choices:
            note(f"{answer.mechanism}: {text}")
        print_json(answer.to_json())
    else:
        show(answer)


def show(answer: Answer) -> None:
    """Print an answer for a person."""
    out.print(f"[bold]{answer.title}[/bold]")
    out.print(_table(answer))
    _show_standing(answer)
    out.print(f"F1 {answer.truth.f1:.2f}, NCR {answer.truth.ncr:.2f} against the true top {answer.parameters.k}.")
    bits = [party.uplink_bits for party in answer.parties]
    out.print(
        f"{answer.users:,} users in {len(answer.parties)} parties; each party sent {min(bits):,} to {max(bits):,} bits."
    )
    out.print(f"Privacy: {Guarantee(answer.parameters.epsilon, answer.parameters.oracle)}.")
    for text in answer.choices:
        out.print(f"{answer.mechanism}: {text}", style="dim", markup=False)
    if not answer.items:
        out.print("Nothing rose above the noise: there are too few users for this epsilon.")
    if answer.advice is not None:
        out.print(advice_line(answer, answer.advice))


def _show_standing(answer: Answer) -> None:
    """Say how many items stand out from noise, and how many users hold something that is not in the catalogue."""
    show_standing([row.significant for row in answer.items if row.significant is not None])
    if answer.outside is not None:
        outside = answer.outside
        out.print(
            f"{outside.share:.2%} ± {outside.stderr:.2%} of users hold an item that is not in the catalogue "
            f"(true: {outside.true_share:.2%})."
        )


def _table(answer: Answer) -> Table:
    sourced = any(row.source for row in answer.items)
    width = NARROW if sourced else WIDTH
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("item", overflow="fold")
    table.add_column("", no_wrap=True, min_width=width)
    for name in ("users", "share", "true", "parties"):
        table.add_column(name, justify="right", no_wrap=True)
    if sourced:
        table.add_column("name", no_wrap=True)
    largest = max((row.count + row.stderr for row in answer.items), default=0.0)
    for rank, row in enumerate(answer.items, start=1):
        cells = _cells(row, len(answer.parties), bar(row.count, row.stderr, largest, width))
        table.add_row(f"{rank}{mark_of(row.significant)}", *cells, *([row.source] if sourced else []))
    return table


def _cells(row: AnswerItem, parties: int, drawn: Text) -> tuple[str | Text, ...]:
    number, share = rounded(row.count, row.stderr), f"{row.frequency:.2%}"
    return (row.item, drawn, number, share, f"{row.true_count:,}", f"{row.parties}/{parties}")


def advice_line(answer: Answer, advice: Advice) -> str:
    """Say how many users, or which epsilon, would lift the last item out of the noise."""
    users = _two_digits(answer.users * advice.users_factor)
    epsilon = "no epsilon up to 10 would" if advice.epsilon is None else f"epsilon {advice.epsilon:g} would, too"
    return (
        f"Noise swamps item {len(answer.items)}: its estimate is below {advice.clear:.2g} standard errors. "
        f"About {users:,} users like these would show it; {epsilon}."
    )


def _two_digits(number: float) -> int:
    return int(float(f"{number:.1e}"))
