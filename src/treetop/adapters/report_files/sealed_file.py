"""Report files: sealed Parquet, written in a stream, and checked before anything is counted.

The kind of a file's reports and the CRC-32 of each row group stand in its metadata, with a digest that makes a changed
word show. Each oracle has one fixed schema, asserted both ways. A file appears under its name when it is whole; one
that is not exactly what was written, or not what was asked for, is refused by name.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from treetop.adapters.report_files.locations import Location, StoredObject
from treetop.errors import InvalidInput, ReportFileRefused, UnknownName
from treetop.federation.wire.report_batches import Batch, Envelope
from treetop.oracles.frequency_oracle import Columns, FrequencyOracle, columns_of
from treetop.oracles.registry import find_oracle
from treetop.trie.user_groups import Role
from treetop.whole_files import written_whole

DIGEST = re.compile(r"[0-9a-f]{64}")
NO_DOMAIN = "0" * 64
ROLES = tuple(role.value for role in Role)


@dataclass(frozen=True)
class ReportKind:
    """Reports of different kinds are never counted together."""

    task: str
    """SHA-256 of the task, in lower-case hexadecimal digits."""
    level: int
    oracle: str
    slots: int
    """The number in the envelope: d with the dummy, or the buckets of a hash."""
    role: str = Role.ESTIMATE.value
    domain: str = NO_DOMAIN
    """SHA-256 of the candidate list whose slots these are; zeros where there is none."""

    def __post_init__(self) -> None:
        oracle = find_oracle(self.oracle)
        for what, digest in (("task", self.task), ("domain", self.domain)):
            if not DIGEST.fullmatch(digest):
                raise InvalidInput("digest_malformed", what=what, digest=digest)
        if self.role not in ROLES:
            raise UnknownName("role", self.role, ROLES)
        if not oracle.has_slots(self.slots):
            raise InvalidInput("report_kind_slots", oracle=self.oracle, slots_rule=oracle.slots_rule, slots=self.slots)
        if self.level < 1:
            raise InvalidInput("report_kind_level", level=self.level)

    @classmethod
    def of(cls, envelope: Envelope) -> "ReportKind":
        """Return the kind of file that a batch belongs into."""
        group = envelope.group
        oracle = envelope.oracle.name
        return cls(envelope.task.hex(), group.level, oracle, envelope.slots, group.role.value, envelope.domain.hex())

    @cached_property
    def counting(self) -> type[FrequencyOracle[Any]]:
        """Return what counts these reports."""
        return find_oracle(self.oracle).counting


CONTENTS = b"treetop.contents"
SEAL = b"treetop.seal"
FORMAT = 1


@dataclass(frozen=True)
class RowGroup:
    """What one worker reads at once: how many reports, and the CRC-32 of their values."""

    rows: int
    checksum: int


@dataclass(frozen=True)
class Contents:
    """The kind of a file's reports and its row groups."""

    kind: ReportKind
    groups: tuple[RowGroup, ...]


def sealed(contents: Contents) -> dict[bytes, bytes]:
    """Return the metadata of a file with these contents."""
    text = json.dumps({"format": FORMAT, **asdict(contents)}, sort_keys=True).encode()
    return {CONTENTS: text, SEAL: sha256(text).hexdigest().encode()}


def unsealed(metadata: Mapping[bytes, bytes] | None) -> Contents:
    """Return the contents that the metadata tell, or refuse metadata that were changed or are not ours."""
    if not metadata or CONTENTS not in metadata:
        raise InvalidInput("not_a_report_file")
    text = metadata[CONTENTS]
    if metadata.get(SEAL) != sha256(text).hexdigest().encode():
        raise InvalidInput("report_file_metadata")
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise InvalidInput("report_file_format", format=FORMAT, found=content["format"])
    return Contents(ReportKind(**content["kind"]), tuple(RowGroup(**group) for group in content["groups"]))


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


GROUP_BYTES = 1 << 23
"""Of one row group, which one worker holds in memory at a time."""
MAX_ROWS = 1 << 22
"""Of one row group, however small a report is."""


