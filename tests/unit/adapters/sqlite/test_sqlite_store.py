"""What only a SQLite store has: one owner, a file with its last commit, secure deletion, no silent damage."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.reports import FIRST, OTHER, SECOND, TASK, report, reports

from treetop.adapters.relational.commit_numbers import Opening
from treetop.adapters.relational.tables import StoreState
from treetop.adapters.sqlite.database import SqliteRows
from treetop.adapters.store_choice import open_stores
from treetop.errors import InvalidInput, StoreDamaged, StoreRefused, StoreUnavailable, TreetopError
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.uploads import ReportStatus

Everything = tuple[object, ...]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "party.db"


def filled(path: Path) -> None:
    """Two tasks, two closed groups, an open one, an enrolment, a journal."""
    store, journal = open_stores(str(path))
    for task in (TASK, OTHER):
        store.add_task(task, b"document " + task)
    store.issue_tickets(TASK, 2000)
    store.submit(reports(range(600)) + reports(range(600, 900), SECOND))
    store.submit(reports(range(50), task=OTHER))
    store.enrol(OTHER, range(0, 900, 3))
    store.close_enrolment(OTHER)
    for group in (FIRST, SECOND):
        store.close_group(TASK, group)
    for number in range(40):
        journal.write(f"query {number % 3}", f"message {number}", bytes([number]) * 50)
    store.close()


def everything(path: Path) -> Everything:
    """All that a party would ever act on."""
    store, journal = open_stores(str(path))
    try:
        return (
            list(store.tasks().items()),
            [(store.tickets_issued(task), list(store.counts(task).items())) for task in (TASK, OTHER)],
            [list(store.bodies(TASK, group)) for group in (FIRST, SECOND)],
            store.close_enrolment(OTHER),
            list(store.enrolled(OTHER)),
            [(book, list(journal.read(book).items())) for book in journal.books()],
        )
    finally:
        store.close()


def flips(size: int, count: int, seed: int) -> Iterator[tuple[int, int]]:
    randomness = np.random.default_rng(seed)
    for _ in range(count):
        yield int(randomness.integers(size)), 1 << int(randomness.integers(8))


def flipped_results(path: Path, expected: Everything, count: int, seed: int) -> dict[str, int]:
    """Flip one bit at a time; return how often the result was equal, refused, or silently another."""
    whole = path.read_bytes()
    seen = {"equal": 0, "refused": 0, "different": 0}
    for place, bit in flips(len(whole), count, seed):
        damaged = bytearray(whole)
        damaged[place] ^= bit
        for beside in (".commit", "-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        path.write_bytes(damaged)
        try:
            seen["equal" if everything(path) == expected else "different"] += 1
        except (StoreDamaged, StoreRefused, StoreUnavailable):
            seen["refused"] += 1
    return seen


def test_no_bit_flip_gives_another_result(path: Path) -> None:
    filled(path)
    seen = flipped_results(path, everything(path), 150, seed=1)
    assert seen["different"] == 0
    assert seen["refused"] > 15  # the test has teeth: most of the file is content


@pytest.mark.slow
def test_no_bit_flip_of_a_thousand_gives_another_result(path: Path) -> None:
    filled(path)
    assert flipped_results(path, everything(path), 1000, seed=2)["different"] == 0


def test_a_truncated_file_is_refused(path: Path) -> None:
    filled(path)
    expected, whole = everything(path), path.read_bytes()
    for pages in range(0, len(whole) // 4096, 3):
        path.write_bytes(whole[: pages * 4096 + 100])
        with pytest.raises(TreetopError):
            assert everything(path) == expected


def test_damage_names_the_task(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE body SET content = x'00' WHERE serial = 17")
    connection.close()
    store, _ = open_stores(str(path))
    with pytest.raises(StoreDamaged, match="report of ticket") as damage:
        list(store.bodies(TASK, FIRST))
    assert damage.value.task == TASK.hex()
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM body WHERE serial = 3",
        "DELETE FROM spent WHERE slot = (SELECT min(slot) FROM spent)",
        "UPDATE body SET serial = 1700 WHERE serial = 17",
        "UPDATE collection SET reports = 599 WHERE reports = 600",
        "UPDATE collection SET level = 9 WHERE reports = 600",
        "DELETE FROM collection WHERE reports = 600",
        "DELETE FROM task WHERE number = 2",
        "UPDATE task SET tickets = 0",
        "UPDATE document SET content = x'00' WHERE task = 1",
        "DELETE FROM enrolled WHERE slot = (SELECT max(slot) FROM enrolled)",
        "DELETE FROM entry WHERE number = 14",
        "UPDATE entry SET content = x'00' WHERE number = 2",
        "DELETE FROM book WHERE number = 3",
        "UPDATE store SET tasks = 1",
        "DELETE FROM store",
    ],
)
def test_rows_changed_behind_the_store_are_found(path: Path, change: str) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(change).rowcount > 0
    connection.close()
    with pytest.raises(StoreDamaged):
        everything(path)


def test_a_second_owner_is_refused(path: Path) -> None:
    store, _ = open_stores(str(path))
    program = f"from treetop.adapters.store_choice import open_stores; open_stores({str(path)!r})"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "another process owns it" in other.stderr
    with pytest.raises(StoreRefused, match="another process owns it"):
        open_stores(str(path))
    store.close()
    open_stores(str(path))[0].close()


def backed_up(path: Path, folder: Path) -> Path:
    return Path(shutil.copy(path, folder / "backup.db"))


def test_an_older_backup_is_refused_unless_wanted(path: Path, tmp_path: Path) -> None:
    filled(path)
    backup = backed_up(path, tmp_path)
    store, _ = open_stores(str(path))
    store.submit([report(1000, task=OTHER)])
    store.close()
    shutil.copy(backup, path)
    with pytest.raises(StoreRefused, match="probably a restored backup"):
        open_stores(str(path))
    store, _ = open_stores(str(path), Opening(accept_older=True))
    assert store.submit([report(1000, task=OTHER)]) == [ReportStatus.ACCEPTED]
    store.close()
    open_stores(str(path))[0].close()
    shutil.copy(backup, path)
    with pytest.raises(StoreRefused, match="older"):
        open_stores(str(path))


@pytest.mark.parametrize("commit", ["submit", "close_group", "journal"])
def test_a_backup_from_before_any_commit_is_older(path: Path, tmp_path: Path, commit: str) -> None:
    """Even one that was taken since the store was opened: what was spent, closed or said stays so."""
    store, journal = open_stores(str(path))
    store.add_task(TASK, b"")
    source = sqlite3.connect(path)
    copy = sqlite3.connect(tmp_path / "backup.db")
    source.backup(copy)
    copy.close()
    source.close()
    if commit == "submit":
        store.submit([report(1)])
    elif commit == "close_group":
        store.close_group(TASK, FIRST)
    else:
        journal.write("query", "one", b"1")
    store.close()
    shutil.copy(tmp_path / "backup.db", path)
    with pytest.raises(StoreRefused, match=r"is older \(commit 2\) than the one .* last open here \(commit [34]\)"):
        open_stores(str(path))


def test_what_was_accepted_is_told(path: Path, tmp_path: Path) -> None:
    told: list[tuple[str, dict[str, object]]] = []
    opening = Opening("party 'north'", accept_older=True, say=lambda event, **fields: told.append((event, fields)))
    open_stores(str(path), opening)[0].close()
    backup = backed_up(path, tmp_path)
    open_stores(str(path), opening)[0].close()
    assert told == []
    shutil.copy(backup, path)
    open_stores(str(path), opening)[0].close()
    ((event, fields),) = told
    assert (event, fields["store"]) == ("older_store_accepted", str(path))
    assert "it is older (commit 1)" in str(fields["why"])


def test_reading_is_no_commit(path: Path) -> None:
    filled(path)
    remembered = path.with_name("party.db.commit")
    store, journal = open_stores(str(path))
    before = remembered.read_bytes()
    store.counts(TASK)
    list(store.bodies(TASK, FIRST))
    store.submit(reports(range(5)))  # all replayed
    journal.read("query 1")
    assert remembered.read_bytes() == before
    store.issue_tickets(TASK, 1)
    assert int(remembered.read_bytes().split()[0]) == int(before.split()[0]) + 1
    store.close()


def test_another_store_in_its_place_is_refused(path: Path, tmp_path: Path) -> None:
    """One with more commits, too, and a new one after the old one was deleted."""
    open_stores(str(path))[0].close()
    filled(tmp_path / "other.db")
    shutil.copy(tmp_path / "other.db", path)
    with pytest.raises(StoreRefused, match="not the store that was last open here"):
        open_stores(str(path))
    path.unlink()
    with pytest.raises(StoreRefused, match="not the store that was last open here"):
        open_stores(str(path))


def test_a_store_put_back_while_it_is_open_takes_nothing(path: Path) -> None:
    store, _ = open_stores(str(path))
    store.add_task(TASK, b"")
    store.submit([report(1)])
    connection = store._database._connection  # type: ignore[attr-defined]  # below the port
    older = StoreState(*connection.execute("SELECT * FROM store").fetchone()[:-1])._replace(commits=2)
    SqliteRows(connection).save(older)
    with pytest.raises(StoreUnavailable, match="was put back to commit 2 while it was open at commit 4"):
        store.submit([report(2)])
    assert store.counts(TASK) == {FIRST: 1}
    store.close()


def test_a_named_commit_file_is_used(path: Path, tmp_path: Path) -> None:
    elsewhere = Opening(commit_file=tmp_path / "another" / "disk" / "store.commit")
    open_stores(str(path), elsewhere)[0].close()
    backup = backed_up(path, tmp_path)
    open_stores(str(path), elsewhere)[0].close()
    assert not path.with_name("party.db.commit").exists()
    shutil.copy(backup, path)
    with pytest.raises(StoreRefused, match="older"):
        open_stores(str(path), elsewhere)


def test_a_damaged_commit_file_is_named(path: Path) -> None:
    open_stores(str(path))[0].close()
    path.with_name("party.db.commit").write_bytes(b"many")
    with pytest.raises(StoreRefused, match=r"party\.db\.commit should hold the number of its last commit"):
        open_stores(str(path))


def test_another_owners_store_is_refused(path: Path) -> None:
    north, south = Opening("party 'north'"), Opening("party 'south'", accept_older=True)
    open_stores(str(path))[0].close()  # to look into it is not to own it
    open_stores(str(path), north)[0].close()
    open_stores(str(path), north)[0].close()
    for other in (south, Opening("a server")):
        with pytest.raises(StoreRefused, match=f"it belongs to party 'north', and this is {other.owner}"):
            open_stores(str(path), other)
    open_stores(str(path))[0].close()


def test_no_other_name_gives_a_second_owner(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "linked.db").symlink_to(path)
    (tmp_path / "folder").symlink_to(tmp_path)
    store, _ = open_stores(str(path))
    for name in ("party.db", "./link/../party.db", "link/linked.db", "folder/party.db"):
        with pytest.raises(StoreRefused, match="another process owns it"):
            open_stores(name)
    (tmp_path / "hard.db").hardlink_to(path)
    for name in ("hard.db", "party.db"):
        with pytest.raises(StoreRefused, match="another process owns it|another name"):
            open_stores(name)
    store.close()
    with pytest.raises(StoreRefused, match=r"another name \(a hard link\)"):
        open_stores("hard.db")
    (tmp_path / "hard.db").unlink()
    open_stores("link/linked.db")[0].close()
    assert path.with_name("party.db.commit").exists()
    assert not (tmp_path / "link" / "linked.db.commit").exists()


def test_a_file_moved_into_an_open_stores_place_has_no_second_owner(path: Path, tmp_path: Path) -> None:
    filled(tmp_path / "other.db")
    store, _ = open_stores(str(path))
    (tmp_path / "other.db").replace(path)
    with pytest.raises(StoreRefused, match="another process owns it"):
        open_stores(str(path))
    store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="locks of the file itself are taken on Linux")
def test_the_file_itself_is_locked(path: Path) -> None:
    """As seen through another mount, where the name and the lock beside it are others."""
    store, _ = open_stores(str(path))
    program = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", program, str(path)]
    assert b"BlockingIOError" in subprocess.run(command, capture_output=True, check=False).stderr
    store.close()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_only_its_owner_reads_a_new_store(path: Path) -> None:
    filled(path)
    store, _ = open_stores(str(path))
    store.issue_tickets(TASK, 1)
    for name in ("party.db", "party.db-wal", "party.db-shm"):
        assert path.with_name(name).stat().st_mode & 0o777 == 0o600
    store.close()


def test_other_versions_and_other_databases_are_refused(path: Path, tmp_path: Path) -> None:
    open_stores(str(path))[0].close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match="expected version 3 of its tables, found 2"):
        open_stores(str(path))
    assert path.read_bytes() == before
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE guests (name TEXT)")
    foreign.close()
    with pytest.raises(StoreRefused, match="database of something else"):
        open_stores(str(tmp_path / "foreign.db"))
    (tmp_path / "text.db").write_bytes(b"This is no database at all. " * 100)
    with pytest.raises(StoreRefused):
        open_stores(str(tmp_path / "text.db"))


def test_scrubbed_bodies_are_nowhere_in_the_files(path: Path) -> None:
    store, _ = open_stores(str(path))
    store.add_task(TASK, b"")
    canary = b"CANARY-CANARY-CANARY"
    store.submit([AdmittedReport(TASK, serial, FIRST, canary + bytes([serial])) for serial in range(200)])
    store.close_group(TASK, FIRST)
    files = [path, path.with_name("party.db-wal")]
    assert any(canary in file.read_bytes() for file in files)
    store.scrub(TASK, FIRST)
    assert not any(canary in file.read_bytes() for file in files if file.exists())
    store.close()


def test_a_reader_delays_the_scrubbing_of_the_log_only(path: Path) -> None:
    store, _ = open_stores(str(path))
    store.add_task(TASK, b"")
    canary = b"CANARY-CANARY-CANARY"
    store.submit(
        [*(AdmittedReport(TASK, serial, FIRST, canary) for serial in range(9)), *reports(range(10, 9999), SECOND)]
    )
    for group in (FIRST, SECOND):
        store.close_group(TASK, group)
    reading = store.bodies(TASK, SECOND)
    seen = len(next(reading))
    store.scrub(TASK, FIRST)
    log = path.with_name("party.db-wal")
    assert canary in log.read_bytes()
    assert seen + sum(map(len, reading)) == 9989
    store.issue_tickets(TASK, 1)
    assert canary not in path.read_bytes() + log.read_bytes()
    store.close()


def test_a_closed_store_and_wrong_words_are_refused(path: Path) -> None:
    store, journal = open_stores(str(path))
    store.add_task(TASK, b"")
    with pytest.raises(InvalidInput, match="serial numbers run from 0"):
        store.submit([report(1 << 40)])
    with pytest.raises(InvalidInput, match="serial numbers run from 0"):
        store.enrol(TASK, [-1])
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        journal.read("query")
    with pytest.raises(InvalidInput, match="expected the path of an SQLite file or postgresql://"):
        open_stores("mysql://user:secret@host/database")
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_stores(str(path / "in" / "no" / "folder.db"))


def test_every_commit_waits_for_the_disk(path: Path) -> None:
    """What a power cut would show is settled by these settings; `kill -9` cannot tell."""
    store, _ = open_stores(str(path))
    connection = store._database._connection  # type: ignore[attr-defined]  # below the port
    found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    assert found == {"journal_mode": "wal", "synchronous": 2}
    assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
    store.close()
