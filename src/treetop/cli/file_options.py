"""The options of every command that reads tables."""

from typing import Annotated, Any

import typer

from treetop.cli.options import completing, gathers
from treetop.datasets.table_files.options import DELIMITERS, ENCODINGS, ReadOptions

FILES = (
    "CSV, TSV, JSON lines (also .gz or .zst), Parquet or a folder of it, Arrow, Feather or Excel, with the columns "
    "party, item and optionally users; or one file per party; or the URL of a database with --query; or the word syn "
    "(syn:SEED) for the built-in federation."
)
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help=FILES, show_default=False)]

Column = str | None
OPTIONS: dict[str, tuple[str, Any, Any]] = {
    "item_column": (
        "item",
        Column,
        typer.Option("--item-column", metavar="NAME", help="The column of items.", show_default="item"),
    ),
    "party_column": (
        "party",
        Column,
        typer.Option(
            "--party-column", metavar="NAME", help="The column of parties.", show_default="party, if there is one"
        ),
    ),
    "users_column": (
        "users",
        Column,
        typer.Option(
            "--users-column",
            metavar="NAME",
            help="The column that says how many users a row stands for.",
            show_default="users, if there is one",
        ),
    ),
    "user_column": (
        "user",
        Column,
        typer.Option(
            "--user-column",
            metavar="NAME",
            help="Users hold many items: the column that says whose a row is. The columns are then party, this one, "
            "item and optionally count.",
            show_default=False,
        ),
    ),
    "rows_are_users": (
        "rows_are_users",
        bool,
        typer.Option(
            "--rows-are-users",
            help="Every row is a user of her own, although a column looks like users' ids: it is ignored.",
        ),
    ),
    "drop_missing": (
        "drop_missing",
        bool,
        typer.Option(
            "--drop-missing", help="Leave out rows without a value, and say how many; otherwise one is refused."
        ),
    ),
    "delimiter": (
        "delimiter",
        Column,
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            help=f"Between two values of a CSV: a character, or {', '.join(DELIMITERS)}.",
            show_default="what its first line shows",
            autocompletion=completing(list(DELIMITERS)),
        ),
    ),
    "file_encoding": (
        "encoding",
        Column,
        typer.Option(
            "--file-encoding",
            metavar="NAME",
            help=f"How a CSV is written: {', '.join(ENCODINGS)} or another.",
            show_default="what the file shows",
            autocompletion=completing(ENCODINGS),
        ),
    ),
    "query": (
        "query",
        Column,
        typer.Option(
            "--query", metavar="SQL", help="What to ask the database whose URL is the FILE.", show_default=False
        ),
    ),
}
"""The name of each parameter, what it is called in `ReadOptions`, its type, and how it is explained."""


def _read_options(given: dict[str, Any]) -> ReadOptions:
    return ReadOptions(**{OPTIONS[name][0]: value for name, value in given.items()})


reads_files = gathers(
    "read",
    {name: (Annotated[kind, option], False if kind is bool else None) for name, (_, kind, option) in OPTIONS.items()},
    _read_options,
)
"""Give a command the options of tables, which it takes as one `read`."""


def written_options(read: ReadOptions) -> list[str]:
    """Return the options that say the same on a command line."""
    words: list[str] = []
    for known_as, kind, option in OPTIONS.values():
        if given := getattr(read, known_as):
            words += [option.default] if kind is bool else [option.default, given]
    return words
