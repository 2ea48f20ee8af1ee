"""The SQLite store: durable reports a second, empty and with 5 million in it; reopening; commit numbers; callers."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import copy
from statistics import median
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from time import perf_counter

from benchmarks.measuring import Measured, Row, best_wall_of, times_as_fast
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import AdmittedReport, ReportStore
from treetop.services.party.group_commit import GroupCommit
from treetop.trie.user_groups import Group

TITLE = "The store of reports"
LIMITS = """
Wall times, because a commit waits for the disk. Reports are submitted in calls of 100, with eight calls waiting at a
time, and each is on disk before it is acknowledged (SQLite, write-ahead log, synchronous=FULL). "In order" means that
tickets come back as they were issued; "shuffled" means in random order, where every report touches another page of the
table of spent tickets. An empty store has few such pages and a full one has many, so that ratio carries no verdict, but
the reports per second do. What limits: in order, Python; shuffled and with millions in the store, writing those pages,
first to the log, then to the file. "Numbered" commits are what the store always does: a number in the store and in a
file beside it, so that an older copy shows; "plain" ones leave both out.
"""
TASK = bytes(32)
GROUPS = [Group(level) for level in range(1, 25)]
STORED = 5_000_000
SOME, TRIES, COMMITS = 50_000, 7, 500
MOST_SHUFFLED = 1 << 23
Order = Callable[[int], int]


def in_order(place: int) -> int:
    return place


def shuffled(place: int) -> int:
    """A permutation of the numbers below 2^23."""
    return (place * 2654435761 + 12345) % MOST_SHUFFLED


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


def growth(path: Path, order: Order) -> Iterator[Row]:
    name = order.__name__.replace("_", " ")
    store = new_store(path)
    writer = GroupCommit(store)
    for start in range(0, STORED, SOME):
        submitted(writer, made(range(start, start + SOME), order), size=5000, waiting=2)
    full, empty = in_turns(writer, path.with_suffix(".empty"), order)
    what = f"{name}: reports/s with 5 M stored ({SOME / full:,.0f}) / with none ({SOME / empty:,.0f})"
    yield Measured(what, empty / full, None, full, empty, at_least=0.7 if order is in_order else None)
    yield Measured(f"{name}: 20,000 durable reports / a second, with 5 M stored", full / SOME * 20_000, 1, 0, 0)
    writer.close()
    yield reopening(path, store, name)


def in_turns(full: GroupCommit, path: Path, order: Order) -> tuple[float, float]:
    """Return the best seconds of a full store and of an empty one; a slow moment of the machine hits both."""
    seconds: list[tuple[float, float]] = []
    for number in range(TRIES):
        new = new_store(path.with_suffix(f".empty_{number}"))
        empty = GroupCommit(new)
        first = STORED + number * SOME
        reports = made(range(first, first + SOME), order)
        seconds.append((submitted(full, reports), submitted(empty, reports)))
        empty.close()
        new.close()
    return min(one for one, _ in seconds), min(two for _, two in seconds)


def reopening(path: Path, store: ReportStore, name: str) -> Row:
    """As after a crash: the log has not been copied into the file."""
    crashed = Path(copy(path, path.with_suffix(".crashed")))
    copy(f"{path}-wal", f"{crashed}-wal")
    store.close()
    begin = perf_counter()
    again, _ = open_stores(str(crashed))
    again.counts(TASK)
    seconds = perf_counter() - begin
    again.close()
    return Measured(f"{name}: opening 5 M reports after a crash / 2 s", seconds / 2, 1, seconds, 2)


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
    store = new_store(path)
    alone, count = made(range(2000), in_order), 20_000
    one_by_one = best_wall_of(1, lambda: [store.submit([report]) for report in alone]) / len(alone)
    writer = GroupCommit(store)
    seconds = callers(writer, made(range(100_000, 100_000 + count), in_order), 64) / count
    writer.close()
    what = (
        f"single reports of 64 callers ({1 / seconds:,.0f}/s), times as fast as a commit each ({1 / one_by_one:,.0f}/s)"
    )
    yield times_as_fast(what, seconds, one_by_one)
    yield Measured("8,000 single reports of 64 callers / a second", seconds * 8000, 1, 0, 0)
    store.close()


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
