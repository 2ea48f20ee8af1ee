"""What the columns of a table must hold: text, whole numbers, or any bytes; anything else is refused by its row."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treetop.errors import InvalidInput

MAX_COUNT = (1 << 53) - 1


def any_bytes(source: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return items as they are written, UTF-8 or not, and nothing where there is none."""
    written = column.cast(pa.string()) if pa.types.is_integer(column.type) else column
    try:
        return pc.fill_null(written.cast(pa.binary()), b"")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(f"{source}: column 'item' must hold text or integers, found {column.type}") from None


def text_of(source: str, name: str, column: Any) -> Any:
    """Return an array as text, integers in their digits."""
    if pa.types.is_floating(column.type):
        raise InvalidInput(f"{source}: column {name!r} must hold text or integers, found {column.type}")
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: column {name!r} does not read as text: {reason}") from None


def text_column(source: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text; every row must have some."""
    text = text_of(source, name, column)
    missing = pc.or_kleene(pc.is_null(text), pc.equal(pc.utf8_length(text), 0))
    row = pc.index(pc.fill_null(missing, True), True).as_py()
    if row >= 0:
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    return text


def coded_text(source: str, name: str, column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Return a column as numbers of its distinct texts, and these; far less memory than the texts of all rows."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    is_coded = pa.types.is_dictionary(column.type)  # chunk by chunk, as in a file; our own has one dictionary for all
    encoded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
    chunks = [np.asarray(chunk.indices) for chunk in encoded.chunks]
    codes = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    texts = text_of(source, name, encoded.chunk(0).dictionary)
    if (empty := pc.index(texts, "").as_py()) >= 0:
        row = int(np.argmax(codes == empty))
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    return codes.astype(np.int32, copy=False), texts


def whole_numbers(source: str, name: str, column: pa.ChunkedArray, least: int = 0) -> Any:
    """Return a column as integers; text such as `3` or `3.0` and floats without a fraction will do."""
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        missing = pc.is_null(numbers) if numbers is column else pc.equal(numbers, "")
        _refuse_first(source, name, column, missing, least)
        numbers = numbers.cast(pa.int64() if pa.types.is_integer(numbers.type) else pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: expected whole numbers in {name!r}, found other values: {reason}") from None
    values = np.asarray(numbers)
    wrong = ~(np.isfinite(values) & (values >= least) & (values <= MAX_COUNT) & (values == np.floor(values)))
    _refuse_first(source, name, column, pa.chunked_array([pa.array(wrong)]), least)
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


def _refuse_first(source: str, name: str, column: pa.ChunkedArray, wrong: pa.ChunkedArray, least: int) -> None:
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        found = column[row].as_py()
        what = (
            f"a whole number of users from {least}" if name == "users" else f"a whole number from {least} in {name!r}"
        )
        found = "none" if found is None or not str(found).strip() else found
        raise InvalidInput(f"{source}: row {row + 1}: expected {what}, found {found}")
