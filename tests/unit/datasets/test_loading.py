import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.refusals import refused

from treetop.datasets.federation import Federation
from treetop.datasets.loading import as_federation, federation_named, histogram_rows, load, write_histograms
from treetop.errors import InvalidInput
from treetop.wording import Note

ROWS = {"party": ["a", "a", "b"], "item": ["x", "y", "x"], "users": [3, 1, 2]}
EXPECTED = {"a": {"x": 3, "y": 1}, "b": {"x": 2}}


def contents(federation: Federation) -> dict[str, dict[str, int]]:
    return {
        party.name: {federation.items[i]: int(n) for i, n in zip(party.items, party.users, strict=True)}
        for party in federation.parties
    }


def csv(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_csv_of_parties_items_and_users(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "party,item,users\na,x,3\na,y,1\nb,x,2\n"))
    assert contents(federation) == EXPECTED
    assert (federation.name, federation.notes, federation.users) == ("data", (), 6)


def test_without_users_every_row_is_one(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "item,party\nx,a\nx,a\ny,a\nx,b\n"))
    assert contents(federation) == {"a": {"x": 2, "y": 1}, "b": {"x": 1}}
    assert federation.notes == ()


def test_one_file_per_party(tmp_path: Path) -> None:
    one, two = csv(tmp_path, "item,users\nx,3\ny,1\n", "a.csv"), csv(tmp_path, "item\nx\nx\n", "b.csv")
    federation = load(one, two)
    assert contents(federation) == EXPECTED
    assert federation.name == "a+b"


def test_files_that_would_become_one_party_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    one, two = csv(tmp_path, "item\nx\n", "a.csv"), csv(tmp_path / "sub", "item\nx\n", "a.csv")
    with refused("files_named_alike", InvalidInput):
        load(one, two)


def test_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "words.parquet"
    pa.parquet.write_table(pa.table(ROWS), path)
    assert contents(load(path)) == EXPECTED


def test_integer_and_dictionary_items_are_text(tmp_path: Path) -> None:
    path = tmp_path / "ids.parquet"
    party = pa.array(["a", "a"]).dictionary_encode()
    pa.parquet.write_table(pa.table({"party": party, "item": [7, 8], "users": [1.0, 2.0]}), path)
    assert contents(load(path)) == {"a": {"7": 1, "8": 2}}


def test_items_are_taken_as_written(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, 'party,item,users\na,007,1\na,null,2\na,"x,y",3\na,1e3, 4 \n'))
    assert contents(federation) == {"a": {"007": 1, "null": 2, "x,y": 3, "1e3": 4}}


def test_repeated_rows_are_added_up_and_that_is_said(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "party,item,users\na,x,1\na,x,2\nb,x,2\na,y,1\n"))
    assert contents(federation) == EXPECTED
    assert federation.notes == (Note("rows_added_up", rows=1),)


def test_other_columns_are_ignored_and_that_is_said(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "party,item,day\na,x,1\n"))
    assert federation.notes == (Note("columns_ignored", file="data.csv", columns="day"),)


def test_rows_of_zero_users_hold_nothing(tmp_path: Path) -> None:
    assert contents(load(csv(tmp_path, "party,item,users\na,x,1\na,y,0\n"))) == {"a": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("party,thing\na,x\n", "expected the column 'item' (and 'party', 'users'), found party, thing"),
        ("party,item,users\na,1,\n", "row 1: expected a whole number of users from 0, found none"),
        ("party,item,users\na,x,1\na,y,-2\n", "row 2: expected a whole number of users from 0, found -2"),
        ("party,item,users\na,x,1.5\n", "row 1: expected a whole number of users from 0, found 1.5"),
        ("party,item,users\na,x,nan\n", "row 1: expected a whole number of users from 0, found nan"),
        ("party,item,users\na,x,1e30\n", "row 1: expected a whole number of users from 0, found 1e30"),
        ("party,item,users\na,x,many\n", "row 1: expected a whole number of users from 0, found many"),
        ("party,item,users\n,x,1\n", "row 1: expected a value for 'party', found none"),
        ("party,item,users\na,x,1\na,,1\n", "row 2: expected a value for 'item', found none"),
        ("party,item,users\na,x,1\nb,x,0\n", "party 'b' is empty: expected one user at least, found none"),
        ("party,item,users\n", "expected one row at least, found an empty table"),
        ("", "expected the names of the columns in its first line, found an empty file"),
        ("party,item,users\na,x\n", "row 1: expected 3 values, found 2"),
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(csv(tmp_path, text))


def test_files_that_are_not_what_their_ending_says(tmp_path: Path) -> None:
    assert "ends in .parquet, but is no Parquet file" in refusal(csv(tmp_path, "party,item\na,x\n", "data.parquet"))
    good = tmp_path / "good.parquet"
    pa.parquet.write_table(pa.table(ROWS), good)
    renamed = tmp_path / "data.csv"
    renamed.write_bytes(good.read_bytes())
    assert "ends in .csv, but is a Parquet file" in refusal(renamed)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good.read_bytes()[:100])
    assert "is a damaged Parquet file" in refusal(cut)
    assert "line 3: expected text in utf-8, found the byte 0xff" in refusal(
        _bytes(tmp_path, b"party,item\na,\xc3\xa9\na,\xff\xfe\n")
    )


