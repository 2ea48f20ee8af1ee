"""Stores killed, filled and restarted: nothing acknowledged is lost, nothing is counted twice (R1, R12)."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.databases import PostgresServer
from tests.support.reports import FIRST, SECOND, TASK, body_of, report, reports

from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.store_choice import open_stores
from treetop.errors import StoreRefused, StoreUnavailable
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.group_commit import GroupCommit

ROOT = Path(__file__).parents[2]
GAP = 10_000_000
"""Every round has its own serial numbers."""
PATIENCE = 120


class Loaded:
    """A child process under load, and what it acknowledged."""

    def __init__(self, where: str, first: int, log: Path) -> None:
        self.log = log
        with log.open("wb") as out:
            command = [sys.executable, "-m", "tests.support.loaded_store", where, str(first)]
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=out)

    def wait_for(self, lines: int) -> None:
        """Return once so many lines were written."""
        deadline = time.monotonic() + PATIENCE
        while self.log.read_bytes().count(b"\n") < lines:
            assert self.process.poll() is None, "the child ended by itself"
            assert time.monotonic() < deadline, "the child did not get on"
            time.sleep(0.002)

    def kill(self) -> set[int]:
        """Kill it in the middle of its work; return every serial number that it acknowledged in a whole line."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        whole = self.log.read_bytes().rpartition(b"\n")[0]
        return {int(line) for line in whole.splitlines() if line != b"ready"}


def check(store: RelationalReportStore, acknowledged: set[int]) -> int:
    """Count what is stored: every acknowledged report once, with its own body; return how many there are."""
    counts = store.counts(TASK)
    stored: dict[int, bytes] = {}
    for group, number in counts.items():
        assert store.close_group(TASK, group) == number
        bodies = [body for stretch in store.bodies(TASK, group) for body in stretch]
        assert len(bodies) == len(set(bodies)) == number
        stored |= {int.from_bytes(body[:5], "big"): body for body in bodies}
    expected = {int.from_bytes(body_of(serial)[:5], "big") for serial in acknowledged}
    assert expected <= stored.keys()
    assert len(stored) == sum(counts.values())
    return len(stored)


def kill_rounds(where: str, folder: Path, rounds: int, seed: int) -> set[int]:
    """Start, load, kill at a random moment, again and again; return all that was acknowledged."""
    moments = random.Random(seed)  # noqa: S311  moments, not secrets
    acknowledged: set[int] = set()
    for number in range(rounds):
        child = Loaded(where, number * GAP, folder / f"{number}.log")
        child.wait_for(1 + moments.randrange(200))
        time.sleep(moments.random() * 0.02)
        acknowledged |= child.kill()
    return acknowledged


