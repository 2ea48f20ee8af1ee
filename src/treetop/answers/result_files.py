"""Results in files and notebooks: tables, JSON, and HTML that needs nothing from anywhere."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from treetop.errors import InvalidInput
from treetop.public_text import visible
from treetop.whole_files import check_writable, written_whole

if TYPE_CHECKING:
    import pyarrow as pa  # loaded where a table is written: services look at names of files alone

ENDINGS = (".parquet", ".csv", ".json", ".html")
_BEGINNINGS = r"=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}"
"""Of formulas in some spreadsheet; the last four are the wide forms of the first."""
CELL = "padding:.15em .8em .15em 0;border:0"


def checked_output(path: str | Path, endings: Sequence[str] = ENDINGS) -> Path:
    """Refuse, before anything is run, a file that could not be written."""
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise InvalidInput("output_ending", path=str(path), endings=tuple(endings))
    check_writable(path)
    return path


def write_result(path: str | Path, table: "pa.Table", content: object, html: str) -> None:
    """Write a result as its ending says, whole or not at all."""
    path = checked_output(path)
    with written_whole(path) as file:
        match path.suffix.lower():
            case ".csv":
                from pyarrow.csv import write_csv  # noqa: PLC0415

                write_csv(without_formulas(table), file)
            case ".parquet":
                from pyarrow.parquet import write_table  # noqa: PLC0415

                write_table(table, file)
            case ".json":
                file.write(json_bytes(content))
            case _:
                file.write(page(html).encode("utf-8"))


def json_bytes(content: object) -> bytes:
    """Return JSON as a file holds it."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"


def without_formulas(table: "pa.Table") -> "pa.Table":
    """Put an apostrophe before texts that a spreadsheet would take for a formula; numbers stay as they are."""
    from pyarrow import compute, types  # noqa: PLC0415

    for place, column in enumerate(table.schema):
        if types.is_string(column.type):
            texts = compute.replace_substring_regex(table[column.name], rf"\A([{_BEGINNINGS}])", r"'\1")
            table = table.set_column(place, column, texts)
    return table


def page(html: str) -> str:
    """Return a piece of HTML as a page of its own."""
    style = "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<title>Treetop</title></head>\n<body>{html}</body></html>\n'


def html_text(text: str) -> str:
    """Return somebody's text as HTML that means itself."""
    return escape(visible(text))


def html_table(title: str, names: Sequence[str], rows: Iterable[Sequence[str]], left: int, notes: Iterable[str]) -> str:
    """Return a table with what to know about it below; cells are HTML, the first `left` columns are left-aligned."""

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left" if place < left else "right" for place in range(len(cells))]
        written = (
            f'<{tag} style="{CELL};text-align:{side}">{cell}</{tag}>' for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(line("td", cells) for cells in rows)
    below = "".join(f'<p style="margin:.2em 0;color:#555">{html_text(note)}</p>' for note in notes)
    head = line("th", [html_text(name) for name in names])
    table = f'<table style="border-collapse:collapse"><thead>{head}</thead><tbody>{body}</tbody></table>'
    scrolling = f'<div style="overflow-x:auto">{table}</div>'
    return f'<div><p style="margin:.2em 0"><strong>{html_text(title)}</strong></p>{scrolling}{below}</div>'


def html_bar(share: float, colour: str) -> str:
    """Return a bar of that share of its place."""
    width = 100 * min(max(share, 0.0), 1.0)
    drawn = f'<span style="display:block;height:.8em;background:{colour};width:{width:.1f}%"></span>'
    return f'<span style="display:block;width:8em">{drawn}</span>'
