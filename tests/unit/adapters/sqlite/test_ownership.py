"""A path that is no store keeps its mode, and nothing is made beside it."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from treetop.adapters.relational.commit_numbers import Opening
from treetop.adapters.sqlite.database import SqliteDatabase
from treetop.adapters.sqlite.fleet_ledger import FleetLedger
from treetop.errors import TreetopError


def a_text(path: Path) -> None:
    path.write_bytes(b"root:x:0:0\n" * 100)


def a_short_text(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE precious (value)")


def a_device(path: Path) -> None:
    """As /dev/null is; only root can make one."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


@pytest.mark.parametrize("opened", [
    lambda path: SqliteDatabase(path, Opening()), FleetLedger,
], ids=["store", "fleet"])  # fmt: skip
@pytest.mark.parametrize("make", [a_text, a_short_text, a_pipe, a_folder, a_database, a_device])
def test_what_is_no_store_keeps_its_mode(
    tmp_path: Path, make: Callable[[Path], None], opened: Callable[[Path], object]
) -> None:
    path = tmp_path / "victim"
    make(path)
    path.chmod(0o666)
    with pytest.raises((TreetopError, OSError)):
        opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert [each.name for each in tmp_path.iterdir()] == ["victim"]


@pytest.mark.parametrize("fleet", [False, True])
def test_a_private_database_of_something_else_is_left_alone(tmp_path: Path, fleet: bool) -> None:
    path = tmp_path / "victim"
    a_database(path)
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(TreetopError):
        FleetLedger(path) if fleet else SqliteDatabase(path, Opening())
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_schema").fetchall() == [("precious",)]
    assert fleet or path.read_bytes() == before


def test_an_empty_file_and_a_store_are_made_private(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.touch()
    for _ in range(2):
        path.chmod(0o644)
        SqliteDatabase(path, Opening()).close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("ours", [True, False])
def test_a_checkpoint_that_was_cut_leaves_a_store(tmp_path: Path, ours: bool) -> None:
    """Other pages were copied from the log before the first one, which has the mark."""
    path, cut = tmp_path / "store", tmp_path / "cut"
    cut.mkdir()
    if ours:
        SqliteDatabase(path, Opening()).close()
    else:
        a_database(path)
    whole = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA user_version = 3")  # writes page 1 to the log
        for each in tmp_path.glob("store*"):
            if each.is_file():
                shutil.copy(each, cut / each.name)
    (cut / "store").write_bytes(whole[:68] + bytes(4) + whole[72:])
    (cut / "store").chmod(0o644)
    if ours:
        SqliteDatabase(cut / "store", Opening()).close()
    else:
        with pytest.raises(TreetopError):
            SqliteDatabase(cut / "store", Opening())
        assert stat.S_IMODE((cut / "store").stat().st_mode) == 0o644


def test_a_store_that_was_killed_before_its_first_checkpoint_opens(tmp_path: Path) -> None:
    """Its file is one page without a mark still, and the tables are in the log."""
    store = SqliteDatabase(tmp_path / "store", Opening())
    (tmp_path / "copy").mkdir()
    for path in tmp_path.glob("store*"):
        shutil.copy(path, tmp_path / "copy" / path.name)
    store.close()
    SqliteDatabase(tmp_path / "copy" / "store", Opening()).close()
