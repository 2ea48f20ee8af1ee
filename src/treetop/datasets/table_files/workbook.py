"""Tables in Excel's workbooks (.xlsx): the first sheet, whose first row names the columns."""

from datetime import date, datetime
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa

from treetop.datasets.table_files.limits import check_columns, check_decompressed
from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.wording import Note

ROWS_AT_ONCE = 10_000
"""Rows between two reports of progress."""
MAX_ROWS = 1 << 20
"""Rows of a sheet, as in Excel itself."""
BLOCK = 1 << 20


def read_workbook(path: Path, options: ReadOptions) -> tuple[pa.Table, list[Note]]:
    """Read every cell as text, or None where it is empty; note the sheet that was read if there are several."""
    with needed_for(f"{path}: an Excel file", "excel"):
        openpyxl = import_module("openpyxl")
    try:
        _check_parts(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            return _first_sheet(path, book, options)
        finally:
            book.close()
    except InvalidInput:
        raise
    # What openpyxl raises on a damaged file has no common class: a parser's SyntaxError, KeyError, TypeError and more.
    except Exception as reason:
        if isinstance(reason, OSError) and reason.errno is not None:
            raise
        raise InvalidInput("workbook_damaged", path=path, reason=" ".join(str(reason).split())[:200]) from None


def _check_parts(path: Path) -> None:
    """Refuse a workbook that grows too much, or whose XML defines entities: the format allows none.

    Entities that name each other expand a few bytes into gigabytes ("billion laughs").
    """
    with ZipFile(path) as parts:
        check_decompressed(path, path.stat().st_size, sum(part.file_size for part in parts.infolist()))
        for part in parts.infolist():
            with parts.open(part) as stream:
                end = b""
                while block := stream.read(BLOCK):
                    text = end + block.replace(b"\0", b"")  # which finds the marks in UTF-16 as well
                    if b"<!ENTITY" in text or b"<!DOCTYPE" in text:
                        raise InvalidInput("workbook_with_entities", source=str(path))
                    end = text[-len(b"<!DOCTYPE") :]


def _first_sheet(path: Path, book: Any, options: ReadOptions) -> tuple[pa.Table, list[Note]]:
    sheet = book.worksheets[0]
    total = max((sheet.max_row or 1) - 1, 1)
    sheet.reset_dimensions()  # a sheet may declare more cells than it has, and openpyxl would create all of them
    rows = sheet.iter_rows(values_only=True)
    names = [_text(name) for name in next(rows, ())]
    while names and names[-1] is None:
        names.pop()
    if not names or None in names:
        raise InvalidInput("workbook_header_gap", path=path, title=sheet.title)
    check_columns(path, [str(name) for name in names])
    columns: list[list[str | None]] = [[] for _ in names]
    for number, row in enumerate(rows, start=1):
        if number > MAX_ROWS:
            raise InvalidInput("workbook_rows", source=str(path), most=MAX_ROWS)
        values = [_text(value) for value in row[: len(names)]]
        if any(value is not None for value in values):
            for column, text in zip_longest(columns, values):
                column.append(text)
        if number % ROWS_AT_ONCE == 0:
            options.progress(number, min(number / total, 1.0))
    others = len(book.worksheets) - 1
    notes = [Note("first_sheet_read", file=path.name, sheet=sheet.title, others=others)] if others else []
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.table(arrays, [str(name) for name in names]), notes


def _text(value: object) -> str | None:
    """Return a cell as people see it: whole numbers without a fraction, days without a time."""
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)