def check_after_kills(path: Path, folder: Path, rounds: int, seed: int) -> None:
    acknowledged = kill_rounds(str(path), folder, rounds, seed)
    assert len(acknowledged) > rounds * 50
    store, _ = open_stores(str(path))
    assert check(store, acknowledged) >= len(acknowledged)
    again = sorted(acknowledged)[:: len(acknowledged) // 100][:100]
    presented = [report(serial, SECOND if serial % 3 else FIRST) for serial in again]
    assert store.submit(presented) == [ReportStatus.REPLAYED] * 100
    store.close()


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    check_after_kills(tmp_path / "party.db", tmp_path, rounds=40, seed=1)


@pytest.mark.slow
def test_two_hundred_kills(tmp_path: Path) -> None:
    check_after_kills(tmp_path / "party.db", tmp_path, rounds=200, seed=2)


def test_nothing_acknowledged_is_lost_when_postgresql_crashes(postgres: PostgresServer, tmp_path: Path) -> None:
    """The database goes down three times under load and comes back; the party's process goes on by itself."""
    address = postgres.new_address()
    child = Loaded(address, 0, tmp_path / "log")
    for _ in range(3):
        before = child.log.read_bytes().count(b"\n")
        child.wait_for(before + 500)
        postgres.crash_and_restart()
    child.wait_for(child.log.read_bytes().count(b"\n") + 500)
    acknowledged = child.kill()
    store, _ = open_stores(address)
    assert check(store, acknowledged) >= len(acknowledged)
    store.close()


def test_processes_follow_each_other_on_one_postgresql_store(postgres: PostgresServer, tmp_path: Path) -> None:
    """One at a time: a second one is refused; its successor presents the same tickets, and all counts once."""
    address = postgres.new_address()
    first = Loaded(address, 0, tmp_path / "first.log")
    first.wait_for(600)
    with pytest.raises(StoreRefused, match="another process holds it"):
        open_stores(address)
    one = first.kill()
    second = Loaded(address, 0, tmp_path / "second.log")
    second.wait_for(600)
    two = second.kill()
    assert one & two
    store, _ = open_stores(address)
    assert check(store, one | two) >= len(one | two)
    store.close()


def filled_up(store: RelationalReportStore, batch: int) -> int:
    """Submit until the store cannot take more; return how many it took."""
    for first in range(0, 100_000, batch):
        try:
            assert store.submit(reports(range(first, first + batch))) == [ReportStatus.ACCEPTED] * batch
        except StoreUnavailable:
            assert first > 0
            return first
    raise AssertionError("the disk was never full")


def test_a_full_disk_keeps_nothing_and_space_brings_it_back(tmp_path: Path) -> None:
    """The limit of pages stands for the end of the disk: SQLite reports both as SQLITE_FULL."""
    store, journal = open_stores(str(tmp_path / "party.db"))
    store.add_task(TASK, b"the task")
    connection = store._database._connection  # type: ignore[attr-defined]  # the injector sits below the port
    connection.execute("PRAGMA max_page_count = 60").fetchall()
    batch = 200
    taken = filled_up(store, batch)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="SQLITE_FULL"):
            store.submit(reports(range(taken, taken + batch)))
        with pytest.raises(StoreUnavailable):
            journal.write("query", "large", bytes(1_000_000))
    assert store.counts(TASK) == {FIRST: taken}
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    assert store.submit(reports(range(taken, taken + batch))) == [ReportStatus.ACCEPTED] * batch
    assert journal.write("query", "large", b"small") == b"small"
    assert check(store, set(range(taken + batch))) == taken + batch
    store.close()
    with closing(sqlite3.connect(tmp_path / "party.db")) as again:
        assert again.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_group_commit_passes_a_full_disk_on_and_recovers(tmp_path: Path) -> None:
    store, _ = open_stores(str(tmp_path / "party.db"))
    store.add_task(TASK, b"the task")
    connection = store._database._connection  # type: ignore[attr-defined]
    writer = GroupCommit(store)
    connection.execute("PRAGMA max_page_count = 1").fetchall()
    futures = [writer.submit(reports(range(first, first + 3000))) for first in (0, 3000)]
    for future in futures:
        with pytest.raises(StoreUnavailable):
            future.result(PATIENCE)
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    assert writer.submit(reports(range(3000))).result(PATIENCE) == [ReportStatus.ACCEPTED] * 3000
    writer.close()
    store.close()


FULL_DISK = """
import sys
from pathlib import Path
from tests.support.reports import FIRST, TASK, reports
from treetop.adapters.store_choice import open_stores
from treetop.errors import StoreUnavailable
folder = Path(sys.argv[1])
store, journal = open_stores(str(folder / "party.db"))
store.add_task(TASK, b"the task")
ballast = folder / "ballast"
ballast.write_bytes(bytes(2_000_000))
taken = 0
try:
    while taken < 1_000_000:
        store.submit(reports(range(taken, taken + 500)))
        taken += 500
except StoreUnavailable as full:
    print("full:", full)
try:
    store.submit(reports(range(taken, taken + 500)))
except StoreUnavailable:
    print("still full")
assert store.counts(TASK) == {FIRST: taken}, store.counts(TASK)
ballast.unlink()
store.submit(reports(range(taken, taken + 500)))
assert store.close_group(TASK, FIRST) == taken + 500
assert sum(map(len, store.bodies(TASK, FIRST))) == taken + 500
store.close()
store, journal = open_stores(str(folder / "party.db"))
assert store.counts(TASK) == {FIRST: taken + 500}
print("recovered")
"""


def test_a_really_full_disk(tmp_path: Path) -> None:
    """A file system of 4 MB in memory, in a namespace of its own."""
    allowed = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    if allowed.returncode:
        pytest.skip(f"no mount namespace: {allowed.stderr.decode().strip()}")
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "fill.py").write_text(FULL_DISK)
    script = f"mount -t tmpfs -o size=4m none {disk} && exec {sys.executable} {tmp_path / 'fill.py'} {disk}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "full: the store cannot be used" in done.stdout
    assert done.stdout.endswith("still full\nrecovered\n")
