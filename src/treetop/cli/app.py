"""All commands of `treetop`."""

from treetop.cli.commands import COMMANDS, assembled

app = assembled(COMMANDS)
