"""Every format that people have reads as the same federation, and what is wrong is said with file and row."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import sqlalchemy
from tests.support.refusals import refused
from tests.unit.datasets.test_loading import EXPECTED, ROWS, contents

from treetop.datasets.item_lists import load_catalogue
from treetop.datasets.loading import as_federation, federation_named, load
from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput
from treetop.query.find import find
from treetop.wording import Note

LINES = [("party", "item", "users"), ("a", "x", "3"), ("a", "y", "1"), ("b", "x", "2")]


def text(delimiter: str) -> str:
    return "".join(delimiter.join(line) + "\n" for line in LINES)


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


JSON = "".join(json.dumps(dict(zip(LINES[0], (a, b, int(c)), strict=True))) + "\n" for a, b, c in LINES[1:])
FILES: dict[str, bytes] = {
    "comma.csv": text(",").encode(),
    "semicolon.csv": text(";").encode(),
    "pipe.csv": text("|").encode(),
    "tabs.csv": text("\t").encode(),
    "data.tsv": text("\t").encode(),
    "DATA.CSV": text(",").encode(),
    "mark.csv": text(",").encode("utf-8-sig"),
    "packed.csv.gz": gzip.compress(text(",").encode(), mtime=0),
    "packed.tsv.zst": zstd(text("\t").encode()),
    "utf16.csv": text(";").encode("utf-16"),
    "utf16_be_without_mark.csv": text(",").encode("utf-16-be"),
    "utf16_le_without_mark.tsv.gz": gzip.compress(text("\t").encode("utf-16-le"), mtime=0),
    "data.jsonl": JSON.encode(),
    "data.ndjson.zst": zstd(JSON.encode()),
    "stream.arrow": stream(pa.table(ROWS)),
}


@pytest.mark.parametrize("name", FILES)
def test_every_text_reads_as_the_same_federation(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    federation = load(tmp_path / name)
    assert contents(federation) == EXPECTED
    assert federation.name == name.partition(".")[0]
    assert federation.notes == ()


def test_arrow_feather_and_folders_of_parquet(tmp_path: Path) -> None:
    pa.feather.write_feather(pa.table(ROWS), tmp_path / "data.feather")
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as sink, pa.ipc.new_file(sink, pa.table(ROWS).schema) as writer:
        writer.write_table(pa.table(ROWS))
    plain, hive = tmp_path / "plain", tmp_path / "hive"
    plain.mkdir()
    pa.parquet.write_table(pa.table(ROWS)[:2], plain / "1.parquet")
    pa.parquet.write_table(pa.table(ROWS)[2:], plain / "2.parquet")
    (plain / "_SUCCESS").touch()
    pa.parquet.write_to_dataset(pa.table(ROWS), hive, partition_cols=["party"])
    for name in ("data.feather", "data.arrow", "plain", "hive"):
        assert contents(load(tmp_path / name)) == EXPECTED, name
    assert load(plain).notes == ()
    for name in ("b.csv", "c.csv", "d.csv", "e.txt", ".hidden"):
        (plain / name).touch()
    assert load(plain).notes == (
        Note("other_files_ignored", folder="plain", files=["b.csv", "c.csv", "d.csv"], more=1),
    )
    pa.parquet.write_table(pa.table({"thing": [1]}), plain / "3.parquet")
    with refused("value_missing", InvalidInput, source="plain", row=4, name="party"):
        load(plain)


def test_excel(tmp_path: Path) -> None:
    book, path = openpyxl.Workbook(), tmp_path / "shop.xlsx"
    for line in (LINES[0], ("a", "x", 3), ("a", "y", 1.0), (None, None, None), ("b", "x", "2")):
        book.active.append(line)
    book.save(path)
    assert contents(load(path)) == EXPECTED
    book.create_sheet("more")
    book.save(path)
    assert load(path).notes == (Note("first_sheet_read", file="shop.xlsx", sheet="Sheet", others=1),)
    book.active.append(("b", None, 1))
    book.save(path)
    with refused("value_missing", InvalidInput, source="shop.xlsx", row=4, name="item"):
        load(path)
    path.write_bytes(b"PK\x03\x04 and no more")
    with refused("workbook_damaged", InvalidInput, reason="File is not a zip file"):
        load(path)


@pytest.mark.parametrize(
    ("module", "file", "extra"), [("openpyxl", "x.xlsx", "excel"), ("sqlalchemy", "sqlite:///x.db", "sql")]
)
def test_without_an_extra_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, file: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    if extra == "excel":
        openpyxl.Workbook().save(file)
    with pytest.raises(InvalidInput) as refusal:
        load(file, query="SELECT 1" if extra == "sql" else None)
    assert f'pip install "treetop-ldp[{extra}]"' in str(refusal.value)


def test_a_database_by_a_query(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE sales (branch TEXT, drink TEXT, people INTEGER)"))
        for a, b, c in LINES[1:]:
            values = {"a": a, "b": b, "c": int(c)}
            connection.execute(sqlalchemy.text("INSERT INTO sales VALUES (:a, :b, :c)"), values)
    engine.dispose()
    query = "SELECT branch AS party, drink AS item, people AS users FROM sales"
    federation = load(url, query=query)
    assert contents(federation) == EXPECTED
    assert federation.name == "shop"
    assert contents(load(url, query="SELECT * FROM sales", item_column="drink", party_column="branch",
                         users_column="people")) == EXPECTED  # fmt: skip
    for word, asked, reason in (
        (url, None, "database_query_missing"),
        (url, "SELECT item FROM nowhere", "database_query_failed"),
        (url, query + " WHERE people > 9", "table_empty"),
        ("sqlite:///nowhere/shop.db", query, "database_query_failed"),
        ("nonsense://me:secret@host/db", query, "database_url_malformed"),
        ("data.csv", query, "query_without_database"),
    ):
        with refused(reason, InvalidInput) as refusal:
            load(word, query=asked)
        assert "secret" not in str(refusal.value)


def test_duckdb_relations(tmp_path: Path) -> None:
    connection = duckdb.connect()
    (tmp_path / "data.csv").write_text(text(","))
    relation = connection.read_csv(str(tmp_path / "data.csv"))
    assert contents(as_federation(relation)) == EXPECTED
    relation = connection.read_csv(str(tmp_path / "data.csv"))
    assert find(relation, k=1, seed=1).users == 6


def test_columns_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text(text(";").replace("party;item;users", "item;drink;people"))
    named: dict[str, Any] = {"item_column": "drink", "party_column": "item", "users_column": "people"}
    assert contents(load(path, **named)) == EXPECTED
    assert load(path).notes == (Note("columns_ignored", file="sales.csv", columns="drink, people"),)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"item_column": "food"}, "columns_missing"),
        ({"item_column": "drink", "party_column": "shop"}, "columns_missing"),
        ({"item_column": "drink", "party_column": "drink"}, "columns_named_alike"),
        ({"item_column": "drink", "users_column": "item"}, "row_malformed"),
    ]
    for wrong, reason in cases:
        with refused(reason, InvalidInput):
            load(path, **wrong)


def test_rows_with_gaps_are_left_out_and_counted_if_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("party,item,users,day\na,x,3,1\na,,9,2\n,y,9,3\na,y,,4\na,y,1,\nb,x,2,6\n")
    with refused("value_missing", InvalidInput, source="gaps.csv", row=3, name="party"):
        load(path)
    federation = load(path, drop_missing=True)
    assert contents(federation) == EXPECTED
    assert federation.notes == (
        Note("columns_ignored", file="gaps.csv", columns="day"),
        Note("rows_left_out", file="gaps.csv", left_out=3, rows=6, columns=["item", "party", "users"]),
    )
    pa.parquet.write_table(
        pa.table({"user_id": [1.0, None, 2.0], "item": ["x", "y", None]}), tmp_path / "ids.parquet"
    )  # pandas makes floats of ids where some are missing
    assert load(tmp_path / "ids.parquet", user="user_id", drop_missing=True).users == 1
    path.write_text("party,item\n,x\n")
    with refused("rows_all_incomplete", InvalidInput, source="gaps.csv"):
        load(path, drop_missing=True)


def test_latin_letters_are_read_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "cafés.csv"
    path.write_bytes("party,item,users\na,café “x”,3\n".encode("cp1252"))
    federation = load(path)
    assert federation.items == ["café “x”"]
    assert federation.notes == (Note("read_as_western", file="cafés.csv", encoding="cp1252"),)
    assert load(path, file_encoding="latin-1").items == ["café \x93x\x94"]
    assert load(path, file_encoding="latin-1").notes == ()
    path.write_bytes("party,item\na,чай\n".encode("koi8-r"))
    assert load(path, file_encoding="koi8-r").items == ["чай"]
    with refused("file_encoding_unknown", InvalidInput, encoding="klingon", encodings="utf-8, utf-16, latin-1, cp1252"):
        load(path, file_encoding="klingon")
    with refused("file_encoding_unknown", InvalidInput, encoding="hex", encodings="utf-8, utf-16, latin-1, cp1252"):
        load(path, file_encoding="hex")
    with refused("line_in_another_encoding", InvalidInput, line=2, encoding="ascii", start=222):
        load(path, file_encoding="ascii")
    (tmp_path / "list.txt").write_bytes("thé\ncafé\n".encode("utf-16"))
    assert load_catalogue(tmp_path / "list.txt").items == ("thé", "café")
    (tmp_path / "list.txt").write_bytes("thé\ncafé\n".encode("latin-1"))
    assert load_catalogue(tmp_path / "list.txt").items == ("thé", "café")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"party,item\na,x\nb,x,y\n", "a.csv: row 2: expected 2 values, found 3: 'b,x,y'"),
        ("a.csv", b"party;item\na;x\n\nb\n", "a.csv: row 2: expected 2 values, found 1: 'b' .*separated by ';'"),
        ("a.csv", b"item,item\na,x\n", "a.csv: expected one column 'item', found 2"),
        ("a.csv.gz", b"item\nx\n", "ends in .gz, but is no gzip file"),
        ("a.csv.gz", gzip.compress(b"item\nx\n" * 99, mtime=0)[:-9], "a.csv.gz: does not read as CSV"),
        ("a.csv", gzip.compress(b"item\nx\n", mtime=0), "ends in .csv, but is a gzip file"),
        ("a.xlsx", b"item\nx\n", "ends in .xlsx, but is no Excel or zip file"),
        ("a.gz", gzip.compress(b"item\nx\n", mtime=0), "found the ending '.gz'"),
        ("a.jsonl", b'{"item": "x"}\n{"item": 7}\n', "a.jsonl: row 2: expected a text in 'item', as in row 1, found 7"),
        ("a.jsonl", b'{"item": "x"}\n[1]\n', r"a.jsonl: row 2: expected a JSON object on each line, found \[1\]"),
        ("a.jsonl", b"item,users\n", "a.jsonl: row 1: expected a JSON object on each line, found item,users"),
        ("a.jsonl", '{"item": "x"}\n'.encode("utf-16"), "a.jsonl: JSON lines are in UTF-8, found utf-16"),
        ("a.arrow", b"nothing of the kind", "a.arrow: is no Arrow or Feather file, or a damaged one"),
        ("a.csv", b"", "a.csv: expected the names of the columns in its first line, found an empty file"),
        ("a.csv", b"\n\n", "a.csv: expected the names of the columns in its first line, found an empty file"),
        ("a.csv", b"party,item", "a.csv: expected one row at least, found an empty table"),
        ("a.csv", b"\x89PNG\r\n\x81,\n1,2\n", "a.csv: line 1: expected text in utf-8, found the byte 0x89"),
        ("a.csv", "item\nthé\ncafé,x\n".encode("cp1252"), "a.csv: row 2: expected 1 values, found 2: 'café,x'"),
        (
            "a.csv",
            b'party,item\na,x\na,"y\nb,x\n',
            "a.csv: row 2: expected a quote at the end of the value that begins",
        ),
        ("a.csv", b"party^item\na^x\n", "found party.item; .*; --delimiter .* says what stands between two values"),
        ("a.csv", b"party, item\na, x\n", "a.csv: expected the column 'item' .*, found party, ' item'"),
        ("a.csv", b"item,users\nx,1_000\n", "a.csv: row 1: expected a whole number of users from 0, found 1_000"),
        ("a.csv", b"item,users\nx,\n", "a.csv: row 1: .* found none; --drop-missing"),
        ("a.csv", b"party,item,users\na,x,0\n", "a.csv: party 'a' is empty: expected one user at least, found none"),
        ("a.csv", b",".join(b"c%d" % n for n in range(99)) + b"\n", "c0, c1, .*, c11 and 87 others; --item-column"),
    ],
)
def test_what_does_not_read_is_said_with_file_and_row(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=reason) as refusal:
        load(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_texts_that_look_like_something_else_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"item": "2024-01-01"}\n{"item": "007"}\n{"item": "null"}\n')
    assert load(tmp_path / "a.jsonl").items == ["007", "2024-01-01", "null"]
    (tmp_path / "b.csv").write_text('item;note\n"x;y\nz";1\nNA;2\n')
    assert load(tmp_path / "b.csv").items == ["NA", "x;y\nz"]
    assert load(tmp_path / "b.csv", delimiter="semicolon").items == ["NA", "x;y\nz"]
    for delimiter in ("::", "", "é", '"', "\n"):
        with refused("delimiter_malformed", InvalidInput, delimiters="tab, \\t, comma, semicolon, pipe, space"):
            load(tmp_path / "b.csv", delimiter=delimiter)


def test_quotes_that_end_and_letters_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('item,note\n5" disk,1\nx,"two\nlines"\n')
    assert load(tmp_path / "a.csv").items == ['5" disk', "x"]
    with refused("text_in_another_encoding", InvalidInput, encoding="utf-16"):
        load(tmp_path / "a.csv", file_encoding="utf-16")


def test_what_cannot_be_opened_is_said_without_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("file_unreadable", InvalidInput, reason="File name too long"):
        load(tmp_path / ("a" * 5000 + ".csv"))
    with refused("file_missing", InvalidInput, found="something that is no file"):
        load("/dev/null")
    with refused("file_elsewhere", InvalidInput):
        load("https://treetop.example/a.csv")
    (tmp_path / "a.csv").write_text("item\nx\n")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / "a.csv"))

    monkeypatch.setattr(Path, "open", denied)
    with refused("file_unreadable", InvalidInput, reason="Permission denied"):
        load(tmp_path / "a.csv")


def test_progress_is_told_with_rows_and_share_over_all_files(tmp_path: Path) -> None:
    said: list[tuple[int, float]] = []
    options = ReadOptions(progress=lambda rows, share: said.append((rows, share)))
    for name in ("a.csv", "b.csv.gz"):
        content = ("item\n" + "x\n" * 4_000_000 if name == "a.csv" else "item\nx\n").encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    federation_named([str(tmp_path / "a.csv"), str(tmp_path / "b.csv.gz")], options)
    assert said[-1] == (1, 1.0)
    assert said[-2] == (4_000_000, 0.5)
    assert [share for _, share in said] == sorted(share for _, share in said)


def test_a_table_of_any_kind_is_a_catalogue(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
        assert set(load_catalogue(tmp_path / name).items) == {"x", "y"}
