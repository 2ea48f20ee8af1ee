"""`treetop party`: an organisation's own service, its tickets, and a check of its settings."""

import os
from datetime import UTC, datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from treetop.adapters.system.durable_file import create_durably
from treetop.cli.federation.hexadecimal import digest_of_task
from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver, write_or_rescue
from treetop.cli.screen import Json, note, out
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.toml_files import read_toml
from treetop.whole_files import check_writable

TICKETS_AT_ONCE = 10_000
RETRY_SECONDS = 20

app = typer.Typer(
    help="Run a party: collect reports of its own users' devices, answer the server.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
SettingsFile = Annotated[Path, typer.Option("--settings", help="The party's settings file (TOML).", show_default=False)]
MaybeSettings = Annotated[
    list[Path] | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="The party's settings file (TOML); again for each of several parties that are tried out in one process.",
        show_default=False,
    ),
]


class ProcessRole(StrEnum):
    """What one of several processes over one PostgreSQL store does."""

    INTAKE = "intake"
    COORDINATOR = "coordinator"


Role = Annotated[
    ProcessRole | None,
    typer.Option(
        "--role",
        help="One of several processes over one PostgreSQL store: any number of intakes, and one coordinator, which "
        "works on the server's messages. Each answers every request.",
        show_default="the party is this process alone",
    ),
]


@app.callback()
def party(context: typer.Context, settings: MaybeSettings = None, role: Role = None) -> None:
    """Serve devices, the party's back end and the server until SIGTERM; SIGHUP reads the keys again."""
    if context.invoked_subcommand is not None:
        return
    if not settings:
        raise InvalidInput("party_settings_missing")
    service = _federation("services.party.service")
    pages = _federation("web.party_pages").party_pages
    service.serve_parties(settings, os.environ, pages, role.value if role else "alone")


@app.command()
def check(settings: SettingsFile, output: PlainOutputFile = None, json: Json = False) -> None:
    """Say what a settings file means; whatever a party would refuse at its start is refused here. Nothing is opened."""
    target = checked_target(output, PLAIN_FORMATS)
    understood = _understood(_federation("services.party.service").checked_settings(settings, os.environ))

    def show() -> None:
        for name, value in understood.items():
            out.print(f"{name:<22}{value}")

    deliver(understood, show, json_only=json, output=target)


@app.command()
def tickets(
    settings: SettingsFile,
    task: Annotated[str, typer.Option("--task", help="Digest of the task, 64 hexadecimal digits.", show_default=False)],
    count: Annotated[int, typer.Option("--count", help="How many tickets.", min=1, show_default=False)],
    output: Annotated[Path, typer.Option("--output", help="File to write, one ticket a line.", show_default=False)],
    party_url: Annotated[
        str | None, typer.Option("--party", help="Address of the running service.", show_default="from the settings")
    ] = None,
    ca: Annotated[Path | None, typer.Option("--ca", help="Certificates to trust.", show_default="the system's")] = None,
) -> None:
    """Ask the running service for tickets, with the back end's key of the settings file."""
    understood = _read(settings)
    check_writable(output)
    if output.exists():
        raise InvalidInput("output_exists", output=output)
    client = _federation("services.device.party_client")
    connection = _federation("adapters.http.retrying_connection")
    address = party_url or f"{understood.scheme}://{understood.listen}"
    retry = connection.RetryPolicy(in_all=RETRY_SECONDS)
    reached = client.PartyClient(connection.RetryingConnection(address, ca, retry))
    digest = digest_of_task(task)
    key = _usable_key(understood)
    portions = (min(TICKETS_AT_ONCE, count - start) for start in range(0, count, TICKETS_AT_ONCE))
    lines = [ticket.text + "\n" for some in portions for ticket in reached.tickets(digest, some, key)]
    write_or_rescue(output, lambda path: create_durably(path, "".join(lines).encode("ascii")))
    note(f"{count} tickets of task {task[:8]}… in {output}: whoever holds one can send one report")


def _read(path: Path) -> Any:
    shapes = _federation("services.party.settings")
    return read_toml(path, shapes.PartySettings, os.environ)


def _federation(name: str) -> Any:
    """Load a module that needs the extra."""
    with needed_for("treetop party", "federation"):
        return import_module(f"treetop.{name}")


def _usable_key(settings: Any) -> str:
    now = datetime.now(UTC)
    for access in settings.back_end_access:
        if access.key is not None and access.state(now) == "active":
            return str(access.key.reveal().decode())
    raise InvalidInput("back_end_key_missing")


def _understood(settings: Any) -> dict[str, object]:
    now = datetime.now(UTC)
    return {
        "name": settings.name,
        "listens on": f"{settings.scheme}://{settings.listen}",
        "store": str(settings.store_location),
        "report files": str(settings.reports),
        "server signing keys": ", ".join(key[:8] + "…" for key in settings.server_signing_keys),
        "server keys": ", ".join(key.state(now) for key in settings.server_access),
        "back end keys": ", ".join(key.state(now) for key in settings.back_end_access),
        "least reports": f"{settings.least_reports} in every group that is counted",
        "closes early": "yes, when every ticket was used" if settings.close_when_complete else "no",
        "limits": ", ".join(f"{name} {number}" for name, number in vars(settings.limits).items()),
    }
