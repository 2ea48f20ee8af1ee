"""The command `treetop`: whatever is wrong with its input, or with an installed plug-in, is said in one line."""

import sys
from io import TextIOWrapper

import typer

from treetop.cli.screen import err
from treetop.errors import TreetopError

INTERRUPTED = 130


def main() -> None:
    """Run a command; bad input ends in one clear line and exit code 2, Ctrl-C in 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a character gets its escape
            stream.reconfigure(errors="backslashreplace")
    try:
        from treetop.cli.app import app  # noqa: PLC0415  its options name what plug-ins add, and refuse a taken name

        code = app(standalone_mode=False)
    except (TreetopError, typer.TyperException) as refusal:
        reason = refusal.format_message() if isinstance(refusal, typer.TyperException) else str(refusal)
        err.print(f"error: {' '.join(reason.split())}", style="red", soft_wrap=True)
        sys.exit(2)
    if code == INTERRUPTED:
        err.print("interrupted")
    sys.exit(code)
