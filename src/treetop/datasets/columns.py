"""Check the columns of a table once: texts, held as indices into a dictionary, and whole numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treetop.errors import InvalidInput

Codes = NDArray[np.int32]
MAX_COUNT = (1 << 53) - 1
"""Up to here, a double holds every whole number exactly; counts may be written as floats."""
NUMBER = r"(?i)^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?$|^[+-]?(nan|inf|infinity)$"
"""A number as pyarrow reads it, for its regular expressions."""
HOW_TO_DROP = "--drop-missing (drop_missing=True) leaves such rows out"


@dataclass(frozen=True, eq=False)
class CodedTexts:
    """A column of texts: for every row its index among the distinct ones; far less memory than the texts of all."""

    codes: Codes
    texts: pa.Array

    @classmethod
    def of(cls, source: str, name: str, column: pa.ChunkedArray, *, any_bytes: bool = False) -> "CodedTexts":
        """Take a column in which every row has a text or an integer; with `any_bytes` also any bytes, or none."""
        column = _as_bytes(source, name, column) if any_bytes else column
        if column.null_count:
            raise _missing(source, name, pc.index(pc.is_null(column), True).as_py())
        is_coded = pa.types.is_dictionary(column.type)  # chunk by chunk, as in a file; our own has one dictionary
        try:
            encoded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise InvalidInput("column_kind", source=source, name=name, type=column.type) from None
        chunks = [np.asarray(chunk.indices) for chunk in encoded.chunks]
        codes = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
        distinct = encoded.chunk(0).dictionary
        texts = distinct if any_bytes else text_of(source, name, distinct)
        if not any_bytes and (empty := pc.index(texts, "").as_py()) >= 0:
            raise _missing(source, name, int(np.argmax(codes == empty)))
        return cls(codes.astype(np.int32, copy=False), texts)

    @classmethod
    def same(cls, text: str, rows: int) -> "CodedTexts":
        """Return a column of the same text in every row."""
        return cls(np.zeros(rows, dtype=np.int32), pa.array([text]))

    @classmethod
    def joined(cls, parts: Sequence["CodedTexts"]) -> "CodedTexts":
        """Return the rows of several columns under one dictionary."""
        if len(parts) == 1:
            return parts[0]
        kind = pa.binary() if any(pa.types.is_binary(part.texts.type) for part in parts) else pa.string()
        encoded = pa.concat_arrays([part.texts.cast(kind) for part in parts]).dictionary_encode()
        moved = np.asarray(encoded.indices)
        first = 0
        found = []
        for part in parts:
            found.append(moved[first : first + len(part.texts)][part.codes])
            first += len(part.texts)
        return cls(np.concatenate(found).astype(np.int32), encoded.dictionary)

    def in_order(self, *, shorter_first: bool = False) -> "CodedTexts":
        """Return the column with its dictionary in the order of the texts, so that the rows' order changes nothing.

        With `shorter_first` they are ordered by length first, which is the order of whole numbers, and faster.
        """
        order = _by_length(self.texts) if shorter_first else np.asarray(pc.array_sort_indices(self.texts))
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return CodedTexts(rank[self.codes], self.texts.take(pa.array(order)))


def _missing(source: str, name: str, row: int) -> InvalidInput:
    return InvalidInput("value_missing", source=source, row=row + 1, name=name, how_to_drop=HOW_TO_DROP)


def _by_length(texts: pa.Array) -> NDArray[Any]:
    """Return an order that depends on the texts alone: by number if they are distinct numbers, else by length."""
    try:
        numbers = np.asarray(texts.cast(pa.int64()))
        order = np.argsort(numbers)
        if (np.diff(numbers[order]) > 0).all():
            return order
    except pa.ArrowInvalid:
        pass  # not all of them are numbers
    keys = [("length", "ascending"), ("text", "ascending")]
    table = pa.table({"length": pc.binary_length(texts), "text": texts})
    return np.asarray(pc.sort_indices(table, sort_keys=keys))


def _as_bytes(source: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return items as they are written, UTF-8 or not, and no bytes where there is none."""
    try:
        written = column.cast(pa.string()) if pa.types.is_integer(column.type) else column
        return pc.fill_null(written.cast(pa.binary()), b"")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput("column_kind", source=source, name=name, type=column.type) from None


