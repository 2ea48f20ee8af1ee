"""What is written is what is read; anything else is refused with the file's name."""

import json
import pickle
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.report_batches import KINDS, TASK, asking, random_reports, written

import treetop.adapters.report_files.sealed_file as writing
from treetop.adapters.report_files.counting import Candidates, count_file
from treetop.adapters.report_files.sealed_file import (
    CONTENTS,
    SEAL,
    ReportFile,
    ReportFileWriter,
    ReportKind,
    schema_of,
    to_arrays,
    unsealed,
)
from treetop.errors import InvalidInput, ReportFileRefused, UnknownName

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@EVERY
def test_what_is_written_is_read(kind: ReportKind, tmp_path: Path) -> None:
    columns = random_reports(kind, 4500)
    file = ReportFile.opened(written(tmp_path / "a.parquet", kind, columns), kind)
    assert [group.rows for group in file.groups] == [1000, 1000, 1000, 1000, 500]
    for place, expected in enumerate(columns):
        found = np.concatenate([file.columns(group)[place] for group in range(len(file.groups))])
        np.testing.assert_array_equal(found, expected)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_types_are_the_smallest_that_hold_the_slots() -> None:
    forms = {name: [str(form) for form in schema_of(kind).types] for name, kind in KINDS.items()}
    assert forms == {
        "krr": ["uint8"],
        "krr wide": ["uint16"],
        "oue": ["fixed_size_binary[6]"],
        "olh": ["uint32", "uint8"],
        "olh wide": ["uint32", "uint16"],
        "walsh": ["uint32", "uint8"],
    }


def test_a_file_without_reports_has_none(tmp_path: Path) -> None:
    file = written(tmp_path / "a.parquet", KINDS["krr"], [np.empty(0, dtype=np.uint8)])
    tally = count_file(file, asking(KINDS["krr"]))
    assert (tally.reports, tally.support.tolist()) == (0, [0] * 41)


def test_row_groups_are_small_whatever_is_appended(tmp_path: Path) -> None:
    kind = ReportKind(TASK, 1, "oue", 80_000)
    with ReportFileWriter(tmp_path / "a.parquet", kind) as writer:
        writer.append(np.zeros((1000, 10_000), dtype=np.uint8))
    assert [group.rows for group in ReportFile.opened(tmp_path / "a.parquet").groups] == [838, 162]


def written_then_refused(writer: ReportFileWriter) -> None:
    writer.append(np.zeros(10, dtype=np.uint8))
    writer.append(np.zeros(10, dtype=np.int64))


def test_a_failed_writer_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput), ReportFileWriter(tmp_path / "a.parquet", KINDS["krr"], 5) as writer:
        written_then_refused(writer)
    assert list(tmp_path.iterdir()) == []


def test_the_caller_may_use_an_appended_array_again(tmp_path: Path) -> None:
    slots = np.zeros(10, dtype=np.uint8)
    with ReportFileWriter(tmp_path / "a.parquet", KINDS["krr"]) as writer:
        writer.append(slots)
        slots[:] = 7
    assert count_file(tmp_path / "a.parquet", asking(KINDS["krr"])).support[0] == 10


@pytest.mark.parametrize(
    ("name", "columns", "problem"),
    [
        ("krr", [np.zeros(3, dtype=np.uint16)], "'slot' must be uint8"),
        ("oue", [np.zeros((3, 5), dtype=np.uint8)], r"'bits' must be uint8 in rows of shape"),
        ("olh", [np.zeros(3, dtype=np.uint32)], "expected 2 columns of one length"),
        ("olh", [np.zeros(3, dtype=np.uint32), np.zeros(2, dtype=np.uint8)], "expected 2 columns of one length"),
    ],
)
def test_arrays_of_another_type_are_not_written(name: str, columns: list[Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=problem), ReportFileWriter(tmp_path / "a.parquet", KINDS[name]) as writer:
        writer.append(*columns)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"oracle": "grr"}, "unknown oracle 'grr'"),
        ({"task": "coffee"}, "64 hexadecimal digits, found 'coffee'"),
        ({"slots": 1}, "krr has from 2 to 4194305 slots, found 1"),
        ({"oracle": "olh", "slots": 65537}, "olh has from 2 to 65536 slots, found 65537"),
        ({"oracle": "walsh", "slots": 9}, "walsh has a power of two from 2 to 4096 slots, found 9"),
        ({"level": 0}, "levels are counted from 1, found 0"),
        ({"domain": "none"}, "a domain is named by 64 hexadecimal digits, found 'none'"),
        ({"role": "guess"}, "unknown role 'guess'"),
    ],
)
def test_kinds_that_cannot_be_are_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        replace(KINDS["krr"], **changed)
    assert issubclass(UnknownName, InvalidInput)


def refused(path: Path, kind: ReportKind, problem: str) -> None:
    with pytest.raises(ReportFileRefused, match=problem) as refusal:
        count_file(path, asking(kind))
    assert refusal.value.path == str(path)
    assert "nothing was counted" in str(refusal.value)


@pytest.mark.parametrize(
    "change", [{"task": "0" * 64}, {"level": 4}, {"slots": 42}, {"oracle": "oue"}, {"domain": "1" * 64}]
)
def test_reports_of_another_task_level_or_oracle_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    kind = KINDS["krr"]
    path = written(tmp_path / "a.parquet", kind, random_reports(kind, 100))
    refused(path, replace(kind, **change), "kind: expected")


