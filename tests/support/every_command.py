"""`treetop` with all of its commands, for tests that run them in this process."""

from treetop.cli.commands import COMMANDS, assembled

app = assembled(COMMANDS)