def _bytes(folder: Path, content: bytes) -> Path:
    path = folder / "binary.csv"
    path.write_bytes(content)
    return path


def test_parties_with_nearly_the_same_name_are_pointed_out(tmp_path: Path) -> None:
    rows = "party,item\nnorth,x\nNorth ,x\nsouth,x\n"
    (note,) = load(csv(tmp_path, rows)).notes
    assert note == Note("parties_alike", parties=["North ", "north"])
    (note,) = load(csv(tmp_path, "party,uid,item\nnorth,1,x\n north,2,x\n"), user="uid").notes
    assert note == Note("parties_alike", parties=[" north", "north"])
    assert load(csv(tmp_path, "party,item\nnorth,x\nsouth,x\n")).notes == ()


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    assert "found a folder" in refusal(tmp_path)
    assert "found nothing there" in refusal(tmp_path / "nowhere.csv")
    assert "found the ending '.txt'" in refusal(csv(tmp_path, "x", "data.txt"))
    with refused("no_files", InvalidInput):
        load()


def test_null_and_float_columns_are_refused(tmp_path: Path) -> None:
    for column, values, message in (
        ("item", ["x", None], "row 2: expected a value for 'item'"),
        ("item", [1.5, 2.5], "column 'item' must hold text or integers, found double"),
        ("item", [b"\xff", b"x"], "column 'item' does not read as text"),
        ("users", [1, None], "row 2: expected a whole number of users from 0, found none"),
        ("users", [[1], [2]], "expected whole numbers in 'users'"),
    ):
        path = tmp_path / "bad.parquet"
        table: dict[str, Any] = {"party": ["a", "a"], "item": ["x", "y"], "users": [1, 1]}
        pa.parquet.write_table(pa.table({**table, column: values}), path)
        assert message in refusal(path)


@pytest.mark.parametrize(
    "data",
    [
        {"a": ["x", "x", "x", "y"], "b": ("x", "x")},
        {"a": {"x": 3, "y": 1}, "b": Counter(["x", "x"])},
        {"a": {"x": np.int64(3), "y": 1}, "b": iter(["x", "x"])},
        pa.table(ROWS),
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
    ],
    ids=["lists", "mappings", "numpy", "pyarrow", "pandas", "polars"],
)
def test_python_data_of_every_kind(data: Any) -> None:
    assert contents(as_federation(data)) == EXPECTED


def test_a_federation_is_taken_as_it_is() -> None:
    federation = as_federation({"a": ["x"]})
    assert as_federation(federation) is federation


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "federation_empty"),
        ({"a": []}, "party_empty"),
        ({"a": "word"}, "party_malformed"),
        ({"a": 5}, "party_malformed"),
        ({"a": {"x": 1.5}}, "item_users_malformed"),
        ({"a": {"x": -1}}, "item_users_malformed"),
        ({"a": {"x": True}}, "item_users_malformed"),
        ({"a": {None: 1}}, "item_users_malformed"),
        ({"a": {"x": 0}}, "party_empty"),
        (42, "data_of_unknown_kind"),
    ],
)
def test_bad_python_data_is_refused(data: Any, message: str) -> None:
    with refused(message, InvalidInput):
        as_federation(data)


def test_federations_by_name(tmp_path: Path) -> None:
    assert federation_named(["syn"]).name == "syn"
    assert federation_named(["syn:7"]).name == "syn:7"
    assert federation_named([str(csv(tmp_path, "item\nx\n"))]).name == "data"
    for words, message in ((["syn", "a.csv"], "whole federation of its own"), (["syn:x"], "syn:SEED")):
        with pytest.raises(InvalidInput, match=message):
            federation_named(words)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    whole = as_federation({"a": {"x": 3, "y": 1}, "b": {"y": 2}})
    write_histograms(histogram_rows(whole), tmp_path / "again.parquet")
    again = load(tmp_path / "again.parquet")
    assert [party.name for party in again.parties] == ["a", "b"]
    assert histogram_rows(again).equals(histogram_rows(whole))


def test_half_a_character_is_refused_in_one_line(tmp_path: Path) -> None:
    for data in ({"north": {"\ud800": 3}}, {"north\ud800": {"tea": 3}}):
        with refused("text_not_unicode", InvalidInput, found="\ud800"):
            as_federation(data)
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv"))
    path.write_text("party,item\nnorth,tea\n")
    with refused("path_not_utf8", InvalidInput):
        load(path)


def test_rows_are_added_up_exactly_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"party": ["b", "a", "b", "a"], "item": ["y", "x", "y", "z"], "users": [2**53 - 1, 5, 2**53 - 1, 0]}
    expected = {"a": {"x": 5}, "b": {"y": 2**54 - 2}}
    assert contents(as_federation(pa.table(rows))) == expected  # too many for sums of floats
    small = pa.table(rows | {"users": [3, 5, 4, 0]})
    for cells in (4, 0):  # a table of all cells, and groups
        monkeypatch.setattr("treetop.datasets.federation.CELLS_PER_ROW", cells)
        federation = as_federation(small)
        assert contents(federation) == {"a": {"x": 5}, "b": {"y": 7}}
        assert (federation.items, federation.notes) == (["x", "y"], (Note("rows_added_up", rows=1),))
        assert contents(as_federation(small.drop_columns(["users"]))) == {"a": {"x": 1, "z": 1}, "b": {"y": 2}}
