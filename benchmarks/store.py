"""The SQLite store: what a durable report costs, empty and with 5 million in it; reopening; commit numbers; callers."""

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copy
from statistics import median
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from time import perf_counter, process_time

from benchmarks.measuring import Measured, Row, times_as_fast
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import AdmittedReport, ReportStore
from treetop.services.party.group_commit import GroupCommit
from treetop.trie.user_groups import Group

TITLE = "The store of reports"
LIMITS = """
CPU times of one process, as ratios to a bare loop in the same run: Python's `sqlite3` that puts the same rows into one
table, as many to a commit. Reports are submitted in calls of 100, with eight calls waiting at a time, and each is on
disk before it is acknowledged (SQLite, write-ahead log, synchronous=FULL). Reports a second are wall times of the best
try, and carry no verdict: they depend on the disk and on what else the machine does. "In order" means that tickets come
back as they were issued; "shuffled" means in random order, where every report touches another page of the table of
spent tickets. What limits: in order, Python; shuffled and with millions in the store, writing those pages, first to the
log, then to the file. "Numbered" commits are what the store always does: a number in the store and in a file beside it,
so that an older copy shows; "plain" ones leave both out. The limits are what a first run took on a machine with four
times as much to do as it has cores, and about 40 % more.
"""
TASK = bytes(32)
GROUPS = [Group(level) for level in range(1, 25)]
STORED = 5_000_000
SOME, TRIES, COMMITS = 50_000, 7, 500
TIMES_BARE = 7.0
MOST_SHUFFLED = 1 << 23
Order = Callable[[int], int]


def in_order(place: int) -> int:
    return place


def shuffled(place: int) -> int:
    """A permutation of the numbers below 2^23."""
    return (place * 2654435761 + 12345) % MOST_SHUFFLED


TIMES_EMPTY: dict[Order, float] = {in_order: 2.1, shuffled: 3.1}


def measure() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        for order in (in_order, shuffled):
            yield from growth(Path(name) / f"{order.__name__}.db", order)
        yield from numbering(Path(name))
        yield from together(Path(name) / "single.db")


def made(places: range, order: Order) -> list[AdmittedReport]:
    return [AdmittedReport(TASK, order(place), GROUPS[place * 7919 % 24], os.urandom(5)) for place in places]


def submitted(writer: GroupCommit, reports: Sequence[AdmittedReport], size: int = 100, waiting: int = 8) -> float:
    """Return the seconds until all were acknowledged."""
    begin, under_way = perf_counter(), deque[object]()
    for start in range(0, len(reports), size):
        under_way.append(writer.submit(reports[start : start + size]))
        if len(under_way) >= waiting:
            under_way.popleft().result()  # type: ignore[attr-defined]
    for future in under_way:
        future.result()  # type: ignore[attr-defined]
    return perf_counter() - begin


def new_store(path: Path) -> ReportStore:
    store, _ = open_stores(str(path))
    store.add_task(TASK, b"")
    return store


