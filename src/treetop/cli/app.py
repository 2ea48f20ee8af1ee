"""All commands of `treetop`."""

from typing import Annotated

import typer

import treetop
from treetop.cli.audit import audit
from treetop.cli.build_data import build_data
from treetop.cli.count import count
from treetop.cli.demo import demo
from treetop.cli.evaluate import evaluate
from treetop.cli.explain import explain
from treetop.cli.federation.campaign import app as campaign_app
from treetop.cli.federation.device import app as device_app
from treetop.cli.federation.party import app as party
from treetop.cli.federation.query import query
from treetop.cli.federation.server import app as server_app
from treetop.cli.federation.up import up
from treetop.cli.find import find
from treetop.cli.page import page
from treetop.cli.plan import plan
from treetop.cli.reproduce import reproduce

app = typer.Typer(
    name="treetop",
    help="Which items are most popular across all of us, when nobody may see what any single person holds?",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command()(find)
app.command()(plan)
app.command()(explain)
app.command()(page)
app.command()(evaluate)
app.command()(reproduce)
app.command("build-data")(build_data)
app.command()(audit)
app.command()(count)
app.command()(up)
app.add_typer(server_app, name="server")
app.add_typer(device_app, name="device")
app.command()(query)
app.add_typer(campaign_app, name="campaign")
app.add_typer(party, name="party")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"treetop {treetop.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Find federated heavy hitters under local differential privacy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
