"""`treetop plan`: what could be found, before any data are collected."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from treetop.cli.options import CentralEpsilon, Delta, K, MaybeEpsilon, Trust, read_list
from treetop.cli.output import FORMATS, PLAIN_FORMATS, OutputFile, checked_target, deliver, write_or_rescue
from treetop.cli.rendering import fitted
from treetop.cli.screen import Json, note, out, plain
from treetop.errors import InvalidInput
from treetop.mechanisms.defaults import DEFAULT_K
from treetop.oracles.set_reports import MAX_ITEMS
from treetop.planning.campaign import DEFAULT_WEEKS, WEEK, CampaignPlan, Rotation, plan_campaign
from treetop.planning.plan import (
    DEFAULT_CATALOGUE,
    DEFAULT_WORD_LIST,
    LARGEST_EPSILON,
    MEANINGS,
    Plan,
    PlanRow,
    checked_plot,
    draw_plan,
    written_share,
)
from treetop.planning.plan import plan as plan_query
from treetop.privacy.shuffling import CentralGuarantee
from treetop.whole_files import written_whole

DAY = WEEK // 7
SHOWN_OF_WEEKS = ("word list", "ids", "texts", "canopy")
"""Modes whose shares a campaign shows; its JSON has all."""
CAP_NAMES = {"task": "a report costs too much", "window": "the window is spent", "lifetime": "the lifetime is spent"}
Users = Annotated[str, typer.Option("--users", help="Users of every party, separated by commas.", show_default=False)]
CatalogueSize = Annotated[int, typer.Option("--catalogue-size", help="Items of a catalogue, were there one.")]
WordListSize = Annotated[int, typer.Option("--word-list-size", help="Words of a word list, were there one.")]
Frequency = Annotated[
    float | None,
    typer.Option("--frequency", help="A target frequency: which epsilon, or how many users, would it take?"),
]
ItemsOfUsers = Annotated[
    int,
    typer.Option(
        "--items-per-user",
        metavar="M",
        help=f"Users with many items: how many of hers a user's one report speaks of, at most; 1 to {MAX_ITEMS}.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="PNG or SVG: detectable frequency against users.", show_default=False),
]

Campaign = Annotated[
    bool,
    typer.Option("--campaign", help="The same question every week: what every week could find, for several cycles."),
]
Weeks = Annotated[
    int | None,
    typer.Option("--weeks", help=f"Campaigns: weeks in all; {DEFAULT_WEEKS} by default.", show_default=False),
]
LifetimeEpsilon = Annotated[
    str | None,
    typer.Option(
        "--lifetime-epsilon",
        help="Campaigns: what everybody may spend in all weeks together; by default, what devices allow.",
        show_default=False,
    ),
]


def plan(
    users: Users,
    k: K = DEFAULT_K,
    epsilon: MaybeEpsilon = None,
    catalogue_size: CatalogueSize = DEFAULT_CATALOGUE,
    word_list_size: WordListSize = DEFAULT_WORD_LIST,
    frequency: Frequency = None,
    items_per_user: ItemsOfUsers = 1,
    trust: Trust = None,
    central_epsilon: CentralEpsilon = None,
    delta: Delta = None,
    plot: Plot = None,
    campaign: Campaign = False,
    weeks: Weeks = None,
    lifetime_epsilon: LifetimeEpsilon = None,
    output: OutputFile = None,
    json: Json = False,
) -> None:
    """Say what could be found and what it would cost, before any data are collected."""
    sizes = read_list("--users", users, whole_number, "whole numbers, such as 50000 or 5e4,")
    written = checked_target(output, PLAIN_FORMATS if campaign else FORMATS)
    if campaign:
        unused = {
            "--epsilon": epsilon,
            "--frequency": frequency,
            "--trust": trust,
            "--central-epsilon": central_epsilon,
            "--delta": delta,
            "--plot": plot,
        }
        if found := [name for name, given in unused.items() if given is not None]:
            raise InvalidInput("plan_campaign_option", found=found[0])
        planned_campaign = plan_campaign(
            sizes,
            weeks=DEFAULT_WEEKS if weeks is None else weeks,
            lifetime_epsilon=lifetime_epsilon,
            k=k,
            catalogue_size=catalogue_size,
            word_list_size=word_list_size,
            items_per_user=items_per_user,
        )
        content = planned_campaign.to_json()
        deliver(content, lambda: _show_campaign(planned_campaign), json_only=json, output=written)
        return
    if weeks is not None or lifetime_epsilon is not None:
        raise InvalidInput("plan_campaign_options_alone")
    target = checked_plot(plot) if plot else None
    planned = plan_query(
        sizes,
        k=k,
        epsilon=epsilon,
        catalogue_size=catalogue_size,
        word_list_size=word_list_size,
        frequency=frequency,
        items_per_user=items_per_user,
        trust=trust,
        central_epsilon=central_epsilon,
        delta=delta,
    )
    deliver(planned.to_json(), lambda: _show(planned, central_epsilon), json_only=json, output=written, result=planned)
    if target is not None:
        figure = draw_plan(planned)

        def draw(path: Path) -> None:
            with written_whole(path) as file:
                figure.savefig(file, format=path.suffix.lower().removeprefix("."), dpi=150)

        write_or_rescue(target, draw)
        note(f"the plot is in {target}")


def whole_number(text: str) -> int:
    """Return a whole number, which may be written as 5e4 or 50,000, or raise a `ValueError`."""
    number = float(text.replace(",", "").replace("_", ""))
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


def _show_campaign(planned: CampaignPlan) -> None:
    everybody = sum(planned.users)
    caps = planned.caps
    parties = "1 party" if len(planned.users) == 1 else f"{len(planned.users)} parties"
    asked = f"{everybody:,} users in {parties}, {planned.weeks} weeks, lifetime ε = {float(planned.lifetime_epsilon):g}"
    out.print(Text.assemble((asked, "bold"), f", k = {planned.k}; the smallest share of users found every week:\n"))
    table = Table(box=None, pad_edge=False)
    table.add_column("everybody answers", no_wrap=True)
    for name in ("users a week", "ε", *SHOWN_OF_WEEKS):
        table.add_column(name, justify="right", no_wrap=True)
    for each in planned.rotations:
        found = {row.mode: written_share(row.found) for row in each.modes}
        shares = (found[mode] for mode in SHOWN_OF_WEEKS)
        table.add_row(_how_often(each), f"{sum(each.answering):,}", f"{each.epsilon:.3g}", *shares)
    out.print(fitted(table))
    out.print(
        "The week is drawn uniformly by every device. A name of an earlier week is found from the share under word "
        "list on, a new one from that under texts or canopy, as a query is asked.",
        style="dim",
    )
    pays = f"{float(caps.per_task):g} a report, {float(caps.window):g} in {caps.window_seconds // DAY} days"
    out.print(Text(f"\nDevices as shipped pay {pays} and {float(caps.lifetime):g} in a lifetime", style="bold"))
    for each in planned.rotations:
        out.print(f"  {_how_often(each):<18} {_as_shipped(each)}")


def _how_often(rotation: Rotation) -> str:
    return "every week" if rotation.cycle == 1 else f"once in {rotation.cycle} weeks"


def _as_shipped(rotation: Rotation) -> str:
    shipped = rotation.shipped
    if shipped.silent_from is None or shipped.refused_by is None:
        return "they answer in all weeks"
    found = {row.mode: written_share(row.found) for row in rotation.shipped_modes}
    instead = ", ".join(f"{mode} {found[mode]}" for mode in SHOWN_OF_WEEKS)
    when = "they never answer" if shipped.silent_from == 1 else f"silent from week {shipped.silent_from} on"
    return f"{when} ({CAP_NAMES[shipped.refused_by]}); in all weeks at ε {shipped.epsilon:.3g}: {instead}"


def _show(planned: Plan, wanted: float | None) -> None:
    p = planned.parameters
    bits = max(row.report_bits for row in planned.rows)
    out.print(Text.assemble((plain(planned.title), "bold"), f"; everybody gives one report of about {bits} bits.\n"))
    out.print(fitted(_table(planned)))
    out.print(MEANINGS, style="dim")
    out.print(Text(f"\nUsers of the smallest party ({min(planned.users):,}, half taken for fakes)", style="bold"))
    for central in dict.fromkeys(row.central_epsilon for row in planned.rows):
        modes = "; ".join(row.mode for row in planned.rows if row.central_epsilon == central)
        out.print(f"  {modes}: {CentralGuarantee(central, planned.delta).beside(p.epsilon)}")
    if less := [row.mode for row in planned.rows if wanted is not None and row.central_epsilon > wanted]:
        out.print(
            f"ε = {p.epsilon:g} is what Panorama keeps the central epsilon of {wanted:g} with. {'; '.join(less)}: "
            "groups are smaller there, so devices would report with a smaller ε, and items need more users than the "
            "table says."
        )
    if planned.lists.catalogue == p.k:
        out.print()
        out.print(f"The catalogue holds just k = {p.k} items: all of them are listed, and only their marks tell more.")
    if p.items_per_user > 1:
        out.print()
        out.print(
            f"A report speaks of up to {p.items_per_user} items of a user: a share is of the users who hold an item, "
            f"each weighing min(1, {p.items_per_user} / number of her items). One crafted report weighs "
            f"{planned.fake_weight:.1f} of them."
        )
    if planned.frequency is not None:
        out.print(Text(f"\nTo find an item of {planned.frequency:.3%} of users", style="bold"))
        for row in planned.rows:
            out.print(f"  {row.mode:<15} {_needs(row, planned)}")


def _table(planned: Plan) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("mode", no_wrap=True)
    table.add_column("an item is named by", no_wrap=True)
    for name in ("found", "marked", "± users", "kbit up"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in planned.rows:
        error = "-" if row.stderr is None else f"{row.stderr:,.0f}"
        shares = (written_share(row.found), written_share(row.marked), error)
        table.add_row(row.mode, row.what, *shares, f"{row.uplink_bits / 1000:,.0f}")
    return table


def _needs(row: PlanRow, planned: Plan) -> str:
    if row.epsilon_needed == 0:
        return "is always listed: any epsilon and any users do"
    if row.epsilon_needed is None:
        epsilon = f"no epsilon up to {LARGEST_EPSILON:g}, the most that devices accept, would do with these users"
    else:
        epsilon = f"epsilon {row.epsilon_needed:.2f} with these users"
    if row.users_needed is None:
        return epsilon
    return f"{epsilon}, or {row.users_needed:,} users at epsilon {planned.parameters.epsilon:g}"
