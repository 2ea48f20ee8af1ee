"""Read any table: a file, by its ending; a folder of Parquet files; or a database."""

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from treetop.datasets.table_files.database import read_query
from treetop.datasets.table_files.limits import check_columns, check_decompressed
from treetop.datasets.table_files.options import TAB, ReadOptions
from treetop.datasets.table_files.text_tables import COMPRESSIONS, read_delimited, read_json_lines
from treetop.datasets.table_files.workbook import read_workbook
from treetop.errors import InvalidInput
from treetop.public_text import shown_address, writable
from treetop.wording import Note

LONGEST_PATH = 200
"""Letters of an unreadable path that a message shows."""
DATABASE = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://.*", re.DOTALL)
"""The URL of a database, as SQLAlchemy writes it."""
PARQUET = (".parquet",)
EXCEL = (".xlsx",)
ARROW = (".arrow", ".feather", ".ipc")
TEXT = (".csv", ".tsv", ".jsonl", ".ndjson")
ENDINGS = (*PARQUET, *TEXT, *EXCEL, *ARROW)
EXPECTED = f"a file ending in {', '.join(ENDINGS)} (text also in .gz or .zst), or a folder of Parquet files"
MARKS = {
    b"PAR1": ("a Parquet file", PARQUET),
    b"ARROW1": ("an Arrow file", ARROW),
    b"PK\x03\x04": ("an Excel or zip file", EXCEL),
    b"\x1f\x8b": ("a gzip file", (".gz",)),
    b"\x28\xb5\x2f\xfd": ("a zstd file", (".zst",)),
}
"""The first bytes of files of these formats, and their endings."""


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table as it was read."""

    source: str
    """Its file with the ending, for messages."""
    stem: str
    """Its name without the ending: the name of the party, if it has no column of parties."""
    table: pa.Table
    notes: tuple[Note, ...] = ()
    """Guesses that the user should know of."""


def read_table(word: str | Path, options: ReadOptions = ReadOptions()) -> ReadTable:  # noqa: B008  frozen
    """Read a table, and refuse a file whose content does not match its ending."""
    if isinstance(word, str) and "://" in word:
        shown = shown_address(word)
        if not DATABASE.fullmatch(word) or word.startswith(("http://", "https://", "ftp://", "s3://")):
            raise InvalidInput("file_elsewhere", shown=shown)
        return ReadTable(shown, Path(shown.partition("?")[0]).stem or "database", read_query(word, options))
    if options.query is not None:
        raise InvalidInput("query_without_database", word=str(word))
    path = Path(word)
    if writable(str(path)) != str(path):
        raise InvalidInput("path_not_utf8", path=path)
    try:
        if path.is_dir():
            return _read_folder(path, options)
        if not path.is_file():
            raise InvalidInput("file_missing", path=path, expected=EXPECTED, found=_found_at(path))
        return _read_file(path, options)
    except (pa.ArrowException, OSError) as reason:
        if isinstance(reason, OSError) and reason.errno is not None and reason.strerror:
            raise InvalidInput(
                "file_unreadable", longest_path=str(path)[:LONGEST_PATH], reason=reason.strerror
            ) from None
        kind = {".parquet": "is a damaged Parquet file", ".csv": "does not read as CSV"}
        kind |= dict.fromkeys(ARROW, "is no Arrow or Feather file, or a damaged one")
        wrong = kind.get(_ending(path)[0], f"does not read as {_ending(path)[0]}")
        raise InvalidInput(
            "file_unreadable_as", path=path, wrong=wrong, reason=" ".join(str(reason).split())[:200]
        ) from None


def _found_at(path: Path) -> str:
    """Return what is at a path that is no file; a path that cannot be examined raises its own error."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "nothing there"
    return "something that is no file"


def _read_file(path: Path, options: ReadOptions) -> ReadTable:
    ending = _ending(path)
    _check_mark(path)
    notes: list[Note] = []
    if ending[0] in PARQUET:
        table = _read_parquet(path, options)
    elif ending[0] in ARROW:
        table = _read_arrow(path)
    elif ending[0] in EXCEL:
        table, notes = read_workbook(path, options)
    elif ending[0] in (".jsonl", ".ndjson"):
        table = read_json_lines(path, options)
    else:
        table, notes = read_delimited(path, options, TAB if ending[0] == ".tsv" else None)
    return ReadTable(path.name, path.name[: -len("".join(ending))], table, tuple(notes))


