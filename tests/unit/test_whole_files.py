"""One writer for every file that is replaced: no name to guess, no link followed, whole or not there."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa
import pytest
from tests.support.refusals import refused

from treetop import whole_files
from treetop.adapters.report_files.sealed_file import ReportFileWriter, ReportKind
from treetop.adapters.system.durable_file import replace_durably
from treetop.answers.result_files import checked_output, write_result
from treetop.audit.checks import AuditReport
from treetop.audit.documents import Circumstances, write_document
from treetop.cli.output import write_output
from treetop.datasets.loading import write_histograms
from treetop.errors import InvalidInput
from treetop.whole_files import check_writable, remove_partials, write_whole, written_whole

TABLE = pa.table({"party": ["a"], "item": ["b"], "users": [3]})


def reports(path: Path) -> None:
    with ReportFileWriter(path, ReportKind("ab" * 32, 1, "krr", 5)) as writer:
        writer.append(np.array([1, 2], np.uint8))


WRITERS: dict[str, Callable[[Path], object]] = {
    "result.csv": lambda path: write_result(path, TABLE, {}, ""),
    "result.parquet": lambda path: write_result(path, TABLE, {}, ""),
    "result.json": lambda path: write_result(path, TABLE, {}, ""),
    "result.html": lambda path: write_result(path, TABLE, {}, ""),
    "screen.txt": lambda path: write_output(path, {}, lambda: None),
    "plain.json": lambda path: write_output(path, {}, lambda: None),
    "audit.md": lambda path: write_document(AuditReport(()), Circumstances.here("nothing"), path),
    "histograms.parquet": lambda path: write_histograms(TABLE, path),
    "run.json": lambda path: write_whole(path, b"{}"),
    "ledger": lambda path: replace_durably(path, b"content"),
    "reports.parquet": reports,
}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every file that is made, with the flags it was opened with."""
    made, original = list[tuple[str, int]](), os.open

    def watched(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            made.append((Path(path).name, flags))
        return original(path, flags, mode)

    monkeypatch.setattr(os, "open", watched)
    return made


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_makes_a_file_of_a_name_that_nobody_can_guess(
    tmp_path: Path, name: str, opened: list[tuple[str, int]]
) -> None:
    for _ in range(2):
        WRITERS[name](tmp_path / name)
    assert all(flags & os.O_EXCL and flags & os.O_NOFOLLOW for _, flags in opened)
    names = [made for made, _ in opened]
    assert len(names) >= 2
    assert len(names) == len(set(names))
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_no_writer_follows_a_link(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one in the place of the file, nor one under the partial name, even if somebody could guess that."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / name).symlink_to(victim)
    WRITERS[name](tmp_path / name)
    assert not (tmp_path / name).is_symlink()
    for guess in (f".{name}.partial", f"{name}.new", f".{name}.{os.getpid()}.partial", f".{name}.guess.partial"):
        (tmp_path / guess).symlink_to(victim)
    WRITERS[name](tmp_path / name)
    monkeypatch.setattr(whole_files, "token_hex", lambda _: "guess")
    with pytest.raises(Exception, match=r"exists|was not written|cannot"):
        WRITERS[name](tmp_path / name)
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / f".{name}.guess.partial").is_symlink()  # it is not ours to remove


def test_after_an_error_the_old_file_stays_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def interrupted() -> None:
        with written_whole(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"old"}


@pytest.mark.parametrize(("umask", "public"), [(0o000, 0o666), (0o022, 0o644), (0o077, 0o600)])
def test_the_umask_decides_about_results_and_not_about_secrets(tmp_path: Path, umask: int, public: int) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "result", b"")
        write_whole(tmp_path / "secret", b"", private=True)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"result": public, "secret": 0o600}


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "a" * 200])
def test_the_longest_name_that_a_folder_takes_can_be_written(tmp_path: Path, name: str) -> None:
    check_writable(tmp_path / name)
    write_whole(tmp_path / name, b"content")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_a_crash_left_is_removed_for_one_file_alone(tmp_path: Path) -> None:
    for name in ("ab" * 32 + "_level_1", "ab" * 32 + "_level_2", "x" * 250):
        (tmp_path / f"{whole_files._beginning(tmp_path / name)}{token_hex(8)}.partial").touch()
    remove_partials(tmp_path / ("ab" * 32 + "_level_1"))
    assert len(list(tmp_path.iterdir())) == 2
    remove_partials(tmp_path / ("x" * 250))
    assert [path.name[:74] for path in tmp_path.iterdir()] == ["." + "ab" * 32 + "_level_2."]


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.json")
    return folder / "pipe.json"


def a_closed_folder(folder: Path) -> Path:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (folder / "closed").mkdir(0o500)
    return folder / "closed" / "x.json"


@pytest.mark.parametrize(("place", "code"), [
    (lambda folder: folder / "missing" / "x.json", "output_folder_missing"),
    (lambda folder: folder / ("x" * 251 + ".json"), "output_name_too_long"),
    (lambda folder: folder / ("é" * 126 + ".json"), "output_name_too_long"),
    (a_pipe, "output_not_a_file"),
    (a_closed_folder, "output_folder_closed"),
    (lambda _: Path("/proc/x.json"), "output_folder_closed"),
], ids=["folder", "name", "letters", "pipe", "closed", "proc"])  # fmt: skip
def test_an_output_that_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, place: Callable[[Path], Path], code: str
) -> None:
    path = place(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with refused(code, InvalidInput):
        checked_output(path)
    assert sorted(tmp_path.rglob("*")) == before
