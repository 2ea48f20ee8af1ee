"""`treetop campaign`: the same question every week, under one epsilon for each cycle."""

import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any

import typer
from rich.table import Table

from treetop.cli.federation.asking import (
    Attribute,
    CaFile,
    EncodingOption,
    EpsilonText,
    Expected,
    KeyFile,
    Least,
    LeastValidation,
    MaxTimes,
    Name,
    OracleOption,
    Parties,
    Patience,
    Policy,
    ServerUrl,
    asked_question,
    client_of,
)
from treetop.cli.options import (
    CatalogueFile,
    CentralEpsilon,
    Delta,
    ItemsAtMost,
    Json,
    K,
    MaybeMechanism,
    Normalise,
    Reading,
    Set,
    Strategy,
    TextRecovery,
    Trust,
    WordList,
    WordListOrder,
    seconds_of,
)
from treetop.cli.rendering import CHANGES, DOWN, NEW, UP, rounded
from treetop.cli.screen import note, out, print_json
from treetop.errors import InvalidInput
from treetop.federation.campaign import DAY, WEEK
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED
from treetop.federation.wire.refusals import Refusal
from treetop.mechanisms.summed_level import SummedParameters
from treetop.planning.modes import Lists, modes_of
from treetop.planning.plan import detectable
from treetop.privacy.epsilon import Epsilon
from treetop.query.answer import MARKS

app = typer.Typer(help="Ask the same question every week: each device answers in one week of a cycle.")

SPANS = {"week": WEEK, "day": DAY, "hour": 3600}
CAPS = {
    "task": "their owners allow less for one task",
    "window": "their budget is spent until their window is renewed",
    "lifetime": "their lifetime budget is spent",
}
"""Why devices fall silent."""

Every = Annotated[
    str, typer.Option("--every", metavar="SPAN", help="Length of a week: week, day, hour, or a duration such as 90s.")
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
def start(
    server: ServerUrl,
    key_file: KeyFile,
    every: Every = "week",
    cycle: Cycle = 12,
    cycles: Cycles = 1,
    starts: Starts = "now",
    name: Name = "campaign",
    attribute: Attribute = "item",
    k: K = 10,
    epsilon: EpsilonText = None,
    mechanism: MaybeMechanism = None,
    oracle: OracleOption = "auto",
    encoding: EncodingOption = None,
    strategy: Strategy = None,
    catalogue: CatalogueFile = None,
    word_list: WordList = None,
    word_list_order: WordListOrder = None,
    text_recovery: TextRecovery = None,
    normalise: Normalise = None,
    trust: Trust = None,
    central_epsilon: CentralEpsilon = None,
    delta: Delta = None,
    items_per_user: ItemsAtMost = None,
    reading: Reading = None,
    settings: Set = None,
    parties: Parties = None,
    expected: Expected = None,
    max_times_expected: MaxTimes = MAX_TIMES_EXPECTED,
    policy: Policy = "wait",
    patience: Patience = "1h",
    min_reports: Least = 500,
    min_validation: LeastValidation = 100,
    ca: CaFile = None,
    json: Json = False,
) -> None:
    """Start a campaign on a running server: it asks by itself from now on, one week after the other."""
    options = dict(locals())
    span, first = SPANS.get(every) or seconds_of("--every", every), _second_of(starts)
    with closing(client_of(server, key_file, ca)) as client:
        asked = asked_question(client, options)
        shown = client.start_campaign(asked | {"every": span, "weeks": cycle, "cycles": cycles, "starts": first})
    note(f"campaign {shown['campaign']}")
    _present(shown, json)


@app.command()
def status(
    server: ServerUrl, key_file: KeyFile, campaign: MaybeWhich = None, ca: CaFile = None, json: Json = False
) -> None:
    """Say how far a campaign is: its week, who answered, what is left, and what every week found."""
    with closing(client_of(server, key_file, ca)) as client:
        found = client.campaigns() if campaign is None else [client.campaign(campaign)]
        for week in (week for shown in found for week in shown["answers"] if week["state"] == "running"):
            _add_counts_so_far(week, client.standing(week["task"]))
    if campaign is not None:
        _present(found[0], json)
        return
    if json:
        print_json(found)
        return
    table = Table("campaign", "state", "week", "until", "digest", box=None, pad_edge=False)
    for shown in found:
        table.add_row(shown["name"], shown["state"], _week_of(shown), _date(shown["over"]), shown["campaign"][:16])
    out.print(table if found else "This server has no campaigns.")


@app.command()
def stop(server: ServerUrl, key_file: KeyFile, campaign: Which, ca: CaFile = None, json: Json = False) -> None:
    """Stop a campaign for good: no further week is asked; the one under way is still answered."""
    with closing(client_of(server, key_file, ca)) as client:
        shown = client.stop_campaign(campaign)
    _present(shown, json)


def _second_of(starts: str) -> int:
    """Return the second that `--starts` names; a time without a zone is one of UTC."""
    if starts == "now":
        return int(time.time())
    try:
        found = datetime.fromisoformat(starts)
    except ValueError:
        raise InvalidInput(f"--starts expects now, or a time such as 2027-01-04T00:00Z, found {starts!r}") from None
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
    named = {"catalogue": "catalogue", "ids": "ids", "hashed": "texts"}.get(shown["encoding"])
    kind = named if shown["mechanism"] == "panorama" else "canopy" if shown["mechanism"] == "canopy" else None
    if kind is None or not all(users):
        return None
    size = max(shown["listed"], shown["k"])
    parameters = SummedParameters(
        shown["k"], Epsilon(shown["epsilon"]), items_per_user=shown["items_per_user"] or 1
    )  # fmt: skip
    mode = next(mode for mode in modes_of(parameters, Lists(size, size)) if mode.name == kind)
    found = detectable(mode, users)
    return found if isfinite(found) else None


def _present(shown: dict[str, Any], json: bool) -> None:
    """Print a campaign as JSON alone, or for a person."""
    shown = {**shown, "smallest_share": smallest_share(shown)}
    if json:
        print_json(shown)
        return
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
            out.print(f"{Refusal(code).devices(devices)}.")
    table = Table(box=None, pad_edge=False, show_header=False)
    for rank, row in enumerate(week["items"], start=1):
        mark = MARKS[True] if row["significant"] else ""
        table.add_row(
            str(rank), row["item"], rounded(row["count"], row["stderr"]), f"{row['frequency']:.2%}", mark,
            CHANGES.get(row["change"], ""),
        )  # fmt: skip
    if week["items"]:
        out.print(table)
    if week["gone"]:
        out.print(f"Not among them any more: {', '.join(week['gone'])}.")


def _week_of(shown: dict[str, Any]) -> str:
    weeks = shown["weeks"] * shown["cycles"]
    return f"{weeks} weeks" if shown["week"] is None else f"week {shown['week']} of {weeks}"


def _span(seconds: int) -> str:
    for size, name in ((DAY, "days"), (3600, "hours"), (60, "minutes")):
        if seconds % size == 0:
            return f"{seconds // size:,} {name}"
    return f"{seconds:,} seconds"


def _date(second: int) -> str:
    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {second}"