def _ending(path: Path) -> tuple[str, ...]:
    """Return the ending of a file that can be read, and that of its compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS and suffixes[-2:-1] and suffixes[-2] in TEXT:
        return suffixes[-2], suffixes[-1]
    if not suffixes or suffixes[-1] not in ENDINGS:
        raise InvalidInput("file_ending_unknown", path=path, expected=EXPECTED, none=(suffixes or ["(none)"])[-1])
    return (suffixes[-1],)


def _check_mark(path: Path) -> None:
    ending = path.suffix.lower()
    with path.open("rb") as file:
        begins = file.read(8)
    found = next((known for mark, known in MARKS.items() if begins.startswith(mark)), None)
    if found is not None and ending not in found[1]:
        raise InvalidInput("file_is_another_kind", path=path, ending=ending, found=found[0])
    # An Arrow file may be a stream, which has no mark.
    expected = next((what for what, endings in MARKS.values() if ending in endings and ending not in ARROW), None)
    if found is None and expected is not None:
        raise InvalidInput(
            "file_is_not_its_kind", path=path, ending=ending, no=expected.replace("a ", "no ", 1).replace("an ", "no ")
        )


def _read_parquet(path: Path, options: ReadOptions) -> pa.Table:
    file = pa.parquet.ParquetFile(path)
    parts = []
    rows = 0
    check_columns(path, file.schema_arrow.names)
    _check_growth(path, file.metadata)
    for group in range(file.num_row_groups):
        parts.append(file.read_row_group(group))
        rows += parts[-1].num_rows
        options.progress(rows, rows / max(file.metadata.num_rows, 1))
    return pa.concat_tables(parts) if parts else file.schema_arrow.empty_table()


def _check_growth(path: Path, metadata: pa.parquet.FileMetaData) -> None:
    """Refuse a small file of a very large table: by its compressed bytes, or by one value for very many rows."""
    written = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    check_decompressed(path, path.stat().st_size, max(written, metadata.num_rows * metadata.num_columns))


def _read_folder(path: Path, options: ReadOptions) -> ReadTable:
    """Read all Parquet files of a folder; folders such as `party=north` inside it are a column."""
    files = [each for each in path.rglob("*") if not each.name.startswith((".", "_")) and each.is_file()]
    names = sorted(str(each) for each in files if each.suffix == ".parquet")
    if not names:
        raise InvalidInput("folder_without_parquet", path=path, expected=EXPECTED)
    from pyarrow.dataset import dataset  # noqa: PLC0415  it loads pandas where that is installed

    others = sorted(each.name for each in files if each.suffix != ".parquet")
    notes = [Note("other_files_ignored", folder=path.name, files=others[:3], more=max(len(others) - 3, 0))]
    try:
        for name in names:
            _check_growth(Path(name), pa.parquet.read_metadata(name))
        found = dataset(names, format="parquet", partitioning="hive", partition_base_dir=str(path))
        check_columns(path, found.schema.names)
        parts = []
        rows = 0
        for number, fragment in enumerate(found.get_fragments(), start=1):
            parts.append(fragment.to_table(schema=found.schema))
            rows += parts[-1].num_rows
            options.progress(rows, number / len(names))
    except (pa.ArrowException, OSError) as reason:
        raise InvalidInput("folder_of_unlike_files", path=path, reason=" ".join(str(reason).split())[:200]) from None
    return ReadTable(path.name, path.stem, pa.concat_tables(parts), tuple(notes if others else ()))


def _read_arrow(path: Path) -> pa.Table:
    """Read Arrow's file format, which Feather is, or its stream."""
    with path.open("rb") as file:
        begins = file.read(6)
    if begins.startswith((b"ARROW1", b"FEA1")):
        return pa.feather.read_table(path)
    with pa.OSFile(str(path)) as stream, pa.ipc.open_stream(stream) as reader:
        return reader.read_all()
