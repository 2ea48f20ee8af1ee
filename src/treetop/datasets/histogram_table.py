"""Tables with the columns `party`, `item` and optionally `users`, checked once, here."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treetop.datasets.federation import Federation, federation_from_mapping, federation_from_rows
from treetop.errors import InvalidInput

MOST_USERS = (1 << 53) - 1
KNOWN_COLUMNS = ("party", "item", "users")


def as_federation(data: Any, name: str = "data") -> Federation:
    """Take a Federation, {party: items}, or a pandas, polars or pyarrow table."""
    if isinstance(data, Federation):
        return data
    if isinstance(data, dict) or (hasattr(data, "items") and not hasattr(data, "__arrow_c_stream__")):
        return federation_from_mapping(data, name)
    if hasattr(data, "__arrow_c_stream__"):
        return federation_from_tables(name, [(name, pa.table(data))])
    raise InvalidInput(
        "expected a Federation, a {party: items} mapping or a pandas, polars or pyarrow table, "
        f"found {type(data).__name__}"
    )


def federation_from_tables(name: str, tables: list[tuple[str, pa.Table]]) -> Federation:
    """Join tables into one federation; a table without `party` is one party named after it."""
    checked = [checked_table(source, table) for source, table in tables]
    rows = pa.concat_tables(table for table, _ in checked)
    federation = federation_from_rows(name, rows["party"], rows["item"], _users(checked, rows))
    ignored = tuple(note for _, notes in checked for note in notes)
    return Federation(name, federation.items, federation.parties, ignored + federation.notes)


def _users(checked: list[tuple[pa.Table, list[str]]], rows: pa.Table) -> pa.ChunkedArray | None:
    """Return the users of the rows, or None where no table names them: repeated rows are then no surprise."""
    counted = any(table.schema.metadata == {b"counted": b"yes"} for table, _ in checked)
    return rows["users"] if counted else None


def checked_table(source: str, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the three columns of a table as text, text and integers, and notes on what was ignored."""
    if "item" not in table.column_names:
        found = ", ".join(table.column_names) or "no columns"
        raise InvalidInput(f"{source}: expected the column 'item' (and 'party', 'users'), found {found}")
    if table.num_rows == 0:
        raise InvalidInput(f"{source}: expected one row at least, found an empty table")
    items = _text(source, "item", table["item"])
    named = "party" in table.column_names
    parties = _text(source, "party", table["party"]) if named else pa.chunked_array([[source] * len(items)])
    counted = "users" in table.column_names
    users = _whole_numbers(source, table["users"]) if counted else np.ones(len(items), dtype=np.int64)
    ignored = [column for column in table.column_names if column not in KNOWN_COLUMNS]
    notes = [f"{source}: ignored the columns {', '.join(ignored)}"] if ignored else []
    return _three_columns(parties, items, users, counted), notes


def _three_columns(parties: Any, items: Any, users: Any, counted: bool) -> pa.Table:
    columns = {"party": parties, "item": items, "users": pa.array(users)}
    schema = pa.schema([("party", pa.string()), ("item", pa.string()), ("users", pa.int64())])
    return pa.table(columns, schema=schema).replace_schema_metadata({"counted": "yes"} if counted else None)


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
    wrong = ~(np.isfinite(values) & (values >= 0) & (values <= MOST_USERS) & (values == np.floor(values)))
    _refuse_first(source, column, pa.chunked_array([pa.array(wrong)]), "found {value}")
    return values.astype(np.int64)


def _refuse_first(source: str, column: pa.ChunkedArray, wrong: pa.ChunkedArray, found: str) -> None:
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        what = found.format(value=column[row].as_py())
        raise InvalidInput(f"{source}: row {row + 1}: expected a whole number of users from 0, {what}")
