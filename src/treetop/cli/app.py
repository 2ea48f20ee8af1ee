"""All commands of `treetop`."""

from treetop.cli.shared.commands import COMMANDS, assembled

app = assembled(COMMANDS)
