"""`treetop explain`: what an epsilon means."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver
from treetop.cli.screen import Json, out, plain
from treetop.planning.meaning import PEOPLE, Meaning, meaning_of
from treetop.privacy.epsilon import Epsilon

A_ROW = 20


def explain(
    epsilon: Annotated[str, typer.Argument(metavar="EPSILON", help="A privacy budget, such as 2.")] = "2",
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Say what an epsilon means: odds, 100 people, what deployed systems use, and what is weak."""
    target = checked_target(output, PLAIN_FORMATS)
    meaning = meaning_of(epsilon)
    deliver(meaning.to_json(), lambda: _show(meaning), json_only=json, output=target)


def _show(meaning: Meaning) -> None:
    odds = Epsilon(meaning.epsilon).written_odds
    out.print(f"ε = {meaning.epsilon:g} is {meaning.strength}.", style="bold")
    out.print()
    out.print(
        f"Odds: whatever a device reports, it was at most e^{meaning.epsilon:g} = {odds} times likelier "
        "to report so for one item than for any other. Nobody learns more than that from the report, whatever else "
        "they know and however much they compute."
    )
    _title(f"{PEOPLE} people are asked one yes-or-no question, and answer by randomised response")
    row = "●" * meaning.truthful + "○" * (PEOPLE - meaning.truthful)
    for first in range(0, PEOPLE, A_ROW):
        out.print(Text("  " + plain(row[first : first + A_ROW])))
    lie = PEOPLE - meaning.truthful
    if lie:
        said = f"{meaning.truthful} tell the truth (●) and {lie} say the opposite (○)"
        out.print(f"{said}. Nobody can tell which ones, so each of them can deny her answer.")
    else:
        out.print(f"Rounded, all {PEOPLE} tell the truth (●): hardly anybody would believe one who denies her answer.")
    _title("What somebody may believe of you")
    table = Table(box=None, pad_edge=False)
    for name in ("before your report", "after it, at most"):
        table.add_column(name, justify="right", no_wrap=True)
    for before, after in meaning.beliefs:
        table.add_row(f"{before:.1%}", f"{after:.1%}")
    out.print(table)
    _title("What deployed systems use")
    for each in meaning.deployed:
        out.print(f"  {each.who}: {each.epsilon}; {each.what}")
    _title("What devices accept")
    out.print(
        f"A device of Treetop accepts {meaning.per_task:g} for one task and {meaning.lifetime:g} in its lifetime, "
        "unless its owner says otherwise. Budgets add up: two reports of epsilon 2 are worth one of 4."
    )
    out.print(
        "Epsilon does not cover that you take part, when your report arrives, and what everybody's answers say about "
        "people like you: docs/explanation/epsilon.md says more."
    )


def _title(text: str) -> None:
    out.print()
    out.print(text, style="bold")