def forged(path: Path, table: pa.Table, metadata: dict[bytes, bytes]) -> Path:
    with pq.ParquetWriter(path, table.schema, compression="none") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    return path


def sealed_anew(text: bytes) -> dict[bytes, bytes]:
    return {CONTENTS: text, SEAL: sha256(text).hexdigest().encode()}


@pytest.fixture
def true_metadata(tmp_path: Path) -> dict[bytes, bytes]:
    path = written(tmp_path / "true.parquet", KINDS["krr"], random_reports(KINDS["krr"], 100))
    known = pq.read_metadata(path).metadata
    return {CONTENTS: known[CONTENTS], SEAL: known[SEAL]}


def table(**changes: Any) -> pa.Table:
    slots = pa.array(random_reports(KINDS["krr"], 100)[0])
    columns: dict[str, Any] = {"slot": slots} | changes
    return pa.table(columns, schema=pa.schema([pa.field(n, c.type, nullable=False) for n, c in columns.items()]))


def test_other_types_names_columns_and_row_groups_are_refused(
    tmp_path: Path, true_metadata: dict[bytes, bytes]
) -> None:
    slots = table()["slot"].combine_chunks()
    path = tmp_path / "forged.parquet"
    assert count_file(forged(path, table(), true_metadata), asking(KINDS["krr"])).reports == 100
    refused(forged(path, table(slot=slots.cast(pa.uint16())), true_metadata), KINDS["krr"], "schema: expected")
    refused(forged(path, table(more=slots), true_metadata), KINDS["krr"], "schema: expected")
    refused(forged(path, pa.table({"slot": slots}), true_metadata), KINDS["krr"], "schema: expected")  # nullable
    refused(forged(path, table(slot=slots[:99]), true_metadata), KINDS["krr"], "reports: expected 100, found 99")
    refused(forged(path, table(slot=slots[::-1]), true_metadata), KINDS["krr"], "checksum: expected")
    refused(forged(path, table()[:0], true_metadata), KINDS["krr"], "expected")


def test_metadata_must_be_ours_unchanged_and_of_this_format(tmp_path: Path, true_metadata: dict[bytes, bytes]) -> None:
    path, kind = tmp_path / "forged.parquet", KINDS["krr"]
    text = true_metadata[CONTENTS]
    refused(forged(path, table(), {}), kind, "not a file of reports")
    refused(forged(path, table(), {CONTENTS: text}), kind, "its metadata were changed")
    refused(forged(path, table(), true_metadata | {CONTENTS: text + b" "}), kind, "its metadata were changed")
    newer = json.dumps(json.loads(text) | {"format": 2}).encode()
    refused(forged(path, table(), sealed_anew(newer)), kind, "expected format 1, found 2")
    with pytest.raises(InvalidInput, match="not a file of reports"):
        unsealed(None)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("krr", [np.full(10, 41, dtype=np.uint8)]),
        ("oue", [np.full((10, 6), 255, dtype=np.uint8)]),
        ("olh", [np.zeros(10, dtype=np.uint32), np.full(10, 9, dtype=np.uint8)]),
    ],
)
def test_reports_outside_their_range_are_neither_written_nor_counted(
    name: str, columns: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, path = KINDS[name], tmp_path / "a.parquet"
    with pytest.raises(InvalidInput, match="outside the"):
        written(path, kind, columns)
    monkeypatch.setattr(writing, "refuse_out_of_range", lambda *_: None)
    refused(written(path, kind, columns), kind, "expected a|others set")


def test_files_that_are_missing_truncated_or_something_else_are_refused(tmp_path: Path) -> None:
    kind = KINDS["olh"]
    path = written(tmp_path / "a.parquet", kind, random_reports(kind, 1000))
    whole = path.read_bytes()
    for length in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(path, kind, "parquet: .+; nothing")
    path.write_bytes(b"slot\n1\n")
    refused(path, kind, "parquet: .+; nothing")
    refused(tmp_path / "missing.parquet", kind, "No such file")


@pytest.mark.parametrize("name", ["krr", "oue", "olh"])
def test_no_flipped_bit_changes_a_tally(name: str, tmp_path: Path) -> None:
    """Every 5th byte of a small file, one bit each: the file is refused, or the bit says nothing of the reports."""
    kind = KINDS[name]
    path = written(tmp_path / "a.parquet", kind, random_reports(kind, 60), rows_per_group=40)
    whole, truth = path.read_bytes(), count_file(path, asking(kind))
    refusals = 0
    for place in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            tally = count_file(path, asking(kind))
        except ReportFileRefused:
            refusals += 1
        else:
            assert (tally.reports, tally.support.tolist()) == (truth.reports, truth.support.tolist()), place
    assert refusals > len(whole) / 5 / 3


def test_a_missing_report_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a report is missing"):
        to_arrays(pa.table({"slot": pa.array([1, None], type=pa.uint8())}))


def test_keys_are_for_hashing_and_have_64_bits() -> None:
    with pytest.raises(InvalidInput, match="krr counts its slots and takes no keys, found 2"):
        Candidates(KINDS["krr"], np.zeros(2, dtype=np.uint64))
    with pytest.raises(InvalidInput, match="keys must be a row of uint64, found int64"):
        Candidates(KINDS["olh"], np.zeros(2, dtype=np.int64))


def test_a_refusal_travels_between_processes() -> None:
    refusal = pickle.loads(pickle.dumps(ReportFileRefused("a.parquet", "checksum")))  # noqa: S301  our own
    assert (refusal.path, str(refusal)) == ("a.parquet", "a.parquet: checksum; nothing was counted")
