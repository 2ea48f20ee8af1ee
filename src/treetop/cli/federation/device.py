"""`treetop device`: one user's device."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.host import SystemEntropy
from treetop.adapters.system.key_files import PinnedKeys
from treetop.cli.federation.device_options import (
    STANDARD_INPUT,
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
    ticket_in,
)
from treetop.cli.federation.fleet import fleet
from treetop.cli.screen import out
from treetop.encoding.device_items import LARGEST_SET, LONGEST_ITEM
from treetop.errors import InvalidInput
from treetop.federation.campaign import DAY
from treetop.federation.device.ledger import CycleSlot, Ledger
from treetop.federation.device.list_checks import MIN_SLOTS
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.wire.signed_documents import checked_task
from treetop.secret_files import check_private
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import SingleDevice

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.command()(fleet)

TicketFile = Annotated[
    Path | None,
    typer.Option("--ticket-file", metavar="PATH", help="The user's ticket; - is standard input.", show_default=False),
]
Items = Annotated[
    list[str] | None,
    typer.Option(
        "--item",
        help="The item; others on this machine may see it.",
        show_default=False,
    ),
]
SetFile = Annotated[
    Path | None,
    typer.Option(
        "--items",
        metavar="PATH",
        help="Tasks about sets: the file with an item on each line, however many, or - for standard input.",
        show_default=False,
    ),
]
ItemEnv = Annotated[
    str | None,
    typer.Option("--item-env", metavar="NAME", help="The environment variable that holds it.", show_default=False),
]
ItemFile = Annotated[
    Path | None,
    typer.Option(
        "--item-file", metavar="PATH", help="The file that holds it, or - for standard input.", show_default=False
    ),
]


@app.callback()
def device(
    context: typer.Context,
    party: Party = None,
    task: Task = None,
    ticket_file: TicketFile = None,
    item: Items = None,
    items: SetFile = None,
    item_env: ItemEnv = None,
    item_file: ItemFile = None,
    party_name: PartyName = None,
    server_key: ServerKey = None,
    state: State = None,
    ca: CaFile = None,
    max_delay: Annotated[
        int, typer.Option("--max-delay", min=0, help="Wait a random time before sending, at most this many seconds.")
    ] = 0,
    epsilon_cap: TaskCap = "4",
    lifetime_cap: LifetimeCap = "8",
    window_cap: WindowCap = None,
    window_days: WindowDays = WINDOW_DAYS,
    attribute: Attribute = None,
    least_slots: LeastSlots = MIN_SLOTS,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the party is ready.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what was answered and spent.")] = False,
) -> None:
    """Answer a task with one user's device: one perturbed report, the same bytes whenever it is sent again."""
    if context.invoked_subcommand is not None:
        return
    caps = caps_of(epsilon_cap, lifetime_cap, attribute, least_slots, window_cap, window_days)
    with closing(DeviceState(given("--state", state), caps)) as kept:
        if status:
            _show_status(kept)
            return
        for option, path in (("--item-file", item_file), ("--items", items)):
            if ticket_file == path == STANDARD_INPUT:
                raise InvalidInput("ticket_and_standard_input", option=option)
        read_items = item_source(item or (), item_env, item_file, items)
        with closing(PartyClient(RetryingConnection(given("--party", party), ca))) as client:
            digest = digest_of(task)
            keys = PinnedKeys(given("--server-key", server_key))
            own = ticket_in(ticket_file)
            trusted = _trusted_task(client, digest, party_name, keys)
            say = partial(out.print, soft_wrap=True)
            sets = items is not None  # whatever the file holds: how many items she has must not show
            SingleDevice(client, trusted, own, kept, read_items, SystemEntropy(), say, max_delay, wait, sets).run()


def _trusted_task(client: PartyClient, digest: bytes, party: str | None, keys: PinnedKeys) -> TrustedTask:
    """Believe a task; without a name of its own the device belongs to the task's only party."""
    document = client.task(digest)
    parties = checked_task(document, keys).parties
    if party is None and len(parties) != 1:
        raise InvalidInput("party_name_needed", number=len(parties))
    return TrustedTask.of(document, digest, parties[0] if party is None else party, keys)


