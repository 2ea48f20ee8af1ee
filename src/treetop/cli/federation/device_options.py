"""Options that one device and a fleet share, and how they are read."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from treetop.cli.federation.hexadecimal import digest_of_task, hexadecimal
from treetop.errors import InvalidInput
from treetop.federation.campaign import DAY
from treetop.federation.device.attributes import normalised
from treetop.federation.device.ledger import Caps
from treetop.federation.device.list_checks import MIN_SLOTS
from treetop.federation.wire.uploads import TICKET_BYTES, Ticket
from treetop.secret_files import read_secret

Value = TypeVar("Value")
STANDARD_INPUT = Path("-")
WINDOW_DAYS = Caps().window_seconds // DAY

Party = Annotated[str | None, typer.Option("--party", metavar="URL", help="The party's address.", show_default=False)]
Task = Annotated[str | None, typer.Option("--task", metavar="DIGEST", help="The task's digest.", show_default=False)]
PartyName = Annotated[
    str | None,
    typer.Option("--party-name", help="The party's name in the task.", show_default="the task's only party"),
]
ServerKey = Annotated[
    list[str] | None,
    typer.Option("--server-key", metavar="HEX", help="The server's public key; again for each.", show_default=False),
]
State = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="Where the ledger is kept.", show_default=False)
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", help="Certificates to trust, in PEM.", show_default="the system's"),
]
TaskCap = Annotated[str, typer.Option("--epsilon-cap", help="The most that one task may cost.")]
LifetimeCap = Annotated[str, typer.Option("--lifetime-cap", help="The most that all tasks together may ever cost.")]
WindowCap = Annotated[
    str | None,
    typer.Option(
        "--window-cap",
        help="The most that all tasks answered and cycles begun within a window may cost.",
        show_default="4, or the cap of one task where that is more",
    ),
]
WindowDays = Annotated[int, typer.Option("--window-days", min=1, help="Days after which what was spent is renewed.")]
Attribute = Annotated[
    str | None,
    typer.Option(
        "--attribute",
        help="What the item is; tasks about anything else are refused.",
        show_default="that of the first task answered",
    ),
]
LeastSlots = Annotated[
    int,
    typer.Option("--least-slots", min=2, help="Answer no candidate list shorter than this, 'none of these' counted."),
]


def given(option: str, value: Value | None) -> Value:
    """Return the value of an option, or say that it is needed."""
    if value is None:
        raise InvalidInput("option_needed", option=option)
    return value


def caps_of(
    per_task: str,
    lifetime: str,
    attribute: str | None = None,
    least_slots: int = MIN_SLOTS,
    window: str | None = None,
    window_days: int = WINDOW_DAYS,
) -> Caps:
    """Read what a device's owner allows; what she allows for one task she allows within a window."""
    given_caps = ", ".join(repr(cap) for cap in (per_task, lifetime, window) if cap is not None)
    try:
        task_cap = Fraction(per_task)
        window_cap = max(Caps().window, task_cap) if window is None else Fraction(window)
        caps = Caps(task_cap, Fraction(lifetime), attribute, least_slots, window_cap, window_days * DAY)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput("caps_not_decimal", given_caps=given_caps) from None
    if min(caps.per_task, caps.lifetime, caps.window) <= 0:
        raise InvalidInput("caps_not_positive", given_caps=given_caps)
    if attribute is not None and not normalised(attribute):
        raise InvalidInput("attribute_hidden", attribute=attribute)
    return caps


def digest_of(task: str | None) -> bytes:
    """Read a task's digest."""
    return digest_of_task(given("--task", task))


def ticket_in(path: Path | None) -> Ticket:
    """Read the one ticket of a file, or of standard input where it is called -."""
    found = tickets_in("--ticket-file", given("--ticket-file", path))
    if len(found) != 1:
        raise InvalidInput("ticket_file_count", path=path, number=len(found))
    return found[0]


def tickets_in(option: str, path: Path) -> list[Ticket]:
    """Read a file, or standard input, with a ticket on each line; no message shows one."""
    try:
        content = sys.stdin.buffer.read() if path == STANDARD_INPUT else read_secret(path)
    except OSError as reason:
        raise InvalidInput("option_file_unreadable", option=option, path=path, reason=reason.strerror) from None
    lines = content.decode("ascii", errors="replace").split()
    return [
        Ticket.from_bytes(hexadecimal(f"{option} {path}, line {number}", line, TICKET_BYTES))
        for number, line in enumerate(lines, start=1)
    ]