class ReportFileWriter:
    """A context manager that takes reports of one kind and leaves a sealed file, or none if anything fails."""

    def __init__(self, path: Path, kind: ReportKind, rows_per_group: int | None = None) -> None:
        self.path = Path(path)
        self.kind = kind
        self._schema = schema_of(kind)
        self._rows_per_group = rows_per_group or min(MAX_ROWS, max(1, GROUP_BYTES // report_bytes(self._schema)))
        self._groups: list[RowGroup] = []
        self._waiting = self._schema.empty_table()

    def __enter__(self) -> Self:
        # Slots and buckets are few: a dictionary makes them one byte or two instead of Parquet's four.
        few = [field.name for field in self._schema if pa.types.is_uint8(field.type) or pa.types.is_uint16(field.type)]
        with ExitStack() as stack:
            file = stack.enter_context(written_whole(self.path, private=True))
            self._file = pq.ParquetWriter(
                file, self._schema, compression="none", use_dictionary=few, write_statistics=False
            )
            stack.push(self._close)  # before the file itself is flushed and renamed
            self._opened = stack.pop_all()
        return self

    def append(self, *columns: NDArray[Any]) -> None:
        """Take some more reports, as arrays of the kind's columns."""
        table = to_arrow(columns, self._schema)
        refuse_out_of_range(columns, self.kind)
        self._waiting = pa.concat_tables([self._waiting, table])
        while self._waiting.num_rows >= self._rows_per_group:
            self._write(self._waiting.slice(0, self._rows_per_group))
            self._waiting = self._waiting.slice(self._rows_per_group)

    def _write(self, table: pa.Table) -> None:
        whole = table.combine_chunks()
        self._groups.append(RowGroup(whole.num_rows, checksum(to_arrays(whole))))
        self._file.write_table(whole, row_group_size=self._rows_per_group)

    def __exit__(
        self, failure: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(failure, error, trace)

    def _close(
        self, failure: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if failure is None:
                self._finish()
        finally:
            if self._file.is_open:  # an error, which is being reported; nobody may write when the file is closed
                with suppress(OSError, pa.ArrowException):
                    self._file.close()
                self._file.is_open = False

    def _finish(self) -> None:
        if self._waiting.num_rows:
            self._write(self._waiting)
        self._file.add_key_value_metadata(sealed(Contents(self.kind, tuple(self._groups))))
        self._file.close()


@contextmanager
def refusing(path: Location) -> Iterator[None]:
    """Turn anything wrong with a file into a refusal that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as reason:
        raise ReportFileRefused(str(path), " ".join(str(reason).split())) from reason


@dataclass(frozen=True)
class ReportFile:
    """A report file whose metadata were checked; its values are checked as they are read."""

    path: Location
    kind: ReportKind
    groups: tuple[RowGroup, ...]

    @classmethod
    def opened(cls, path: Location, kind: ReportKind | None = None) -> "ReportFile":
        """Open a file, which must hold reports of this kind if one is given."""
        with refusing(path), _parquet(path) as file:
            contents = unsealed(file.metadata.metadata)
            _same("kind", kind or contents.kind, contents.kind)
            _same("schema", schema_of(contents.kind), file.schema_arrow.remove_metadata())
            _same("row groups", len(contents.groups), file.num_row_groups)
            return cls(path, contents.kind, contents.groups)

    def columns(self, group: int) -> Columns:
        """Return the reports of one row group."""
        with refusing(self.path), _parquet(self.path) as file:
            columns = to_arrays(file.read_row_group(group, use_threads=False))
            _same("reports", self.groups[group].rows, len(columns[0]))
            _same("checksum", self.groups[group].checksum, checksum(columns))
            return columns

    @property
    def reports(self) -> int:
        """Return how many reports the file holds."""
        return sum(group.rows for group in self.groups)


def _parquet(path: Location) -> Any:
    return pq.ParquetFile(path.opened() if isinstance(path, StoredObject) else path, pre_buffer=False)


def _same(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise InvalidInput("report_file_differs", what=what, expected=expected, found=found)
