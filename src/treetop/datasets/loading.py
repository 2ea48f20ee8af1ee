"""Federations from what a user has: Parquet and CSV files, tables in memory, mappings, or the word `syn`.

Everything ends as a table with the columns `party`, `item` and optionally `users`, checked once, here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from treetop.datasets.federation import (
    Federation,
    any_bytes,
    federation_from_mapping,
    federation_from_rows,
    refuse_unnamed_users,
    text_column,
    whole_numbers,
)
from treetop.datasets.set_rows import federation_of_sets
from treetop.datasets.synthetic import synthetic
from treetop.errors import InvalidInput
from treetop.public_text import writable

KNOWN_COLUMNS = ("party", "item", "users")
PARQUET_MARK = b"PAR1"


def as_federation(
    data: Any, name: str = "data", *, user: str | None = None, rows_are_users: bool = False
) -> Federation:
    """Take a Federation, a path, {party: items}, or a pandas, polars or pyarrow table."""
    if isinstance(data, str | Path):
        return federation_named([str(data)], user=user, rows_are_users=rows_are_users)
    if hasattr(data, "__arrow_c_stream__"):
        return federation_from_tables(name, [(name, pa.table(data))], user=user, rows_are_users=rows_are_users)
    if user is not None:
        raise InvalidInput(f"a user column is one of a file or a table, found {user!r} with {type(data).__name__}")
    if isinstance(data, Federation):
        return data
    if hasattr(data, "items"):
        return federation_from_mapping(data, name)
    raise InvalidInput(
        "expected a Federation, a path, a {party: items} mapping or a pandas, polars or pyarrow table, "
        f"found {type(data).__name__}"
    )


def federation_named(
    words: Sequence[str], *, any_items: bool = False, user: str | None = None, rows_are_users: bool = False
) -> Federation:
    """Return the federation of some files, or SYN for `syn`, `syn:SEED` and `syn:SEED:CONCENTRATION`.

    `user` and `rows_are_users` are those of `load`. With `any_items` an item may be any bytes, none included, as
    devices hold them: what is not UTF-8 has surrogates.
    """
    if not any(word == "syn" or word.startswith("syn:") for word in words):
        return _loaded(words, any_items, user, rows_are_users)
    if user is not None:
        raise InvalidInput(f"'syn' has one item for each user, found the user column {user!r}")
    if len(words) > 1:
        raise InvalidInput(f"'syn' is a whole federation of its own, found it among {', '.join(words)}")
    if words[0] == "syn":
        return synthetic()
    seed, colon, concentration = words[0].removeprefix("syn:").partition(":")
    if not (seed.isascii() and seed.isdigit()):
        raise InvalidInput(f"expected syn:SEED with a whole number from 0, found {words[0]!r}")
    if not colon:
        return synthetic(int(seed))
    try:
        return synthetic(int(seed), float(concentration))
    except ValueError:
        raise InvalidInput(f"expected syn:SEED:CONCENTRATION with a number above 0, found {words[0]!r}") from None


def load(*paths: str | Path, user: str | None = None, rows_are_users: bool = False) -> Federation:
    """Read one federation from files with columns `party,item[,users]`, or from one file per party.

    With `user`, the column of users' ids, a user holds all items of her rows, and the columns are `party`, that one,
    `item` and optionally `count`. A column that looks like one must be named, unless `rows_are_users`.

    >>> import treetop
    >>> treetop.load("examples/coffee_shops.csv")
    Federation('coffee_shops': 4 parties, 97,004 users, 25 items)
    """
    return _loaded(paths, any_items=False, user=user, rows_are_users=rows_are_users)


def _loaded(paths: Sequence[str | Path], any_items: bool, user: str | None, rows_are_users: bool) -> Federation:
    if not paths:
        raise InvalidInput("expected one file at least, found none")
    files = [Path(path) for path in paths]
    tables = [(path.stem, read_table(path, any_items=any_items)) for path in files]
    stems = [stem for stem, table in tables if "party" not in table.column_names]
    for stem in stems:  # two files of one name would silently become one party
        if stems.count(stem) > 1:
            names = ", ".join(str(path) for path in files if path.stem == stem)
            raise InvalidInput(f"files without a 'party' column need different names, found {names}")
    name = "+".join(path.stem for path in files)
    return federation_from_tables(name, tables, any_items=any_items, user=user, rows_are_users=rows_are_users)


def read_table(path: Path, *, any_items: bool = False) -> pa.Table:
    """Read a Parquet or CSV file by its ending, and refuse one that is something else."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "nothing there"
        raise InvalidInput(f"{path}: expected a .parquet or .csv file, found {what}")
    if writable(str(path)) != str(path):
        raise InvalidInput(f"{path}: expected a path in UTF-8, found other bytes in it")
    ending = path.suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise InvalidInput(f"{path}: expected a .parquet or .csv file, found the ending {ending or '(none)'!r}")
    with path.open("rb") as file:
        is_parquet = file.read(len(PARQUET_MARK)) == PARQUET_MARK
    if is_parquet != (ending == ".parquet"):
        found = "a Parquet file" if is_parquet else "no Parquet file"
        raise InvalidInput(f"{path}: ends in {ending}, but is {found}")
    try:
        return pa.parquet.read_table(path, partitioning=None) if is_parquet else _read_csv(path, any_items)
    except (pa.ArrowException, OSError) as reason:
        wrong = "is a damaged Parquet file" if is_parquet else "does not read as CSV"
        raise InvalidInput(f"{path}: {wrong}: {' '.join(str(reason).split())[:200]}") from None


