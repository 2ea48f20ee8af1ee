"""`treetop device fleet`: many simulated users of one party."""

import json as json_text
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from treetop.adapters.system.key_files import PinnedKeys
from treetop.cli.federation.device_options import (
    WINDOW_DAYS,
    Attribute,
    CaFile,
    LeastSlots,
    LifetimeCap,
    Party,
    PartyName,
    ServerKey,
    State,
    Task,
    TaskCap,
    WindowCap,
    WindowDays,
    caps_of,
    digest_of,
    given,
    tickets_in,
)
from treetop.cli.file_options import reads_files
from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, write_output
from treetop.cli.screen import out, progress_bar
from treetop.datasets.loading import federation_named
from treetop.datasets.party_split import users_of
from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput
from treetop.federation.device.list_checks import MIN_SLOTS
from treetop.services.fleet.fleet import Fleet, FleetPlan, FleetTotals, follow
from treetop.services.fleet.runs import FleetProgress

SECONDS_BETWEEN_LINES = 1.0

Data = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="FILE|syn", help="Who holds what, as for `find`.", show_default=False),
]
Tickets = Annotated[
    Path | None,
    typer.Option("--tickets", metavar="FILE", help="A ticket on each line; - is standard input.", show_default=False),
]


@reads_files
def fleet(
    *,
    party: Party = None,
    task: Task = None,
    data: Data = None,
    party_name: PartyName = None,
    tickets: Tickets = None,
    server_key: ServerKey = None,
    state: State = None,
    users: Annotated[int | None, typer.Option("--users", help="How many users to play.", show_default="all")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Who holds what; never what a device says.")] = 0,
    batch: Annotated[int, typer.Option("--batch", min=1, max=10_000, help="Reports in a request.")] = 100,
    connections: Annotated[int, typer.Option("--connections", min=1, max=64, help="Kept connections.")] = 2,
    ca: CaFile = None,
    epsilon_cap: TaskCap = "4",
    lifetime_cap: LifetimeCap = "8",
    window_cap: WindowCap = None,
    window_days: WindowDays = WINDOW_DAYS,
    attribute: Attribute = None,
    least_slots: LeastSlots = MIN_SLOTS,
    follow_party: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Answer one task after the other, as in a campaign; --tickets is a folder of files DIGEST.txt, and "
            "--data is read again for each.",
        ),
    ] = False,
    output: PlainOutputFile = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the totals as one line; progress lines go to standard error.")
    ] = False,
    read: ReadOptions,
) -> None:
    """Play many users of one party with the real device code; killed and started again, it goes on."""
    source = given("--data", data)
    name = given("--party-name", party_name)
    url = given("--party", party)
    file = given("--tickets", tickets)
    kept = given("--state", state)
    keys = PinnedKeys(given("--server-key", server_key))
    caps = caps_of(epsilon_cap, lifetime_cap, attribute, least_slots, window_cap, window_days)
    target = checked_target(output, PLAIN_FORMATS)

    def play(digest: bytes, tickets: Path) -> None:
        """Answer one task with what the users hold now."""
        federation = federation_named(source, replace(read, any_items=True))
        held = users_of(federation, name, users, seed)
        own = [ticket.to_bytes() for ticket in tickets_in("--tickets", tickets)]
        plan = FleetPlan(url, digest, name, own, kept, keys, ca, batch, connections, caps)
        player = Fleet(plan, held, f"{' '.join(source)}, party {name}, {len(held)} users, seed {seed}")
        with closing(player), _progress_lines() if json else _progress_bar(len(held)) as show:
            totals = player.run(show)
        _show(totals, json)
        if target is not None:
            write_output(target, asdict(totals), lambda: _show(totals, json=False))

    if not follow_party:
        play(digest_of(task), file)
    elif task is not None:
        raise InvalidInput("follow_with_task")
    elif not file.is_dir():
        raise InvalidInput("follow_needs_folder", file=file)
    else:
        follow(url, ca, file, play)


@contextmanager
def _progress_bar(devices: int) -> Iterator[Callable[[FleetProgress], None]]:
    """Draw a bar for a person."""
    with progress_bar("starting", devices) as bar:
        task = bar.task_ids[0]
        yield lambda progress: bar.update(task, description=progress.phase, completed=progress.sent)


@contextmanager
def _progress_lines() -> Iterator[Callable[[FleetProgress], None]]:
    """Write a JSON object to standard error once a second, and one at the end of each phase."""
    last_phase = ""
    last_time = 0.0

    def show(progress: FleetProgress) -> None:
        nonlocal last_phase, last_time
        now = time.monotonic()
        if progress.phase != last_phase or now - last_time >= SECONDS_BETWEEN_LINES:
            last_phase = progress.phase
            last_time = now
            print(json_text.dumps(asdict(progress)), file=sys.stderr, flush=True)

    yield show


def _show(totals: FleetTotals, json: bool) -> None:
    if json:
        print(json_text.dumps(asdict(totals)), flush=True)
        return
    reports = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(totals.verdicts.items())) or "none"
    out.print(f"{totals.devices:,} devices; reports: {reports}; {totals.unanswered:,} without one.")
    for reason in totals.refused_lists:
        out.print(f"A list was not answered: {reason}")
    out.print(f"{totals.seconds:.1f} s.")
