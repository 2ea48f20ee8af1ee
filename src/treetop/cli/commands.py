"""Which commands there are, and where each one lives: a process loads the one that it runs.

A federation on one machine is many processes, and each of them is a command: a party that loads its own alone begins
with 72 MB, and with more than 113 MB where it loads all of them.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

import treetop

COMMANDS = {
    "demo": "demo",
    "find": "find",
    "plan": "plan",
    "explain": "explain",
    "page": "page",
    "evaluate": "evaluate",
    "reproduce": "reproduce",
    "build-data": "build_data",
    "audit": "audit",
    "count": "count",
    "up": "federation.up",
    "server": "federation.server",
    "device": "federation.device",
    "query": "federation.query",
    "campaign": "federation.campaign",
    "party": "federation.party",
}
"""By name, in the order in which help lists them; below `treetop.cli`. A module has a function of its own name, or an
`app` with commands of its own."""


def assembled(names: Iterable[str]) -> typer.Typer:
    """Return `treetop` with these commands alone."""
    app = typer.Typer(
        name="treetop",
        help="Which items are most popular across all of us, when nobody may see what any single person holds?",
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for name in names:
        module = import_module(f"treetop.cli.{COMMANDS[name]}")
        if isinstance(group := getattr(module, "app", None), typer.Typer):
            app.add_typer(group, name=name)
        else:
            app.command(name)(getattr(module, COMMANDS[name].rpartition(".")[2]))
    return app


def only_names() -> typer.Typer:
    """Return `treetop` with commands that do nothing: to complete their names, none of them needs to be loaded."""
    app = assembled(())
    for name in COMMANDS:
        app.command(name)(lambda: None)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"treetop {treetop.__version__}")
        raise typer.Exit


def _options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find federated heavy hitters under local differential privacy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