def _read_csv(path: Path, any_items: bool) -> pa.Table:
    """Read every column as text: `007` and `null` are items like any other."""
    with pa.csv.open_csv(path) as reader:
        types = dict.fromkeys(reader.schema.names, pa.string())
    if any_items:
        types["item"] = pa.binary()
    options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    return pa.csv.read_csv(path, convert_options=options)


def histogram_rows(federation: Federation) -> pa.Table:
    """Return a federation as rows of `party`, `item` and `users`: what `load` reads."""
    names = pa.array(federation.items, pa.string())
    parts = [
        pa.table({
            "party": pa.array([party.name] * len(party.items), pa.string()),
            "item": names.take(pa.array(party.items)),
            "users": pa.array(party.users),
        })
        for party in federation.parties
    ]  # fmt: skip
    return pa.concat_tables(parts)


def histogram_file(table: pa.Table) -> bytes:
    """Return such rows as a Parquet file."""
    file = pa.BufferOutputStream()
    pa.parquet.write_table(table, file, compression="zstd")
    content: bytes = file.getvalue().to_pybytes()
    return content


def write_histograms(table: pa.Table, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(histogram_file(table))
    partial.replace(path)


def federation_from_tables(
    name: str,
    tables: list[tuple[str, pa.Table]],
    *,
    any_items: bool = False,
    user: str | None = None,
    rows_are_users: bool = False,
) -> Federation:
    """Join tables into one federation; a table without `party` is one party named after it."""
    if user is not None and rows_are_users:
        raise InvalidInput(f"expected a user column or rows that are users, found both: {user!r} and rows_are_users")
    if user is not None:
        return federation_of_sets(name, tables, user)
    for source, table in tables if not rows_are_users else ():
        refuse_unnamed_users(source, table.column_names)
    checked = [checked_table(source, table, any_items) for source, table in tables]
    rows = pa.concat_tables(table for table, _ in checked)
    # Where no table counts users, repeated rows are no surprise and need no note.
    counted = any("users" in table.column_names for _, table in tables)
    federation = federation_from_rows(name, rows["party"], rows["item"], rows["users"] if counted else None)
    ignored = tuple(note for _, notes in checked for note in notes)
    return Federation(name, federation.items, federation.parties, ignored + federation.notes)


def checked_table(source: str, table: pa.Table, any_items: bool = False) -> tuple[pa.Table, list[str]]:
    """Return the three columns of a table as text, text (or bytes) and integers, and notes on what was ignored."""
    if "item" not in table.column_names:
        found = ", ".join(table.column_names) or "no columns"
        raise InvalidInput(f"{source}: expected the column 'item' (and 'party', 'users'), found {found}")
    if table.num_rows == 0:
        raise InvalidInput(f"{source}: expected one row at least, found an empty table")
    items = any_bytes(source, table["item"]) if any_items else text_column(source, "item", table["item"])
    named, counted = ("party" in table.column_names, "users" in table.column_names)
    parties = text_column(source, "party", table["party"]) if named else pa.chunked_array([[source] * len(items)])
    users = whole_numbers(source, "users", table["users"]) if counted else np.ones(len(items), dtype=np.int64)
    ignored = [column for column in table.column_names if column not in KNOWN_COLUMNS]
    notes = [f"{source}: ignored the columns {', '.join(ignored)}"] if ignored else []
    schema = pa.schema([("party", pa.string()), ("item", items.type), ("users", pa.int64())])
    return pa.table({"party": parties, "item": items, "users": pa.array(users)}, schema=schema), notes
