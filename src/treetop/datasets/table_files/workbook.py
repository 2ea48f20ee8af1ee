"""Tables in Excel's workbooks (.xlsx): the first sheet, whose first row names the columns."""

from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from zipfile import BadZipFile

import pyarrow as pa

from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.wording import Note

ROWS_AT_ONCE = 10_000


def read_workbook(path: Path, options: ReadOptions) -> tuple[pa.Table, list[Note]]:
    """Read every cell as text, and nothing where it is empty; say which sheet was read if there are several."""
    with needed_for(f"{path}: an Excel file", "excel"):
        openpyxl = import_module("openpyxl")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as reason:
        raise InvalidInput(f"{path}: is a damaged Excel file: {' '.join(str(reason).split())[:200]}") from None
    try:
        sheet = book.worksheets[0]
        rows = sheet.iter_rows(values_only=True)
        names = [_text(name) for name in next(rows, ())]
        while names and names[-1] is None:
            names.pop()
        if not names or None in names:
            raise InvalidInput(f"{path}: expected the names of the columns in row 1 of {sheet.title!r}, found a gap")
        columns: list[list[str | None]] = [[] for _ in names]
        total = max((sheet.max_row or 1) - 1, 1)
        for number, row in enumerate(rows, start=1):
            for column, value in zip(columns, row, strict=False):
                column.append(_text(value))
            if number % ROWS_AT_ONCE == 0:
                options.progress(number, number / total)
        others = len(book.worksheets) - 1
        notes = [Note("first_sheet_read", file=path.name, sheet=sheet.title, others=others)] if others else []
    finally:
        book.close()
    filled = [row for row in range(len(columns[0])) if any(column[row] is not None for column in columns)]
    arrays = [pa.array([column[row] for row in filled], pa.string()) for column in columns]
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
