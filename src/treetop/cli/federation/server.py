"""`treetop server`: the server of a federation."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from treetop.cli.federation.hexadecimal import digest_of_task
from treetop.cli.output import PLAIN_FORMATS, PlainOutputFile, checked_target, deliver
from treetop.cli.screen import Json, out

app = typer.Typer(
    help="The server of a federation: signs tasks, asks parties, names the global top k.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
Settings = Annotated[
    Path | None, typer.Option("--settings", metavar="FILE", help="The server's settings.", show_default=False)
]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="Where the private key goes; none is overwritten.")]


@app.callback()
def serve(context: typer.Context, settings: Settings = None) -> None:
    """Serve until a signal ends it; queries go on where they stopped."""
    if context.invoked_subcommand is not None:
        return
    if settings is None:
        typer.echo(context.get_help())
        return
    from treetop.services.server.service import serve_server  # noqa: PLC0415  the web is an extra
    from treetop.web.server_pages import server_pages  # noqa: PLC0415

    serve_server(settings, os.environ, server_pages)


@app.command()
def check(
    settings: Annotated[Path, typer.Option("--settings", metavar="FILE", help="The server's settings.")],
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Say what a settings file means; whatever a server would refuse at its start is refused here."""
    from treetop.services.server.service import checked_settings  # noqa: PLC0415  the web is an extra

    target = checked_target(output, PLAIN_FORMATS)
    read, signing_key = checked_settings(settings, os.environ)
    understood: dict[str, Any] = {
        "listens on": f"{read.scheme}://{read.listen}",
        "journal": str(read.journal_location),
        "signs with": signing_key.public,
        "parties": {party.name: party.url for party in read.parties},
    }

    def show() -> None:
        out.print(f"listens on {understood['listens on']}, journal in {understood['journal']}")
        out.print(f"signs with {understood['signs with']}")
        for name, url in understood["parties"].items():
            out.print(f"party '{name}' at {url}")

    deliver(understood, show, json_only=json, output=target)


@app.command()
def verify(
    server: Annotated[str, typer.Option("--server", help="Address of the server, https://…", show_default=False)],
    task: Annotated[str, typer.Option("--task", help="Digest of the task, 64 hexadecimal digits.", show_default=False)],
    server_key: Annotated[
        list[str], typer.Option("--server-key", help="Public signing key that is believed; again for each.")
    ],
    ca: Annotated[Path | None, typer.Option("--ca", help="Certificates to trust.", show_default="the system's")] = None,
    output: PlainOutputFile = None,
    json: Json = False,
) -> None:
    """Check the public log of a task: its signature and digest, and that every list is signed and the only one."""
    from treetop.services.server.log_check import checked_log  # noqa: PLC0415

    digest_of_task(task)
    target = checked_target(output, PLAIN_FORMATS)
    lines = list(checked_log(server, task, server_key, ca))

    def show() -> None:
        for line in lines:
            out.print(line)

    deliver({"task": task, "checked": lines}, show, json_only=json, output=target)


@app.command()
def key(path: KeyFile) -> None:
    """Make a signing key; print its public half, which parties and devices pin."""
    from treetop.adapters.system.key_files import SigningKey  # noqa: PLC0415

    made = SigningKey.generate()
    made.save(path)
    out.print(made.public)
