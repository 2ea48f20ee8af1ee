"""Writing report files: a stream of reports in bounded memory; the file appears under its name when it is whole."""

from contextlib import ExitStack, suppress
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
from treetop.whole_files import written_whole

GROUP_BYTES = 1 << 23
MAX_ROWS = 1 << 22


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
