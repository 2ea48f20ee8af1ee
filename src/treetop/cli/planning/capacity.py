"""`treetop capacity`: what so many users cost, computed from measured rates."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from treetop.cli.options import completing
from treetop.cli.screen import Json, note, out
from treetop.cli.shared.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver
from treetop.errors import InvalidInput
from treetop.planning.capacity import ARRIVALS, Capacity, Load, Prices, shown, whole_number
from treetop.planning.capacity import capacity as computed
from treetop.planning.measured_rates import COUNTING

DEFAULT, PRICES = Load(), Prices()
PAGE = "docs/benchmarks.md"

Users = Annotated[str, typer.Option("--users", metavar="N", help="Users of all parties together, as 1000000 or 1e6.")]
Parties = Annotated[int, typer.Option("--parties", help="Parties of equal size.")]
Days = Annotated[float, typer.Option("--days", help="For how long devices may report.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", help="Of the one report; it makes reports longer to count.")]
OracleOption = Annotated[
    str,
    typer.Option(
        "--oracle",
        help=f"Whose reports are counted: {', '.join(COUNTING)}; walsh is Panorama's.",
        autocompletion=completing(list(COUNTING)),
    ),
]
Candidates = Annotated[
    int, typer.Option("--candidates", help="How many are counted (olh), or how long the list is (krr, oue).")
]
Arrival = Annotated[
    str,
    typer.Option(
        "--arrival",
        help=f"How reports come: {'; '.join(f'{name}: {said}' for name, said in ARRIVALS.items())}.",
        autocompletion=completing(list(ARRIVALS)),
    ),
]
Peak = Annotated[float, typer.Option("--peak", help="The busiest hour against the mean; an assumption.")]
Busy = Annotated[float, typer.Option("--busy", help="How busy a core may be at the peak; an assumption.")]
KeptDays = Annotated[float, typer.Option("--kept-days", help="How long reports are kept after the task has closed.")]
CoreHour = Annotated[float, typer.Option("--core-hour", help="Price of a core for an hour; ours is an assumption.")]
GigabyteMonth = Annotated[float, typer.Option("--gigabyte-month", help="Price of a gigabyte on disk for a month.")]
GigabyteOut = Annotated[float, typer.Option("--gigabyte-out", help="Price of a gigabyte sent to devices.")]


def capacity(
    *,
    users: Users = "1e9",
    parties: Parties = DEFAULT.parties,
    days: Days = DEFAULT.days,
    epsilon: EpsilonOption = DEFAULT.epsilon,
    oracle: OracleOption = DEFAULT.oracle,
    candidates: Candidates = DEFAULT.candidates,
    arrival: Arrival = DEFAULT.arrival,
    peak: Peak = DEFAULT.peak,
    busy: Busy = DEFAULT.busy,
    kept_days: KeptDays = DEFAULT.kept_days,
    core_hour: CoreHour = PRICES.core_hour,
    gigabyte_month: GigabyteMonth = PRICES.gigabyte_month,
    gigabyte_out: GigabyteOut = PRICES.gigabyte_out,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Compute what so many users cost: reports a second, cores, storage, counting time and money."""
    target = checked_target(output, PLAIN_FORMATS)
    load = Load(
        _users(users), parties, days, epsilon, oracle, candidates, arrival, peak, busy, kept_days,
        Prices(core_hour, gigabyte_month, gigabyte_out),
    )  # fmt: skip
    found = computed(load)
    deliver(found.to_json(), lambda: _show(found), json_only=json, output=target)


def _users(text: str) -> int:
    try:
        return whole_number(text)
    except (ValueError, OverflowError):
        raise InvalidInput(f"--users must be a whole number, such as 1000000 or 1e6, found {text!r}") from None


def _show(found: Capacity) -> None:
    load = found.load
    asked = f"{load.users:,} users in {load.parties:,} {'party' if load.parties == 1 else 'parties'}"
    out.print(Text.assemble((asked, "bold"), f", {load.days:g} days, {load.oracle} at ε = {load.epsilon:g}; "
                            f"{ARRIVALS[load.arrival]}. Each party: {found.store}.\n"))  # fmt: skip
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("computed as", style="dim")
    group = ""
    for figure in found.figures:
        if figure.group != group:
            group = figure.group
            table.add_row(Text(group, style="bold"), "", "")
        table.add_row(f"  {figure.name}", shown(figure), figure.formula)
    out.print(table)
    out.print(
        f"Rates of a report are those measured in {PAGE}; --json has each with its line. Peak, busy and prices are "
        "assumptions: say yours.",
        style="dim",
        soft_wrap=True,
    )
    for each in found.notes:
        note(each)
