"""The command `treetop`: whatever is wrong with its input, or with an installed plug-in, is said in one line."""

import os
import sys
from io import TextIOWrapper
from typing import NoReturn

import typer

from treetop.errors import TreetopError
from treetop.extras import MissingExtra, extra_with

PROGRAM = "treetop"
INTERRUPTED = 130
COMPLETING = "_TREETOP_COMPLETE"
"""Set by a shell that asks for completions."""
TYPED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""The line to complete: bash sets the first, other shells the second."""


def main() -> None:
    """Run a command; bad input ends in one clear line and exit code 2, Ctrl-C in 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a character gets its escape
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _app()(standalone_mode=False, prog_name=PROGRAM)
    except ModuleNotFoundError as missing:
        if (extra := extra_with(missing.name)) is None:
            raise
        _refuse(str(MissingExtra("this command", extra, missing.name)))
    except (TreetopError, typer.TyperException) as refusal:
        _refuse(refusal.format_message() if isinstance(refusal, typer.TyperException) else str(refusal))
    except OSError as reason:
        if reason.filename is None or not reason.strerror:
            raise
        _refuse(f"{reason.filename}: {reason.strerror}")  # a disk that is full, a folder that is not ours
    if code == INTERRUPTED:
        from treetop.cli.screen import err  # noqa: PLC0415

        err.print("interrupted")
    sys.exit(code)


def _app() -> typer.Typer:
    """Return the named command, or all of them; a shell that completes the command's name needs no more than names."""
    from treetop.cli.commands import COMMANDS, assembled, only_names  # noqa: PLC0415  plug-ins may refuse a taken name

    completing = COMPLETING in os.environ
    words = sys.argv
    if completing:
        words = next((os.environ[name] for name in TYPED if name in os.environ), "").split()
    named = words[1:2]
    if {*named} & {*COMMANDS}:
        return assembled(named)
    return only_names() if completing else assembled(COMMANDS)


def _refuse(reason: str) -> NoReturn:
    from treetop.cli.screen import err  # noqa: PLC0415

    err.print(f"error: {' '.join(reason.split())}", style="red", soft_wrap=True)
    sys.exit(2)