def item_source(
    items: Sequence[str], name: str | None = None, path: Path | None = None, lines: Path | None = None
) -> Callable[[], list[str]]:
    """Return what reads the items when their time has come; that they are said in one way is checked now.

    Bytes that are not UTF-8 become lone surrogates, as in `--item` and `--item-env`: such an item is none of a task's.
    """
    if bool(items) + sum(source is not None for source in (name, path, lines)) != 1:
        raise InvalidInput("item_option_needed")
    if len(items) > 1:
        raise InvalidInput("item_given_twice")
    if name is not None and name not in os.environ:
        raise InvalidInput("item_env_missing", name=name)
    for option, file in (("--item-file", path), ("--items", lines)):
        if file is not None and file != STANDARD_INPUT:
            if not (file.is_file() and os.access(file, os.R_OK)):
                raise InvalidInput("option_file_missing", option=option, file=file)
            check_private(file)
    if lines is not None:
        return lambda: [line.decode("utf-8", "surrogateescape") for line in _first_lines(lines)]
    if path is not None:
        return lambda: [_first_bytes(path).decode("utf-8", "surrogateescape")]
    return lambda: list(items) if name is None else [os.environ[name]]


def _first_lines(path: Path) -> list[bytes]:
    """Return the items in a file without line ends and empty lines, as many as a device looks at.

    Of a line that is too long, enough is kept to see that.
    """
    most = LONGEST_ITEM + len(b"\r\n")
    found = list[bytes]()
    with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb") as file:
        while len(found) < LARGEST_SET and (line := file.readline(most + 1)):
            found += filter(None, [line.rstrip(b"\r\n")[: LONGEST_ITEM + 1]])
            while line and not line.endswith(b"\n"):  # the end of a line that is too long
                line = file.readline(most)
    return found


def _first_bytes(path: Path) -> bytes:
    """Return the item in a file without its line end; of a file that is too long, enough to see that."""
    most = LONGEST_ITEM + len(b"\r\n")
    with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb") as file:
        found = file.read(most + 1)
    return found if len(found) > most else found.rstrip(b"\r\n")


def _show_status(state: DeviceState) -> None:
    """Print what has been spent in all, about what, and what was sent when, without any value."""
    ledger = state.ledger
    events = state.events()
    for line in budget_lines(ledger):
        out.print(line, soft_wrap=True)
    if not ledger.entries:
        return
    names = {event.task: event.name for event in events}
    sent = {event.task: datetime.fromtimestamp(event.time, UTC) for event in events if event.deed == "sent"}
    table = Table(box=None, pad_edge=False)
    for title, most in (("task", 40), ("attribute", 20)):  # others' words: they stay on the line of their entry
        table.add_column(title, no_wrap=True, max_width=most)
    for title in ("epsilon", "level", "report", "last sent"):
        table.add_column(title)
    for entry in ledger.entries:
        task = entry.task.hex()
        report = "delivered" if entry.delivered else "made" if entry.sent else "reserved"
        table.add_row(
            f"{task[:12]} {names.get(task, '')}".strip(),
            entry.attribute,
            f"{float(entry.epsilon):g}",
            str(entry.group.level),
            report,
            f"{sent[task]:%Y-%m-%d %H:%M:%S UTC}" if task in sent else "-",
        )
    out.print(table)


def budget_lines(ledger: Ledger) -> Iterator[str]:
    """Yield a line for each thing that the device's owner may want to know; no value is among them."""
    if not ledger.charges:
        yield "Nothing was answered yet, nothing was spent."
        return
    caps = ledger.caps
    spent = ledger.spent
    yield f"Epsilon {_number(spent)} of {_number(caps.lifetime)} spent in all; asked about {ledger.attribute!r} only."
    within = ledger.in_window
    counted = sum((charge.epsilon for charge in within), start=Fraction(0))
    left = min(caps.lifetime - spent, caps.window - counted, caps.per_task)
    if spent >= caps.lifetime:
        yield "The lifetime budget is spent: this device takes up nothing more."
    else:
        yield (
            f"In the last {caps.window_seconds // DAY} days epsilon {_number(counted)} of {_number(caps.window)} was "
            f"spent; a question may cost epsilon {_number(max(left, Fraction(0)))} now."
        )
        for charge in within:
            back = datetime.fromtimestamp(charge.time + caps.window_seconds, UTC)
            yield f"Epsilon {_number(charge.epsilon)} of it is given back on {back:%Y-%m-%d at %H:%M UTC}."
    for slot in ledger.slots:
        yield _slot_line(ledger, slot)


def _slot_line(ledger: Ledger, slot: CycleSlot) -> str:
    answered = any(entry.cycle == (slot.campaign, slot.cycle) for entry in ledger.entries)
    done = "it was answered" if answered else "it has not been answered"
    drawn = datetime.fromtimestamp(slot.time, UTC)
    return (
        f"Campaign {slot.name!r}, cycle {slot.cycle + 1}: this device's own week is {slot.slot + 1} of {slot.weeks}, "
        f"drawn on {drawn:%Y-%m-%d}; {done}. The whole cycle costs epsilon {_number(slot.epsilon)}."
    )


def _number(amount: Fraction) -> str:
    return f"{float(amount):g}"
