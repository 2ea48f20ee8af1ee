"""`treetop campaign`: the same question every week, under one epsilon for each cycle."""

import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from treetop.answers.answer import MARKS
from treetop.cli.federation.asking import QUESTION, CaFile, KeyFile, Name, ServerUrl, asked_question, client_of
from treetop.cli.options import completing, gathers, seconds_of
from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver
from treetop.cli.rendering import CHANGES, DOWN, NEW, UP, fitted, rounded
from treetop.cli.screen import Json, note, out
from treetop.errors import InvalidInput
from treetop.federation.campaign import DAY, WEEK
from treetop.federation.wire.uploads import Refusal
from treetop.mechanisms.summed_level import SummedParameters
from treetop.planning.modes import Lists, mode_of
from treetop.planning.plan import detectable
from treetop.privacy.epsilon import Epsilon

app = typer.Typer(help="Ask the same question every week: each device answers in one week of a cycle.")

SPANS = {"week": WEEK, "day": DAY, "hour": 3600}
UNITS = ((DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
CAPS = {
    "task": "their owners allow less for one task",
    "window": "their budget is spent until their window is renewed",
    "lifetime": "their lifetime budget is spent",
}
"""Why devices fall silent."""

Every = Annotated[
    str,
    typer.Option(
        "--every",
        metavar="SPAN",
        help="Length of a week: week, day, hour, or a duration such as 90s.",
        autocompletion=completing(list(SPANS)),
    ),
]
Cycle = Annotated[
    int, typer.Option("--cycle", min=2, help="Weeks of a cycle: a device answers in one of them, which it draws.")
]
Cycles = Annotated[int, typer.Option("--cycles", min=1, help="How many cycles; each costs a device one epsilon.")]
Starts = Annotated[
    str, typer.Option("--starts", metavar="TIME", help="When week 1 opens: now, or a time such as 2027-01-04T00:00Z.")
]
Which = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Its name, or its digest.", show_default=False)]
MaybeWhich = Annotated[
    str | None, typer.Argument(metavar="CAMPAIGN", help="Its name, or its digest.", show_default="all, in short")
]


@app.command()
@gathers("question", {**QUESTION, "name": (Name, "campaign")})
def start(
    *,
    server: ServerUrl,
    key_file: KeyFile,
    every: Every = "week",
    cycle: Cycle = 12,
    cycles: Cycles = 1,
    starts: Starts = "now",
    question: dict[str, Any],
    ca: CaFile = None,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Start a campaign on a running server: it asks by itself from now on, one week after the other."""
    target = checked_target(output, PLAIN_FORMATS)
    span = SPANS.get(every) or seconds_of("--every", every)
    first = _second_of(starts)
    with closing(client_of(server, key_file, ca)) as client:
        asked = asked_question(client, question)
        shown = client.start_campaign(asked | {"every": span, "weeks": cycle, "cycles": cycles, "starts": first})
    note(f"campaign {shown['campaign']}")
    _present(shown, json, target)


@app.command()
def status(
    server: ServerUrl,
    key_file: KeyFile,
    campaign: MaybeWhich = None,
    ca: CaFile = None,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Say how far a campaign is: its week, who answered, what is left, and what every week found."""
    target = checked_target(output, PLAIN_FORMATS)
    with closing(client_of(server, key_file, ca)) as client:
        found = client.campaigns() if campaign is None else [client.campaign(campaign)]
        for week in (week for shown in found for week in shown["answers"] if week["state"] == "running"):
            _add_counts_so_far(week, client.standing(week["task"]))
    if campaign is not None:
        _present(found[0], json, target)
    else:
        deliver(found, lambda: _show_list(found), json_only=json, output=target)


@app.command()
def stop(
    server: ServerUrl,
    key_file: KeyFile,
    campaign: Which,
    ca: CaFile = None,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Stop a campaign for good: no further week is asked; the one under way is still answered."""
    target = checked_target(output, PLAIN_FORMATS)
    with closing(client_of(server, key_file, ca)) as client:
        shown = client.stop_campaign(campaign)
    _present(shown, json, target)


def _second_of(starts: str) -> int:
    """Return the second that `--starts` names; a time without a zone is one of UTC."""
    if starts == "now":
        return int(time.time())
    try:
        found = datetime.fromisoformat(starts)
    except ValueError:
        raise InvalidInput("starts_malformed", starts=starts) from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def _add_counts_so_far(week: dict[str, Any], parties: list[dict[str, Any]]) -> None:
    """Add to a week that is under way what the parties that answer have counted."""
    counted = [party for party in parties if party["reports"] is not None]
    if counted:
        week["reports"] = sum(party["reports"] for party in counted)
    for party in counted:
        week["refusals"] = dict(Counter(week["refusals"]) + Counter(party["refusals"]))


def smallest_share(shown: dict[str, Any]) -> float | None:
    """Return the smallest share of users that a week finds with 90 % power; None where sizes are not known, or none is.

    A name that an earlier week found, or that stands on a list, is counted by everybody; a new one must be read first.
    """
    users = [-(-shown["expected"].get(party, 0) // shown["weeks"]) for party in shown["parties"]]
    size = max(shown["listed"], shown["k"])
    parameters = SummedParameters(shown["k"], Epsilon(shown["epsilon"]), items_per_user=shown["items_per_user"] or 1)
    mode = mode_of(shown["mechanism"], shown["encoding"], parameters, Lists(size, size))
    if mode is None or not all(users):
        return None
    found = detectable(mode, users)
    return found if isfinite(found) else None


def _show_list(found: list[dict[str, Any]]) -> None:
    """Print a line for each campaign of a server."""
    if not found:
        out.print("This server has no campaigns.")
        return
    table = Table("campaign", "state", "week", "until", "digest", box=None, pad_edge=False)
    for shown in found:
        table.add_row(shown["name"], shown["state"], _week_of(shown), _date(shown["over"]), shown["campaign"][:16])
    out.print(fitted(table))


def _present(shown: dict[str, Any], json: bool, output: Path | None) -> None:
    """Print a campaign as JSON alone, or for a person; in a file as well, if there is to be one."""
    shown = {**shown, "smallest_share": smallest_share(shown)}
    deliver(shown, lambda: _show(shown), json_only=json, output=output)


def _show(shown: dict[str, Any]) -> None:
    """Print what a campaign is, how long it can go on, and its weeks."""
    out.print(f"{shown['name']}: {shown['state']}, {_week_of(shown)}", style="bold")
    length = f"weeks of {_span(shown['every'])}, cycles of {shown['weeks']}: each device answers in one week of a cycle"
    out.print(f"{length}, at epsilon {shown['epsilon']}.")
    out.print(f"First week from {_date(shown['starts'])}, last week until {_date(shown['over'])}.")
    if shown["expected_reports"] is not None:
        out.print(f"About {shown['expected_reports']:,} reports are expected each week.")
    if shown["smallest_share"] is not None:
        out.print(f"The smallest share that a week finds with 90 % power: {shown['smallest_share']:.3%}.")
    if shown["silent_from"] is not None:
        why = CAPS[shown["silent_because"]]
        out.print(f"Silence from {_date(shown['silent_from'])}: devices as they are shipped refuse then, {why}.")
    for week in shown["answers"]:
        _show_week(shown, week)
    if any(week["items"] for week in shown["answers"]):
        marks = f"{UP} {DOWN} changed beyond noise since the week before"
        out.print(f"{marks}; {NEW} not counted in it, so nobody knows by how much.")


def _show_week(shown: dict[str, Any], week: dict[str, Any]) -> None:
    """Print one week: who answered, why others did not, and its items."""
    counted = "" if week["reports"] is None else f", {week['reports']:,} reports"
    if week["reports"] is not None and shown["expected_reports"]:
        counted += f" ({week['reports'] / shown['expected_reports']:.0%} of those expected)"
    reason = f": {week['doing']}" if week["state"] in {"failed", "missed", "running"} else ""
    out.print()
    out.print(f"Week {week['number']}, from {_date(week['opens'])}: {week['state']}{reason}{counted}", style="bold")
    for code, devices in week["refusals"].items():
        if devices:
            out.print(f"{Refusal(code).note(devices).text}.")
    table = Table(box=None, pad_edge=False, show_header=False)
    for rank, row in enumerate(week["items"], start=1):
        mark = MARKS[True] if row["significant"] else ""
        table.add_row(
            str(rank),
            row["item"],
            rounded(row["count"], row["stderr"]),
            f"{row['frequency']:.2%}",
            mark,
            CHANGES.get(row["change"], ""),
        )
    if week["items"]:
        out.print(fitted(table))
    if week["gone"]:
        out.print(f"Not among them any more: {', '.join(week['gone'])}.")


def _week_of(shown: dict[str, Any]) -> str:
    weeks = shown["weeks"] * shown["cycles"]
    return f"{weeks} weeks" if shown["week"] is None else f"week {shown['week']} of {weeks}"


def _span(seconds: int) -> str:
    size, name = next(unit for unit in UNITS if seconds % unit[0] == 0)
    return f"{seconds // size:,} {name}{'s' * (seconds != size)}"


def _date(second: int) -> str:
    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {second}"