def text_of(source: str, name: str, column: Any) -> Any:
    """Return an array as text, integers in their digits."""
    if pa.types.is_floating(column.type):
        raise InvalidInput("column_kind", source=source, name=name, type=column.type)
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput("column_not_text", source=source, name=name, reason=reason) from None


def text_column(source: str, name: str, column: pa.ChunkedArray) -> list[str]:
    """Return the texts of all rows; every row must have one."""
    if not len(column):
        raise InvalidInput("table_empty", source=source)
    coded = CodedTexts.of(source, name, column)
    texts: list[str] = coded.texts.take(pa.array(coded.codes)).to_pylist()
    return texts


def without_missing(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows that have a value in all of these columns.

    Libraries such as pandas turn ids into floats where a column has gaps; they become whole numbers again.
    """
    kept = None
    for name in columns:
        has = _has_value(table[name])
        kept = has if kept is None else pc.and_(kept, has)
    table = table.filter(kept)
    for index, name in enumerate(table.column_names):
        column = table.column(index)
        if name in columns and pa.types.is_floating(column.type):
            values = np.asarray(column)
            if (np.abs(values) <= MAX_COUNT).all() and (values == np.floor(values)).all():
                table = table.set_column(index, name, column.cast(pa.int64()))
    return table


def _has_value(column: pa.ChunkedArray) -> Any:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    has = pc.is_valid(plain)
    if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type) or pa.types.is_binary(plain.type):
        return pc.and_(has, pc.greater(pc.fill_null(pc.binary_length(plain), 0), 0))
    return pc.and_(has, pc.invert(pc.fill_null(pc.is_nan(plain), True))) if pa.types.is_floating(plain.type) else has


def whole_numbers(source: str, name: str, column: pa.ChunkedArray, least: int = 0, what: str = "") -> Any:
    """Return a column as integers; text such as `3` or `3.0` and floats without a fraction are accepted."""
    expected = what or f"a whole number from {least} in {name!r}"
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        values = np.asarray(
            column.cast(pa.int64()) if not column.null_count else ()
        )  # the fast path: most columns are plain integers
        if len(values) == len(column) > 0 and values.min() >= least and values.max() <= MAX_COUNT:
            return values
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        missing = pc.is_null(numbers) if numbers is column else pc.or_kleene(pc.is_null(numbers), pc.equal(numbers, ""))
        _refuse_first(source, column, missing, expected, f"; {HOW_TO_DROP}")
        numbers = numbers.cast(pa.int64() if pa.types.is_integer(numbers.type) else pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        _refuse_first(source, column, _unreadable(column), expected)
        raise InvalidInput("column_not_whole", source=source, name=name, reason=reason) from None
    values = np.asarray(numbers)
    wrong = ~(np.isfinite(values) & (values >= least) & (values <= MAX_COUNT) & (values == np.floor(values)))
    _refuse_first(source, column, pa.array(wrong), expected)
    return values.astype(np.int64)


def _unreadable(column: pa.ChunkedArray) -> Any:
    """Return for every text whether it is no number; nothing for other columns, which are refused as a whole."""
    if not pa.types.is_string(column.type):
        return pa.array([], pa.bool_())
    return pc.invert(pc.match_substring_regex(pc.utf8_trim_whitespace(pc.fill_null(column, "")), NUMBER))


def popularities(source: str, name: str, column: pa.ChunkedArray) -> list[float]:
    """Return a column as numbers from 0: users, uses or any other measure of popularity."""
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        values = np.asarray(numbers.cast(pa.float64()).fill_null(np.nan))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        _refuse_first(source, column, _unreadable(column), f"a number from 0 in {name!r}")
        raise InvalidInput("column_not_numbers", source=source, name=name, reason=reason) from None
    wrong = pa.array(~(np.isfinite(values) & (values >= 0)))
    _refuse_first(source, column, wrong, f"a number from 0 in {name!r}")
    return [float(value) for value in values]


def _refuse_first(source: str, column: pa.ChunkedArray, wrong: Any, expected: str, hint: str = "") -> None:
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        found = column[row].as_py()
        found = "none" if found is None or not str(found).strip() else found
        raise InvalidInput("row_malformed", source=source, row=row + 1, expected=expected, found=found, hint=hint)
