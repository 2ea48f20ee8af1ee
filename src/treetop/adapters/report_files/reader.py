"""Reading report files: what is not exactly what was written, or not what was asked for, is refused by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from treetop.adapters.report_files.columns import checksum, schema_of, to_arrays
from treetop.adapters.report_files.locations import Location, StoredObject
from treetop.adapters.report_files.report_kind import ReportKind, RowGroup, unsealed
from treetop.errors import InvalidInput, ReportFileRefused
from treetop.oracles.frequency_oracle import Columns


@contextmanager
def refusing(path: Location) -> Iterator[None]:
    """Turn whatever is wrong with a file into a refusal that names it."""
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
