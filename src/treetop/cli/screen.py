"""What commands print: answers on standard output, everything else on standard error.

The name of an item, a party or a task is somebody else's text. So a string that is printed, or put into a table, is
always one line and means itself: nothing in it is read as markup, and characters that cannot be seen are escaped. What
has a style of its own, or several lines, is a `Text`, made of strings that went through `visible`.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from treetop.public_text import HIDDEN, visible

IN_ASCII = {
    "●": "*",
    "○": "o",
    "▲": "^",
    "▼": "v",
    "█": "#",
    "▓": "=",
    "░": "-",
    "✓": "v",
    "✗": "x",
    "±": "+/-",
    "ε": "epsilon",
    "…": "...",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "–": "-",
    "−": "-",
    "’": "'",
    "“": '"',
    "”": '"',
    "·": "-",
    "━": "-",
}
"""For terminals without Unicode."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone; notes and progress go to standard error.")]
"""Here, because the other options load numpy and pyarrow, which not every command needs."""
PATIENCE = 2.0
"""Seconds before a bar is shown for what may be over at once."""


class Screen(Console):
    """A console on which every string is one line that means itself."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return what every string becomes before it is printed or measured."""
        return super().render_str(plain(visible(text)), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Return the pieces of what is printed: a `Text` may have several lines, but nothing else that is hidden."""
        for piece in super().render(renderable, options):
            shown = plain("\n".join(map(visible, piece.text.split("\n"))))
            yield piece if piece.control or shown == piece.text else Segment(shown, piece.style)


out = Screen()
err = Screen(stderr=True)


def print_json(value: object) -> None:
    """Print a value as JSON and nothing else; characters that cannot be seen are escaped, and read back the same."""
    unicode = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    written = json.dumps(value, indent=2, ensure_ascii=not unicode, allow_nan=False)
    for line in written.split("\n"):  # between values; in texts they are escaped already
        sys.stdout.write(HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], line) + "\n")


def plain(text: str) -> str:
    """Return a text as this terminal can print it: ASCII for marks that it has no character for, escapes for letters.

    What is printed is as wide as what was measured, so that columns align.
    """
    try:
        text.encode(out.encoding)
    except UnicodeEncodeError:
        return "".join(map(_printable, text))
    except LookupError:
        return "".join(IN_ASCII.get(letter, letter) for letter in text)
    return text


def _printable(letter: str) -> str:
    try:
        letter.encode(out.encoding)
    except UnicodeEncodeError:
        return IN_ASCII.get(letter) or letter.encode("ascii", "backslashreplace").decode("ascii")
    return letter


def text_of(show: Callable[[], None]) -> str:
    """Return what is printed on standard output, without colours, instead of printing it."""
    with out.capture() as captured:
        show()
    return Text.from_ansi(captured.get()).plain + "\n"


def note(text: str) -> None:
    """Tell the user something on standard error."""
    err.print(f"note: {text}", style="yellow", soft_wrap=True)


class Description(ProgressColumn):
    """What a bar is about."""

    def render(self, task: Task) -> Text:
        """Return it as it is shown."""
        return Text(visible(task.description))


class Rows(ProgressColumn):
    """How many rows were read."""

    def render(self, task: Task) -> Text:
        """Return it as it is shown."""
        return Text(f"{task.fields['rows']:,} rows")


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Progress]:
    """Show a bar with the remaining time on standard error while something runs; `advance` its only task."""
    columns = (Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        bar.add_task(what, total=total)
        yield bar


@contextmanager
def reading_bar(what: str = "reading") -> Iterator[Callable[[int, float], None]]:
    """Show rows and the remaining time on standard error, once reading takes two seconds; call what is yielded."""
    begin = monotonic()
    shown = False
    columns = (Description(), BarColumn(), Rows(), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True)
    task = bar.add_task(what, total=1.0, rows=0)

    def progress(rows: int, share: float) -> None:
        nonlocal shown
        if not shown and monotonic() - begin >= PATIENCE:
            shown = True
            bar.start()
        bar.update(task, completed=share, total=1.0 if share else None, rows=rows)

    try:
        yield progress
    finally:
        if shown:
            bar.stop()


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something is being done; call what is yielded to say how far it is."""
    spinner = "dots" if plain("⠋●") == "⠋●" else "line"
    with err.status(Text(visible(what)), spinner=spinner) as status:
        yield lambda text: status.update(Text(visible(text)))
