"""The command `treetop-flower`: link and keep at the server, node at a party."""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

from treetop_flower.keeper import LOOK_SECONDS, FlowerCommand, Keeper, gateway_health
from treetop_flower.launch import private_folder, superlink, supernode, write_private
from treetop_flower.settings import BadSettings, LinkSettings, NodeSettings, read_settings

BAD_INPUT = 2
PACE_SECONDS = 10.0


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="treetop-flower", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, does in (
        ("link", "run SuperLink, to which the parties' nodes connect"),
        ("keep", "register the parties' keys and keep a run going, whose gateway the server talks to"),
        ("node", "run a party's SuperNode"),
    ):
        commands.add_parser(name, help=does).add_argument("--settings", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    os.umask(0o077)
    try:
        if arguments.command == "keep":
            _keep(read_settings(arguments.settings, LinkSettings))
        elif arguments.command == "link":
            link = read_settings(arguments.settings, LinkSettings)
            private_folder(link.state)
            _become(*superlink(link, arguments.settings))
        else:
            node = read_settings(arguments.settings, NodeSettings)
            _paced(private_folder(node.state))
            _become(*supernode(node, arguments.settings))
    except BadSettings as refused:
        print(f"treetop-flower: {refused}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(0)


def _become(command: list[str], environment: dict[str, str]) -> NoReturn:
    os.execve(command[0], command, environment)  # noqa: S606  no shell is in it


def _paced(state: Path) -> None:
    """Wait where this was started just before: SuperLink refuses a node that died until it has missed it."""
    mark = state / "started"
    if mark.exists() and time.time() < mark.stat().st_mtime + PACE_SECONDS:
        time.sleep(PACE_SECONDS)
    write_private(mark, "")


def _keep(settings: LinkSettings) -> NoReturn:
    private_folder(settings.state)
    keeper = Keeper(
        FlowerCommand(settings), {party.name: party.public_key for party in settings.parties},
        lambda: gateway_health(settings.gateway), lambda text: print(text, flush=True),
    )  # fmt: skip
    while True:
        keeper.look()
        time.sleep(LOOK_SECONDS)
