"""Tables in JSON lines: one object on each line, the columns are its keys."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from treetop.datasets.table_files.delimited import BLOCK, content_of, encoding_of, first_lines, gathered, opened
from treetop.datasets.table_files.limits import CheckedLines, check_columns, check_nesting
from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput


def read_json_lines(path: Path, options: ReadOptions) -> pa.Table:
    """Read texts as they are written, also those that look like a date, and numbers as numbers."""
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
    """Look for the row that does not read, or that has another kind of value than the first."""
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