class BareTable:
    """SQLite without anything of ours."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE report (serial INTEGER PRIMARY KEY, level INTEGER, body BLOB)")

    def insert(self, reports: Sequence[AdmittedReport], at_once: int = 800) -> None:
        for start in range(0, len(reports), at_once):
            rows = [(one.serial, one.group.level, one.body) for one in reports[start : start + at_once]]
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT INTO report VALUES (?, ?, ?)", rows)
            self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def growth(path: Path, order: Order) -> Iterator[Row]:
    name = order.__name__.replace("_", " ")
    store = new_store(path)
    writer = GroupCommit(store)
    for start in range(0, STORED, SOME):
        submitted(writer, made(range(start, start + SOME), order), size=5000, waiting=2)
    full, empty, bare = in_turns(writer, path, order)
    what = f"{name}, none stored ({SOME / empty.wall:,.0f} reports/s) / a bare loop ({SOME / bare.wall:,.0f})"
    yield Measured(what, empty.cpu / bare.cpu, TIMES_BARE, empty.cpu, bare.cpu)
    what = f"{name}, 5 M stored ({SOME / full.wall:,.0f} reports/s) / none"
    yield Measured(what, full.cpu / empty.cpu, TIMES_EMPTY[order], full.cpu, empty.cpu)
    writer.close()
    yield reopening(path, store, name)


@dataclass(frozen=True)
class Spent:
    """The least CPU time and the least wall time of several tries."""

    cpu: float
    wall: float


def in_turns(full: GroupCommit, path: Path, order: Order) -> list[Spent]:
    """Return what a full store, an empty one and a bare loop spend."""
    tries: list[list[Spent]] = []
    for number in range(TRIES):
        new, bare = new_store(path.with_suffix(f".empty_{number}")), BareTable(path.with_suffix(f".bare_{number}"))
        empty = GroupCommit(new)
        first = STORED + number * SOME
        reports = made(range(first, first + SOME), order)
        works = (partial(submitted, full, reports), partial(submitted, empty, reports), partial(bare.insert, reports))
        tries.append([spent(work) for work in works])
        empty.close()
        new.close()
        bare.close()
    return [Spent(min(one.cpu for one in found), min(one.wall for one in found)) for found in zip(*tries, strict=True)]


def spent(work: Callable[[], object]) -> Spent:
    cpu, wall = process_time(), perf_counter()
    work()
    return Spent(process_time() - cpu, perf_counter() - wall)


def reopening(path: Path, store: ReportStore, name: str) -> Row:
    """As after a crash: the log has not been copied into the file."""
    copies = [Path(copy(path, path.with_suffix(suffix))) for suffix in (".crashed", ".bare_crashed")]
    for crashed in copies:
        copy(f"{path}-wal", f"{crashed}-wal")
    store.close()

    def ours() -> None:
        again, _ = open_stores(str(copies[0]))
        again.counts(TASK)
        again.close()

    def bare() -> None:
        connection = sqlite3.connect(copies[1])
        connection.execute("SELECT name FROM sqlite_schema").fetchall()
        connection.close()

    our, other = spent(ours), spent(bare)
    what = f"{name}: opening 5 M reports after a crash / SQLite opening the file, wall"
    return Measured(what, our.wall / other.wall, 5, our.wall, other.wall)


class Plain:
    """Commits without a number."""

    def next(self, _rows: object) -> None:
        pass

    def committed(self, _store: object) -> None:
        pass

    def close(self) -> None:
        pass


def numbering(folder: Path) -> Iterator[Row]:
    """In turns, commit by commit: the middle one of many, of one report and of as many as group commit gathers."""
    stores = [new_store(folder / name) for name in ("numbered.db", "plain.db")]
    stores[1]._database._numbers.close()  # type: ignore[attr-defined]  # below the port
    stores[1]._database._numbers = Plain()  # type: ignore[attr-defined]
    for first, size, limit in ((0, 1, 1.5), (COMMITS, 800, 1.2)):
        seconds: list[list[float]] = [[], []]
        for number in range(COMMITS):
            reports = made(range(first + number * size, first + (number + 1) * size), in_order)
            for which in (number % 2, 1 - number % 2):  # who comes first computes what both need
                begin = perf_counter()
                stores[which].submit(reports)
                seconds[which].append(perf_counter() - begin)
        numbered, plain = map(median, seconds)
        yield Measured(f"a commit of {size}: numbered / plain", numbered / plain, limit, numbered, plain)
    for store in stores:
        store.close()


def together(path: Path) -> Iterator[Row]:
    """Single reports: 64 callers who wait for group commit, against one commit for each report."""
    store, count, tries = new_store(path), 5_000, 3
    writer = GroupCommit(store)
    grouped, alone = [], []
    for number in range(tries):
        first = 100_000 * (1 + number)
        one_by_one = made(range(first, first + 1_000), in_order)
        alone.append(spent(partial(one_commit_each, store, one_by_one)).wall / 1_000)
        grouped.append(callers(writer, made(range(first + 50_000, first + 50_000 + count), in_order), 64) / count)
    writer.close()
    what = (
        f"single reports of 64 callers ({1 / min(grouped):,.0f}/s), times as fast as a commit each "
        f"({1 / min(alone):,.0f}/s), wall"
    )
    yield times_as_fast(what, min(grouped), min(alone), at_least=2)
    store.close()


def one_commit_each(store: ReportStore, reports: Sequence[AdmittedReport]) -> None:
    for report in reports:
        store.submit([report])


def callers(writer: GroupCommit, reports: Sequence[AdmittedReport], threads: int) -> float:
    waiting, turn = iter(reports), Lock()

    def call() -> None:
        while True:
            with turn:
                report = next(waiting, None)
            if report is None:
                return
            writer.submit([report]).result()

    started = [Thread(target=call) for _ in range(threads)]
    begin = perf_counter()
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return perf_counter() - begin


if __name__ == "__main__":
    from benchmarks.report import line

    for row in measure():
        print(line(row), flush=True)
