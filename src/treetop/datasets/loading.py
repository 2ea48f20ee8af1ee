"""Federations from what a user has: Parquet and CSV files, tables in memory, mappings, or the word `syn`.

Everything ends as a table with the columns `party`, `item` and optionally `users`, checked once, here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from treetop.datasets.federation import Federation, federation_from_mapping, federation_from_rows
from treetop.datasets.synthetic import synthetic
from treetop.errors import InvalidInput
from treetop.public_text import writable

MAX_USERS = (1 << 53) - 1
KNOWN_COLUMNS = ("party", "item", "users")
PARQUET_MARK = b"PAR1"


def as_federation(data: Any, name: str = "data") -> Federation:
    """Take a Federation, a path, {party: items}, or a pandas, polars or pyarrow table."""
    if isinstance(data, Federation):
        return data
    if isinstance(data, str | Path):
        return federation_named([str(data)])
    if hasattr(data, "__arrow_c_stream__"):
        return federation_from_tables(name, [(name, pa.table(data))])
    if hasattr(data, "items"):
        return federation_from_mapping(data, name)
    raise InvalidInput(
        "expected a Federation, a path, a {party: items} mapping or a pandas, polars or pyarrow table, "
        f"found {type(data).__name__}"
    )


def federation_named(words: Sequence[str], *, any_items: bool = False) -> Federation:
    """Return the federation of some files, or SYN for `syn`, `syn:SEED` and `syn:SEED:CONCENTRATION`.

    With `any_items` an item may be any bytes, none included, as devices hold them: what is not UTF-8 has surrogates.
    """
    if not any(word == "syn" or word.startswith("syn:") for word in words):
        return _loaded(words, any_items)
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


def load(*paths: str | Path) -> Federation:
    """Read one federation from files with columns `party,item[,users]`, or from one file per party.

    >>> import treetop
    >>> treetop.load("examples/coffee_shops.csv")
    Federation('coffee_shops': 4 parties, 97,004 users, 25 items)
    """
    return _loaded(paths, any_items=False)


def _loaded(paths: Sequence[str | Path], any_items: bool) -> Federation:
    if not paths:
        raise InvalidInput("expected one file at least, found none")
    files = [Path(path) for path in paths]
    tables = [(path.stem, read_table(path, any_items=any_items)) for path in files]
    stems = [stem for stem, table in tables if "party" not in table.column_names]
    for stem in stems:  # two files of one name would silently become one party
        if stems.count(stem) > 1:
            names = ", ".join(str(path) for path in files if path.stem == stem)
            raise InvalidInput(f"files without a 'party' column need different names, found {names}")
    return federation_from_tables("+".join(path.stem for path in files), tables, any_items=any_items)


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


def federation_from_tables(name: str, tables: list[tuple[str, pa.Table]], *, any_items: bool = False) -> Federation:
    """Join tables into one federation; a table without `party` is one party named after it."""
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
    items = _any_bytes(source, table["item"]) if any_items else _text(source, "item", table["item"])
    named, counted = ("party" in table.column_names, "users" in table.column_names)
    parties = _text(source, "party", table["party"]) if named else pa.chunked_array([[source] * len(items)])
    users = _whole_numbers(source, table["users"]) if counted else np.ones(len(items), dtype=np.int64)
    ignored = [column for column in table.column_names if column not in KNOWN_COLUMNS]
    notes = [f"{source}: ignored the columns {', '.join(ignored)}"] if ignored else []
    schema = pa.schema([("party", pa.string()), ("item", items.type), ("users", pa.int64())])
    return pa.table({"party": parties, "item": items, "users": pa.array(users)}, schema=schema), notes


def _any_bytes(source: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return items as they are written, UTF-8 or not, and nothing where there is none."""
    written = column.cast(pa.string()) if pa.types.is_integer(column.type) else column
    try:
        return pc.fill_null(written.cast(pa.binary()), b"")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(f"{source}: column 'item' must hold text or integers, found {column.type}") from None


def _text(source: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        raise InvalidInput(f"{source}: column {name!r} must hold text or integers, found {column.type}")
    try:
        text = column.cast(pa.string())
    except pa.ArrowInvalid as reason:
        raise InvalidInput(f"{source}: column {name!r} does not read as text: {reason}") from None
    missing = pc.or_kleene(pc.is_null(text), pc.equal(pc.utf8_length(text), 0))
    row = pc.index(pc.fill_null(missing, True), True).as_py()
    if row >= 0:
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    return text


def _whole_numbers(source: str, column: pa.ChunkedArray) -> Any:
    """Return users as integers; text such as `3` or `3.0` and floats without a fraction will do."""
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        missing = pc.is_null(numbers) if numbers is column else pc.equal(numbers, "")
        _refuse_first(source, column, missing, "found none")
        numbers = numbers.cast(pa.int64() if pa.types.is_integer(numbers.type) else pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: expected whole numbers in 'users', found other values: {reason}") from None
    values = np.asarray(numbers)
    wrong = ~(np.isfinite(values) & (values >= 0) & (values <= MAX_USERS) & (values == np.floor(values)))
    _refuse_first(source, column, pa.chunked_array([pa.array(wrong)]), "found {value}")
    return values.astype(np.int64)


def popularities(source: str, name: str, column: pa.ChunkedArray) -> list[float]:
    """Return a column as numbers from 0: of how many users, or how often, or any other measure of popularity."""
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        values = np.asarray(numbers.cast(pa.float64()).fill_null(np.nan))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: expected numbers in {name!r}, found other values: {reason}") from None
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        found = column[int(wrong[0])].as_py()
        raise InvalidInput(f"{source}: row {wrong[0] + 1}: expected a number from 0 in {name!r}, found {found}")
    return [float(value) for value in values]


def _refuse_first(source: str, column: pa.ChunkedArray, wrong: pa.ChunkedArray, found: str) -> None:
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        what = found.format(value=column[row].as_py())
        raise InvalidInput(f"{source}: row {row + 1}: expected a whole number of users from 0, {what}")
