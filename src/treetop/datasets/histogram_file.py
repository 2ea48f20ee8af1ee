"""Federations from Parquet and CSV files."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from treetop.datasets.federation import Federation
from treetop.datasets.histogram_table import federation_from_tables
from treetop.errors import InvalidInput

PARQUET_MARK = b"PAR1"


def load(*paths: str | Path) -> Federation:
    """Read one federation from files with columns `party,item[,users]`, or from one file per party."""
    if not paths:
        raise InvalidInput("expected one file at least, found none")
    files = [Path(path) for path in paths]
    tables = [(path.stem, read_table(path)) for path in files]
    _refuse_same_party_twice(files, tables)
    return federation_from_tables("+".join(path.stem for path in files), tables)


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


def write_histograms(table: pa.Table, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    pa.parquet.write_table(table, partial, compression="zstd")
    partial.replace(path)


def _refuse_same_party_twice(files: Sequence[Path], tables: list[tuple[str, pa.Table]]) -> None:
    """Two files without a `party` column but of one name would silently become one party."""
    stems = [stem for stem, table in tables if "party" not in table.column_names]
    for stem in stems:
        if stems.count(stem) > 1:
            names = ", ".join(str(path) for path in files if path.stem == stem)
            raise InvalidInput(f"files without a 'party' column need different names, found {names}")


def read_table(path: Path) -> pa.Table:
    """Read a file by its ending, and refuse one that is something else."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "nothing there"
        raise InvalidInput(f"{path}: expected a .parquet or .csv file, found {what}")
    ending = path.suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise InvalidInput(f"{path}: expected a .parquet or .csv file, found the ending {ending or '(none)'!r}")
    is_parquet = _begins_as_parquet(path)
    if is_parquet != (ending == ".parquet"):
        found = "a Parquet file" if is_parquet else "no Parquet file"
        raise InvalidInput(f"{path}: ends in {ending}, but is {found}")
    return _read_parquet(path) if is_parquet else _read_csv(path)


def _begins_as_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PARQUET_MARK)) == PARQUET_MARK


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pa.parquet.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as reason:
        raise InvalidInput(f"{path}: is a damaged Parquet file: {_one_line(reason)}") from None


def _read_csv(path: Path) -> pa.Table:
    """Read every column as text: `007` and `null` are items like any other."""
    try:
        with pa.csv.open_csv(path) as reader:
            columns = reader.schema.names
        types = dict.fromkeys(columns, pa.string())
        options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        return pa.csv.read_csv(path, convert_options=options)
    except (pa.ArrowException, OSError) as reason:
        raise InvalidInput(f"{path}: does not read as CSV: {_one_line(reason)}") from None


def _one_line(reason: Exception) -> str:
    return " ".join(str(reason).split())[:200]
