"""What commands print: answers on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """Print a value as JSON and nothing else."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def note(text: str) -> None:
    """Tell the user something on standard error."""
    err.print(f"note: {text}", style="yellow", markup=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Progress]:
    """Show a bar with the remaining time on standard error while something runs; `advance` its only task."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        bar.add_task(what, total=total)
        yield bar


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something is being done."""
    with err.status(what):
        yield
