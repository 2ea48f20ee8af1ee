"""Reports as Arrow columns and as numpy arrays: one fixed schema for each oracle, asserted both ways."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treetop.adapters.report_files.report_kind import ReportKind
from treetop.errors import InvalidInput
from treetop.federation.wire.report_batches import Batch
from treetop.oracles.frequency_oracle import Columns, columns_of


def schema_of(kind: ReportKind) -> pa.Schema:
    """Return the only schema that reports of this kind have; rows of bytes become binary values of fixed length."""
    forms = columns_of(kind.counting.layout(kind.slots)).items()
    arrow = ((name, pa.binary(form.itemsize) if form.shape else pa.from_numpy_dtype(form)) for name, form in forms)
    return pa.schema([pa.field(name, form, nullable=False) for name, form in arrow])


def report_bytes(schema: pa.Schema) -> int:
    """Return the bytes of one report in memory."""
    return sum(field.type.bit_width // 8 for field in schema)


def to_arrow(columns: Sequence[NDArray[Any]], schema: pa.Schema) -> pa.Table:
    """Return the arrays as a table of the schema, or refuse arrays of another type or shape."""
    if len(columns) != len(schema) or len({len(column) for column in columns}) != 1:
        raise InvalidInput("columns_uneven", number=len(schema), columns=[len(c) for c in columns])
    return pa.table([_arrow_column(*pair) for pair in zip(columns, schema, strict=True)], schema=schema)


def refuse_out_of_range(columns: Sequence[NDArray[Any]], kind: ReportKind) -> None:
    """Refuse slots, buckets or bits that this kind does not have, so that they are never sealed."""
    if not kind.counting.in_range(tuple(columns), kind.slots):
        raise InvalidInput("report_out_of_range", slots=kind.slots)


def _arrow_column(column: NDArray[Any], field: pa.Field) -> pa.Array:
    dtype, row = numpy_form(field.type)
    if column.dtype != dtype or column.shape[1:] != row:
        found = f"{column.dtype} of shape {column.shape}"
        raise InvalidInput("column_type", name=field.name, dtype=dtype, row=row, found=found)
    data = np.array(column, order="C")  # a copy: the caller may use the array again
    return pa.Array.from_buffers(field.type, len(data), [None, pa.py_buffer(data)])


def numpy_form(form: pa.DataType) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the element type and the shape of a row that an Arrow type has in numpy."""
    if pa.types.is_fixed_size_binary(form):
        return np.dtype(np.uint8), (form.byte_width,)
    return np.dtype(form.to_pandas_dtype()), ()


def to_arrays(table: pa.Table) -> Columns:
    """Return the columns as numpy arrays, without copying where a column is in one piece."""
    return tuple(_array(column.combine_chunks()) for column in table.columns)


def _array(column: pa.Array) -> NDArray[Any]:
    if column.null_count:
        raise InvalidInput("report_missing")
    dtype, row = numpy_form(column.type)
    values = np.frombuffer(column.buffers()[1], dtype=dtype).reshape(-1, *row)
    return values[column.offset : column.offset + len(column)]


def checksum(columns: Columns) -> int:
    """Return the CRC-32 of the values of all columns, one column after the other."""
    crc = 0
    for column in columns:
        crc = zlib.crc32(np.ascontiguousarray(column).data, crc)
    return crc


def batch_columns(batch: Batch) -> Columns:
    """Run by the party: the bodies of a batch as columns, without reading report by report; the wire is big-endian."""
    layout = batch.envelope.oracle.counting.layout(batch.envelope.slots)
    bodies = np.frombuffer(b"".join(batch.bodies), dtype=layout.newbyteorder(">"))
    return tuple(bodies[name].astype(form.base) for name, form in columns_of(layout).items())
