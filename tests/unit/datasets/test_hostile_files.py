"""Small files that would become large, deep or wide: each is refused with a code, in bounded memory."""

import gzip
import json
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

GIB = 1 << 30
MEMORY = 3 * GIB
"""Of the address space of the process that reads; numpy, numba and Arrow alone map one."""
READ = """
import sys
from treetop import load
from treetop.errors import InvalidInput
try:
    load(sys.argv[1])
except InvalidInput as refusal:
    print(refusal.code)
"""


def code_of(path: Path, program: str = READ) -> str:
    """Return the code that another process refuses a file with; it may neither crash nor use more memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False, preexec_fn=limit
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.strip()


def a_bomb(path: Path) -> None:
    with gzip.open(path, "wb", 6) as file:
        file.write(b"item\n")
        for _ in range(1024):
            file.write(b"a\n" * (1 << 19))


def a_zstd_bomb(path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(b"item\n")
        for _ in range(1024):
            file.write(b"a\n" * (1 << 19))


def a_deep_row(path: Path) -> None:
    deep = "[" * 500_000 + "]" * 500_000
    path.write_text('{"item":"a"}\n{"item":"b","x":' + deep + "}\n")


def a_deep_first_row(path: Path) -> None:
    path.write_text('{"item":"a","x":' + '{"a":' * 500_000 + "1" + "}" * 500_001 + "\n")


def depth_over_many_lines(path: Path) -> None:
    """Brackets in a text hide nothing, and line ends are white space to a parser."""
    path.write_text('{"item":"a"}\n{"item":"' + "]" * 500_000 + '","x":' + "[\n" * 500_000 + "]" * 500_000 + "}\n")


def a_wide_table(path: Path) -> None:
    path.write_text("item," + ",".join(f"c{n}" for n in range(200_000)) + "\na" + ",1" * 200_000 + "\n")


def wide_objects(path: Path) -> None:
    path.write_text(json.dumps({"item": "a"} | {f"c{n}": 1 for n in range(200_000)}) + "\n")


def a_wide_parquet(path: Path) -> None:
    pa.parquet.write_table(pa.table({"item": ["a"]} | {f"c{n}": [1] for n in range(10_000)}), path)


def a_long_parquet(path: Path) -> None:
    indices = pa.array([0], pa.int32()).take(pa.array([0] * 1_000_000))
    chunk = pa.DictionaryArray.from_arrays(indices, pa.array(["a"]))
    pa.parquet.write_table(pa.table({"item": pa.chunked_array([chunk] * 300)}), path, row_group_size=1_000_000)


def a_long_cell(path: Path) -> None:
    path.write_bytes(b"item\nx\n" + b"a" * 300_000_000 + b"\n")


def an_open_quote(path: Path) -> None:
    path.write_bytes(b'item,b\nx,"' + b"a\n" * 20_000_000)


def a_long_text(path: Path) -> None:
    path.write_bytes(b'{"item":"b"}\n{"item":"' + b"a" * 300_000_000 + b'"}\n')


def a_workbook(path: Path, change: Callable[[bytes], bytes], padding: int = 0) -> None:
    """Write a workbook whose first sheet's XML was changed, and that many bytes of another part."""
    book = openpyxl.Workbook()
    for row in (("item",), ("a",), ("b",)):
        book.active.append(row)
    book.save(path.with_suffix(".zip"))
    with zipfile.ZipFile(path.with_suffix(".zip")) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name == "xl/worksheets/sheet1.xml" else content)
        if padding:
            with new.open("xl/media/padding.bin", "w", force_zip64=True) as part:
                for _ in range(padding >> 20):
                    part.write(bytes(1 << 20))


LAUGHS = b"".join(
    b'<!ENTITY l%d "%s">' % (level, (b"&l%d;" % (level - 1)) * 10 if level else b"lol") for level in range(10)
)


def entities(path: Path) -> None:
    head = b'<?xml version="1.0"?><!DOCTYPE worksheet [' + LAUGHS + b"]>"
    a_workbook(path, lambda sheet: head + sheet.replace(b"<v>0</v>", b"<v>&l9;</v>"))


def entities_in_utf_16(path: Path) -> None:
    head = b'<?xml version="1.0" encoding="utf-16"?><!DOCTYPE worksheet [' + LAUGHS + b"]>"
    a_workbook(path, lambda sheet: (head + sheet).decode().encode("utf-16"))


def many_rows(path: Path) -> None:
    a_workbook(path, lambda sheet: sheet.replace(b'<row r="3"', b'<row r="999999999"'))


def a_growing_workbook(path: Path) -> None:
    a_workbook(path, lambda sheet: sheet, padding=300 << 20)


CASES = [
    ("x.csv.gz", a_bomb, "decompressed_too_large"),
    ("x.csv.zst", a_zstd_bomb, "decompressed_too_large"),
    ("x.jsonl", a_deep_row, "nested_too_deep"),
    ("x.jsonl", a_deep_first_row, "nested_too_deep"),
    ("x.jsonl", depth_over_many_lines, "nested_too_deep"),
    ("x.csv", a_wide_table, "too_many_columns"),
    ("x.jsonl", wide_objects, "too_many_columns"),
    ("x.parquet", a_wide_parquet, "too_many_columns"),
    ("x.parquet", a_long_parquet, "decompressed_too_large"),
    ("x.csv", a_long_cell, "row_too_long"),
    ("x.csv", an_open_quote, "row_too_long"),
    ("x.jsonl", a_long_text, "row_too_long"),
    ("x.xlsx", entities, "workbook_with_entities"),
    ("x.xlsx", entities_in_utf_16, "workbook_with_entities"),
    ("x.xlsx", many_rows, "workbook_rows"),
    ("x.xlsx", a_growing_workbook, "decompressed_too_large"),
]


@pytest.mark.parametrize(("name", "make", "code"), CASES, ids=[make.__name__ for _, make, _ in CASES])
def test_a_hostile_file_is_refused_in_bounded_memory(
    tmp_path: Path, name: str, make: Callable[[Path], None], code: str
) -> None:
    make(tmp_path / name)
    assert code_of(tmp_path / name) == code


def test_a_workbook_that_claims_more_cells_than_it_has_is_read(tmp_path: Path) -> None:
    a_workbook(tmp_path / "x.xlsx", lambda sheet: sheet.replace(b'ref="A1:A3"', b'ref="A1:XFD1048576"'))
    program = "import sys; from treetop import load; print(sum(load(sys.argv[1]).parties[0].users))"
    assert code_of(tmp_path / "x.xlsx", program) == "2"


READ_SETTINGS = """
import sys
from pathlib import Path
from treetop.errors import InvalidInput
from treetop.toml_files import read_toml
from treetop.datasets.build import Recipe
try:
    read_toml(Path(sys.argv[1]), Recipe)
except InvalidInput as refusal:
    print(refusal.code)
"""


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 200_000 + "]" * 200_000, "x = " + "{a=" * 100_000 + "1" + "}" * 100_000]
)
def test_settings_that_are_nested_very_deep_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    assert code_of(tmp_path / "x.toml", READ_SETTINGS) == "toml_nested_too_deep"
