"""`--output FILE`: what a command found, in a file as well."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Protocol

import typer

from treetop.cli.screen import note, print_json, text_of
from treetop.errors import InvalidInput
from treetop.query.result_files import ENDINGS, checked_output

SCREEN = ".txt"
FORMATS = (*ENDINGS, SCREEN)
PLAIN_FORMATS = (".json", SCREEN)

OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help=f"A file for the result as well, by its ending: {', '.join(FORMATS)} (what the screen shows).",
        show_default=False,
    ),
]
PlainOutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="A file for the result as well, by its ending: .json, or .txt (what the screen shows).",
        show_default=False,
    ),
]


class Result(Protocol):
    """What can write itself to a file."""

    def write(self, path: str | Path) -> None:
        """Write it as the ending says."""


def checked_target(output: Path | None, formats: tuple[str, ...] = FORMATS) -> Path | None:
    """Refuse, before anything is run, a file that could not be written."""
    return None if output is None else checked_output(output, formats)


def deliver(
    content: object, show: Callable[[], None], *, json_only: bool, output: Path | None, result: Result | None = None
) -> None:
    """Print a result as JSON alone or for a person, and write it to the file that was asked for."""
    if json_only:
        print_json(content)
    else:
        show()
    if output is None:
        return
    write_output(output, content, show, result)
    note(f"the result is in {output}")


def write_output(output: Path, content: object, show: Callable[[], None], result: Result | None = None) -> None:
    """Write what the screen shows, or the result as the ending of the file says."""
    if output.suffix.lower() == SCREEN:
        output.write_text(text_of(show), "utf-8")
    elif result is not None:
        result.write(output)
    elif output.suffix.lower() != ".json":
        raise InvalidInput(f"{output}: expected .json or .txt for this result")
    else:
        output.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
