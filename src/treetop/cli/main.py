"""The command `treetop`: whatever is wrong with its input, or with an installed plug-in, is said in one line."""

import sys
from io import TextIOWrapper
from typing import NoReturn

import typer

from treetop.cli.screen import err
from treetop.errors import TreetopError
from treetop.extras import MissingExtra, extra_with

INTERRUPTED = 130


def main() -> None:
    """Run a command; bad input ends in one clear line and exit code 2, Ctrl-C in 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a character gets its escape
            stream.reconfigure(errors="backslashreplace")
    try:
        from treetop.cli.app import app  # noqa: PLC0415  its options name what plug-ins add, and refuse a taken name

        code = app(standalone_mode=False)
    except ModuleNotFoundError as missing:
        if (extra := extra_with(missing.name)) is None:
            raise
        _refuse(str(MissingExtra("this command", extra, missing.name)))
    except (TreetopError, typer.TyperException) as refusal:
        _refuse(refusal.format_message() if isinstance(refusal, typer.TyperException) else str(refusal))
    if code == INTERRUPTED:
        err.print("interrupted")
    sys.exit(code)


def _refuse(reason: str) -> NoReturn:
    err.print(f"error: {' '.join(reason.split())}", style="red", soft_wrap=True)
    sys.exit(2)
