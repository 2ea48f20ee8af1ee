"""Tables in text files: CSV with any delimiter, in UTF-8, UTF-16 or another encoding; JSON lines; compressed or not."""

import codecs
import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from treetop.datasets.table_files.limits import MAX_ROW, CheckedLines, Decompressed, check_columns, check_nesting
from treetop.datasets.table_files.options import TAB, Progress, ReadOptions
from treetop.errors import InvalidInput
from treetop.wording import Note

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
BLOCK = MAX_ROW
"""Arrow reads a file in such blocks, and refuses a row that does not fit into one."""
HEAD = 1 << 16
"""Bytes from which the encoding and the delimiter are guessed."""
COMMON_DELIMITERS = (",", ";", TAB, "|")
BYTE_ORDER_MARKS = {  # UTF-32 first: its little-endian mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WESTERN = "cp1252"
"""Latin-1 with letters in place of control characters; most files called Latin-1 are this."""


class CountedFile:
    """A file that tracks the share of it that was read."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._size = max(path.stat().st_size, 1)
        self._read = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        content = self._file.read(size)
        self._read += len(content)
        return content

    @property
    def share(self) -> float:
        """Return the share of the file that was read."""
        return self._read / self._size

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self.closed = True

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def writable(self) -> bool:
        """Return False: it cannot be written."""
        return False

    def seekable(self) -> bool:
        """Return False: it is read from its beginning."""
        return False


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, CountedFile]]:
    """Open a file for reading, decompressed if its ending says so."""
    counted = CountedFile(path)
    try:
        compression = COMPRESSIONS.get(path.suffix.lower())
        raw = pa.PythonFile(counted, "r")
        if compression is None:
            yield raw, counted
        else:
            yield Decompressed(pa.CompressedInputStream(raw, compression), path, path.stat().st_size), counted
    finally:
        counted.close()


def head_of(path: Path) -> bytes:
    """Return the beginning of a file."""
    with opened(path) as (stream, _):
        content: bytes = stream.read(HEAD)
        return content


def first_lines(path: Path) -> bytes:
    """Return the beginning of a file with its first line, or refuse a line that is too long."""
    head = head_of(path)
    if len(head) < HEAD or b"\n" in head or b"\r" in head:
        return head
    with opened(path) as (stream, _):
        content: bytes = stream.read(MAX_ROW)
    if len(content) == MAX_ROW and b"\n" not in content and b"\r" not in content:
        raise InvalidInput("row_too_long", source=str(path), most=MAX_ROW)
    return content


def content_of(path: Path) -> bytes:
    """Return the whole of a file."""
    with opened(path) as (stream, _):
        return b"".join(iter(lambda: stream.read(BLOCK), b""))


def encoding_of(head: bytes) -> str:
    """Return the encoding that the beginning of a text suggests: by its mark, UTF-16 also by its zeros, else UTF-8.

    Latin letters in UTF-16 have a zero byte each, always on the same side.
    """
    for mark, name in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name
    even = head[0::2].count(0)
    odd = head[1::2].count(0)
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros > len(head) / 8 and others < zeros / 8:
            return name
    return "utf-8"


def decoded_lines(path: Path, encoding: str | None = None) -> list[str]:
    """Read the lines of a text file, in the encoding that is named or that it shows."""
    content = content_of(path)
    name = encoding or encoding_of(content[:HEAD])
    try:
        return content.decode("utf-8-sig" if name == "utf-8" else name).removeprefix("\ufeff").splitlines()
    except UnicodeDecodeError as reason:
        if encoding is None and name == "utf-8" and is_western(content):
            return content.decode(WESTERN).splitlines()
        line = content.count(b"\n", 0, reason.start) + 1
        raise InvalidInput("line_not_text", path=path, line=line, name=name, start=content[reason.start]) from None


def is_western(content: bytes) -> bool:
    """Return whether bytes that are not UTF-8 read as Western letters, without any character of UTF-8 among them.

    A file in which some characters are UTF-8 is damaged or mixed: read as Western, these would become other letters.
    """
    try:
        content.decode(WESTERN)
    except UnicodeDecodeError:
        return False
    return not any(ord(letter) > 0x7F for letter in content.decode("utf-8", errors="ignore"))


def read_delimited(path: Path, options: ReadOptions, usual: str | None = None) -> tuple[pa.Table, list[Note]]:
    """Read every column as text, so that `007` and `null` are items like any other; and note what was guessed."""
    head = first_lines(path)
    encoding = options.encoding or encoding_of(head)
    delimiter = options.separator or usual or _delimiter(head.decode(encoding, errors="replace"), options)
    try:
        return _table(path, encoding, delimiter, options), []
    except (pa.ArrowInvalid, UnicodeError) as reason:
        if "straddl" in str(reason):  # Arrow's word for a row that is longer than a block
            raise InvalidInput("row_too_long", source=str(path), most=MAX_ROW) from None
        content = content_of(path)
        undecodable = _decode_error(content, encoding)
        if not isinstance(reason, UnicodeError) and undecodable is None:
            raise _ragged(path, content.decode(encoding), delimiter, str(reason)) from None
    if options.encoding is None and encoding == "utf-8" and is_western(content):
        note = Note("read_as_western", file=path.name, encoding=WESTERN)
        try:
            return _table(path, WESTERN, delimiter, options), [note]
        except pa.ArrowInvalid as reason:
            raise _ragged(path, content.decode(WESTERN), delimiter, str(reason)) from None
    if undecodable is None:
        raise InvalidInput("text_in_another_encoding", path=path, encoding=encoding)
    line = content.count(b"\n", 0, undecodable.start) + 1
    start = content[undecodable.start]
    raise InvalidInput("line_in_another_encoding", path=path, line=line, encoding=encoding, start=start)


def _decode_error(content: bytes, encoding: str) -> UnicodeDecodeError | None:
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        return error
    return None


def _delimiter(head: str, options: ReadOptions) -> str:
    """Return the delimiter with which the first line names the item's column, or gives the most columns."""
    rows = {each: _header(head, each) for each in COMMON_DELIMITERS}
    for delimiter, names in rows.items():
        if (options.item or "item") in names:
            return delimiter
    return max(COMMON_DELIMITERS, key=lambda each: len(rows[each]))


def _header(head: str, delimiter: str) -> list[str]:
    """Return the names of the columns: the first line that is not empty."""
    lines = csv.reader(StringIO(head.removeprefix("\ufeff"), newline=""), delimiter=delimiter)
    try:
        return next(filter(None, lines), [])
    except csv.Error:
        return []


def _table(path: Path, encoding: str, delimiter: str, options: ReadOptions) -> pa.Table:
    head = first_lines(path)
    names = _header(head.decode(encoding, errors="replace"), delimiter)
    if not names and len(head) > HEAD:
        raise InvalidInput("row_too_long", source=str(path), most=csv.field_size_limit())
    check_columns(path, names)
    if not names:
        raise InvalidInput("csv_empty", path=path)
    reading = pa.csv.ReadOptions(block_size=BLOCK, encoding="utf8" if encoding == "utf-8" else encoding)
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    types = dict.fromkeys(names, pa.string())
    if options.any_items and encoding == "utf-8" and options.encoding is None:
        types[options.item or "item"] = pa.binary()
    converting = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        with opened(path) as (stream, counted), pa.csv.open_csv(stream, reading, parsing, converting) as reader:
            table = gathered(reader, reader.schema, counted, options.progress)
    except pa.ArrowInvalid as reason:
        if "Empty CSV file" not in str(reason):
            raise
        return pa.table([pa.array([], pa.string()) for _ in names], names)  # the header alone, without a line end
    _refuse_open_quote(path, encoding, table)
    return table


def _refuse_open_quote(path: Path, encoding: str, table: pa.Table) -> None:
    """Refuse a last value that contains all lines after its quote because no other quote ends it."""
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else ""
    written = last.decode(errors="replace") if isinstance(last, bytes) else str(last)
    if "\n" not in written and "\r" not in written:
        return
    if not content_of(path).decode(encoding, errors="replace").rstrip().endswith('"'):
        raise InvalidInput("csv_open_quote", path=path, num_rows=table.num_rows, written=written[:40])


def gathered(batches: Any, schema: pa.Schema, counted: CountedFile, progress: Progress) -> pa.Table:
    """Read all batches of a file, and report the progress."""
    read = []
    rows = 0
    for batch in batches:
        read.append(batch)
        rows += batch.num_rows
        progress(rows, counted.share)
    return pa.Table.from_batches(read, schema)


def _ragged(path: Path, content: str, delimiter: str, reason: str) -> InvalidInput:
    """Return an error that names the row with too many or too few values, which Arrow's message does not."""
    lines = csv.reader(StringIO(content.removeprefix("\ufeff"), newline=""), delimiter=delimiter)
    try:
        rows = filter(None, lines)
        expected = len(next(rows, []))
        for number, values in enumerate(rows, start=1):
            if len(values) != expected:
                return InvalidInput(
                    "csv_ragged",
                    path=path,
                    number=number,
                    expected=expected,
                    found=len(values),
                    values=delimiter.join(values)[:80],
                    delimiter=delimiter,
                )
    except csv.Error:
        pass  # a value that is too long for this reader: fall back on Arrow's message
    return InvalidInput("csv_unreadable", path=path, reason=" ".join(reason.split())[:200])


def read_json_lines(path: Path, options: ReadOptions) -> pa.Table:
    """Read texts as they are written, also those that look like a date, and numbers as numbers.

    Arrow would turn texts that look like dates into dates, unless a schema declares the column as text.
    """
    head = first_lines(path)
    if (found := options.encoding or encoding_of(head)) not in ("utf-8", "utf8"):
        raise InvalidInput("json_lines_encoding", path=path, found=found)
    first = _first_object(path, head)
    texts = pa.schema([(name, pa.string()) for name, value in first.items() if isinstance(value, str)])
    parsing = pa.json.ParseOptions(explicit_schema=texts)
    reading = pa.json.ReadOptions(block_size=BLOCK)
    try:
        with (
            opened(path) as (stream, counted),
            pa.json.open_json(CheckedLines(stream, path), reading, parsing) as reader,
        ):
            check_columns(path, reader.schema.names)
            return gathered(reader, reader.schema, counted, options.progress)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise _first_wrong(path, first, str(reason)) from None


def _first_object(path: Path, head: bytes) -> dict[str, Any]:
    line = next((line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()), b"")
    check_nesting(path, line)
    try:
        first = json.loads(line)
    except ValueError:
        first = None
    if not isinstance(first, dict):
        found = line[:80].decode("utf-8", errors="replace") or "nothing"
        raise InvalidInput("json_lines_first_row", path=path, found=found)
    check_columns(path, list(first))
    return first


def _first_wrong(path: Path, first: dict[str, Any], reason: str) -> InvalidInput:
    """Find the row that does not parse, or whose value is of another kind than the first row's."""
    lines = [line for line in content_of(path).splitlines() if line.strip()]
    for row, line in enumerate(lines, start=1):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            shown = line[:80].decode("utf-8", errors="replace")
            return InvalidInput("json_lines_row", path=path, row=row, shown=shown)
        for name, value in found.items():
            known = first.get(name)
            if known is not None and value is not None and isinstance(known, str) != isinstance(value, str):
                kind = "a text" if isinstance(known, str) else "a number"
                return InvalidInput(
                    "json_lines_kind", path=path, row=row, kind=kind, name=name, value=json.dumps(value)[:80]
                )
    return InvalidInput("json_lines_unreadable", path=path, reason=" ".join(reason.split())[:200])
