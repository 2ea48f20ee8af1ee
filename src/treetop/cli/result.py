"""The answer of a federation, for a person to read."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from treetop.cli.bars import bar, rounded
from treetop.cli.marks import mark_of, show_standing
from treetop.cli.screen import note, out

Result = Mapping[str, Any]
FIRST = ("mechanism", "oracle", "encoding", "k", "epsilon", "seed", "items", "parties", "truth")
"""What `treetop find --json` prints, in its order; what a federation adds follows."""


def in_order(result: Result) -> dict[str, Any]:
    """Return a result with its keys in the order of `find`."""
    first = {name: result[name] for name in FIRST if name in result}
    return {**first, **{name: value for name, value in result.items() if name not in first}}


def show_result(result: Result, true_counts: Mapping[str, int] | None = None) -> None:
    """Print the items with their error bars, who took part, and what the answer is worth."""
    out.print(
        f"[bold]{result['mechanism']}, {result['mode']}, {result['oracle']} oracle, {result['encoding']}, "
        f"k = {result['k']}, ε = {result['epsilon']:g}[/bold]"
    )
    out.print(_table(result, true_counts))
    _show_truth(result)
    _show_parties(result)
    _show_worth(result)
    for text in result["notes"]:
        note(text)


def _table(result: Result, true_counts: Mapping[str, int] | None) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("item", overflow="fold")
    table.add_column("", no_wrap=True)
    for name in ("users", "share", *(["true"] if true_counts is not None else [])):
        table.add_column(name, justify="right", no_wrap=True)
    largest = max((row["count"] + row["stderr"] for row in result["items"]), default=0.0)
    for rank, row in enumerate(result["items"], start=1):
        truth = [f"{true_counts.get(row['item'], 0):,}"] if true_counts is not None else []
        drawn, share = bar(row["count"], row["stderr"], largest), f"{row['frequency']:.2%}"
        place = f"{rank}{mark_of(row.get('significant'))}"
        table.add_row(place, row["item"], drawn, rounded(row["count"], row["stderr"]), share, *truth)
    return table


def _show_truth(result: Result) -> None:
    show_standing([row["significant"] for row in result["items"] if "significant" in row])
    if "truth" in result:
        truth = result["truth"]
        out.print(f"F1 {truth['f1']:.2f}, NCR {truth['ncr']:.2f} against the true top {result['k']}.")
    if not result["items"]:
        out.print("Nothing rose above the noise: there are too few users for this epsilon.")


def _show_parties(result: Result) -> None:
    users = sum(party["users"] for party in result["parties"])
    bits = [party["uplink_bits"] for party in result["parties"]]
    out.print(
        f"{users:,} users in {len(result['parties'])} parties; each party sent {min(bits):,} to {max(bits):,} bits."
    )
    for party in result["parties"]:
        if party["implausible"]:
            odd = f"{party['implausible']:,} reports of {party['name']} are such as no honest device would send"
            out.print(f"Warning: {odd}.", style="yellow", markup=False)
    for missing in result["missing"]:
        out.print(f"Missing: {missing['name']} ({missing['reason']}).", style="yellow", markup=False)
    covered = result["covered"]
    if result["missing"] and covered["share"] is not None:
        out.print(f"{covered['share']:.1%} of the {covered['of']} {covered['known']:,} users are covered.")


def _show_worth(result: Result) -> None:
    privacy = result["privacy"]
    out.print(f"Privacy: {privacy['epsilon']}-LDP, {privacy['reports_per_user']} report per user.", markup=False)
    if result["fakes_needed"] is not None:
        out.print(f"About {result['fakes_needed']:,} fake users could push an item that nobody holds into the top k.")
