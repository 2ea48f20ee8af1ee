"""Writing report files: a stream of reports in bounded memory; the file appears under its name when it is whole."""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from treetop.adapters.report_files.columns import (
    checksum,
    refuse_out_of_range,
    report_bytes,
    schema_of,
    to_arrays,
    to_arrow,
)
from treetop.adapters.report_files.report_kind import Contents, ReportKind, RowGroup, sealed
from treetop.secret_files import make_private

GROUP_BYTES = 1 << 23
MAX_ROWS = 1 << 22


class ReportFileWriter:
    """A context manager that takes reports of one kind and leaves a sealed file, or none if anything fails."""

    def __init__(self, path: Path, kind: ReportKind, rows_per_group: int | None = None) -> None:
        self.path, self.kind = Path(path), kind
        self._schema = schema_of(kind)
        self._rows_per_group = rows_per_group or min(MAX_ROWS, max(1, GROUP_BYTES // report_bytes(self._schema)))
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        self._groups: list[RowGroup] = []
        self._waiting = self._schema.empty_table()

    def __enter__(self) -> Self:
        # Slots and buckets are few: a dictionary makes them one byte or two instead of Parquet's four.
        few = [field.name for field in self._schema if pa.types.is_uint8(field.type) or pa.types.is_uint16(field.type)]
        make_private(self._partial)
        self._file = pq.ParquetWriter(
            self._partial, self._schema, compression="none", use_dictionary=few, write_statistics=False
        )
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
        self, failure: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if failure is None:
                self._finish()
            else:
                self._file.close()
        finally:
            self._partial.unlink(missing_ok=True)

    def _finish(self) -> None:
        if self._waiting.num_rows:
            self._write(self._waiting)
        self._file.add_key_value_metadata(sealed(Contents(self.kind, tuple(self._groups))))
        self._file.close()
        _flush(self._partial)
        self._partial.replace(self.path)
        _flush(self.path.parent)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
