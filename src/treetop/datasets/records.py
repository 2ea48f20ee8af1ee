"""Records of corpus files, one at a time, whatever their format and compression."""

import bz2
import csv
import gzip
import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from treetop.errors import InvalidInput

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
FORMATS = (".txt", ".csv", ".tsv", ".jsonl")
LONGEST_FIELD = 1 << 27


def records(paths: Iterable[Path], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the wanted columns of every record of some files; a line of a .txt file is one record."""
    for path in paths:
        yield from _records_of(path, columns)


def _records_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    ending = _format(path)
    try:
        with _open(path) as lines:
            if ending == ".txt":
                yield from ((line.rstrip("\r\n"),) for line in lines)
            elif ending == ".jsonl":
                yield from _from_json(path, lines, columns)
            else:
                yield from _from_columns(path, lines, columns, "\t" if ending == ".tsv" else ",")
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError, csv.Error) as reason:
        raise InvalidInput(f"{path}: does not read as {ending}: {reason}") from None


def _format(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() in OPENERS else path
    ending = plain.suffix.lower()
    if ending not in FORMATS:
        raise InvalidInput(f"{path}: expected an ending of {', '.join(FORMATS)}, found {ending or '(none)'!r}")
    return ending


def _open(path: Path) -> IO[str]:
    if not path.is_file():
        raise InvalidInput(f"{path}: expected a corpus file, found nothing there")
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open(encoding="utf-8", newline="")
    return opener(path, "rt", encoding="utf-8", newline="")  # type: ignore[operator,no-any-return]


def _from_json(path: Path, lines: Iterable[str], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            yield tuple(str(record[column]) for column in columns)
        except (ValueError, KeyError, TypeError):
            wanted = ", ".join(columns)
            raise InvalidInput(f"{path}: line {number}: expected an object with {wanted}, found another") from None


def _from_columns(
    path: Path, lines: Iterable[str], columns: Sequence[str], delimiter: str
) -> Iterator[tuple[str, ...]]:
    csv.field_size_limit(LONGEST_FIELD)
    quoted = delimiter != "\t"
    reader = csv.DictReader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    found = reader.fieldnames or []
    for column in columns:
        if column not in found:
            raise InvalidInput(f"{path}: expected the column {column!r}, found {', '.join(found) or 'none'}")
    for row in reader:
        yield tuple(row[column] or "" for column in columns)
