"""`--output FILE`: what a command found, in a file as well."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Protocol

import typer

from treetop.answers.result_files import ENDINGS, checked_output, json_bytes
from treetop.cli.screen import note, print_json, text_of
from treetop.errors import InvalidInput, OutputFailed
from treetop.whole_files import write_whole

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
    try:
        if json_only:
            print_json(content)
        else:
            show()
    finally:  # a reader that went away, as in `| head`, must not cost the file
        if output is not None:
            write_output(output, content, show, result)
            note(f"the result is in {output}")


def write_output(output: Path, content: object, show: Callable[[], None], result: Result | None = None) -> None:
    """Write what the screen shows, or the result as the ending of the file says."""

    def write(path: Path) -> None:
        if path.suffix.lower() == SCREEN:
            write_whole(path, text_of(show).encode("utf-8"))
        elif result is not None:
            result.write(path)
        elif path.suffix.lower() != ".json":
            raise InvalidInput("output_ending_of_text", path=path)
        else:
            write_whole(path, json_bytes(content))

    try:
        write_or_rescue(output, write)
    except OutputFailed as failure:
        if failure.rescued is None:  # perhaps a second time: better than never
            print_json(content)
        raise


def write_or_rescue(output: Path, write: Callable[[Path], None]) -> None:
    """Write a result; if that fails after a long run, keep it in a new folder for temporary files, and fail."""
    try:
        write(output)
    except (OSError, InvalidInput) as reason:
        rescued: str | None = None
        with suppress(OSError, InvalidInput):
            elsewhere = Path(mkdtemp(prefix="treetop-")) / f"result{output.suffix}"
            write(elsewhere)
            rescued = str(elsewhere)
        raise OutputFailed(str(output), getattr(reason, "strerror", None) or str(reason), rescued) from None
