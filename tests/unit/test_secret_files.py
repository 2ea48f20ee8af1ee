"""Files for their owner alone, whatever the umask, from before their first byte."""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
import pytest

from treetop import secret_files
from treetop.adapters.relational.commit_numbers import Opening
from treetop.adapters.report_files.sealed_file import ReportFileWriter, ReportKind
from treetop.adapters.sqlite import database, fleet_ledger
from treetop.adapters.sqlite.database import SqliteDatabase
from treetop.adapters.sqlite.fleet_ledger import FleetLedger
from treetop.adapters.system.durable_file import DeviceState, create_durably, replace_durably
from treetop.adapters.system.key_files import SigningKey
from treetop.errors import InvalidInput
from treetop.secret_files import check_private, make_private, open_private, private_folder, read_secret


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def empty_ones(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every file that is made, with the mode that it has while it is still empty."""
    made, original = list[tuple[str, int]](), os.open

    def watched(path: str, flags: int, mode: int = 0o777) -> int:
        handle = original(path, flags, mode)
        found = os.fstat(handle)
        if flags & os.O_CREAT and found.st_size == 0:
            made.append((Path(path).name, stat.S_IMODE(found.st_mode)))
        return handle

    monkeypatch.setattr(os, "open", watched)
    return made


def report_once(folder: Path) -> None:
    with closing(DeviceState(folder / "me")) as device:
        device.note(b"task", "name", "sent", "accepted")


def play_a_fleet(folder: Path) -> None:
    with closing(FleetLedger(folder / "ledger")) as ledger:
        ledger.claim("population", "everybody")


WRITTEN: dict[str, Callable[[Path], object]] = {
    "replaced": lambda folder: replace_durably(folder / "file", b"content"),
    "created": lambda folder: create_durably(folder / "file", b"content"),
    "signing key": lambda folder: SigningKey.generate().save(folder / "file"),
    "device": report_once,
    "store": lambda folder: SqliteDatabase(folder / "store", Opening()).close(),
    "fleet": play_a_fleet,
}


@pytest.mark.parametrize("what", WRITTEN)
def test_no_file_is_open_to_others_while_it_is_empty(
    tmp_path: Path, what: str, umask: int, empty_ones: list[tuple[str, int]]
) -> None:
    os.chmod(tmp_path, 0o700)
    WRITTEN[what](tmp_path)
    assert empty_ones
    assert all(mode & 0o077 == 0 for _, mode in empty_ones)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert made
    assert {mode_of(path) for path in made} == {0o600}
    assert all(mode_of(path) == 0o700 for path in tmp_path.rglob("*") if path.is_dir())


@pytest.mark.parametrize("module", [database, fleet_ledger])
def test_a_database_is_private_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object
) -> None:
    seen, original = list[int](), sqlite3.connect

    def watched(path: Path, *arguments: object, **options: object) -> sqlite3.Connection:
        seen.append(mode_of(path))
        return original(path, *arguments, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", watched)
    os.umask(0)
    try:
        path = tmp_path / "file"
        opened = SqliteDatabase(path, Opening()) if module is database else FleetLedger(path)
        assert {mode_of(path) for path in tmp_path.iterdir()} == {0o600}  # the log and the index too
        opened.close()
    finally:
        os.umask(0o077)
    assert set(seen) == {0o600}


def test_a_report_file_is_private_before_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, original = list[int](), pq.ParquetWriter

    def watched(file: IO[bytes], *arguments: object, **options: object) -> object:
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        return original(file, *arguments, **options)

    monkeypatch.setattr(pq, "ParquetWriter", watched)
    os.umask(0)
    try:
        with ReportFileWriter(tmp_path / "reports", ReportKind("ab" * 32, 1, "krr", 5)):
            pass
    finally:
        os.umask(0o077)
    assert seen == [0o600]
    assert mode_of(tmp_path / "reports") == 0o600


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path) -> None:
    for path in (tmp_path / "store", tmp_path / "log"):
        path.touch()
        path.chmod(0o644)
    make_private(tmp_path / "store")
    open_private(tmp_path / "log", "ab").close()
    assert {mode_of(path) for path in tmp_path.iterdir()} == {0o600}


def test_no_link_is_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    replace_durably(path, b"content")
    assert (path.read_bytes(), path.is_symlink(), victim.read_bytes()) == (b"content", False, b"precious")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "link", "wb")
    with pytest.raises(InvalidInput, match="exists already"):
        create_durably(tmp_path / "link", b"")
    assert victim.read_bytes() == b"precious"


def test_what_a_crash_left_beside_a_ledger_is_gone_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / f".ledger.{'0a' * 8}.partial").write_bytes(b"half")
    with closing(DeviceState(tmp_path)):
        assert [path.name for path in tmp_path.iterdir()] == ["ledger.lock"]


def test_a_store_may_be_a_link_to_another_disk(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "far")
    make_private(tmp_path / "link")
    assert mode_of(tmp_path / "far") == 0o600


def test_folders_are_private_with_all_that_lead_to_them(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o755)
    os.umask(0)
    try:
        private_folder(tmp_path / "there" / "a" / "b")
        private_folder(tmp_path / "there" / "a" / "b")
    finally:
        os.umask(0o077)
    modes = [mode_of(tmp_path / place) for place in ("there", "there/a", "there/a/b")]
    assert modes == [0o755, 0o700, 0o700]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o644, 0o666])
def test_a_secret_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a key"
    path.write_bytes(b"canary")
    path.chmod(0o600)
    assert read_secret(path) == b"canary"
    path.chmod(mode)
    for refuse in (read_secret, check_private):
        with pytest.raises(InvalidInput, match=f"expected mode 600, found {mode:o}: chmod 600 '.*a key'") as refused:
            refuse(path)
        assert "canary" not in str(refused.value)
    path.chmod(0o400)
    check_private(path)


def test_new_folders_are_flushed_into_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power cut could take a device's ledger with its folder, and the device would answer again."""
    flushed: list[Path] = []
    monkeypatch.setattr(secret_files, "flush_folder", flushed.append)
    private_folder(tmp_path / "one" / "two")
    assert flushed == [tmp_path, tmp_path / "one"]
    private_folder(tmp_path / "one" / "two")
    assert len(flushed) == 2
