"""Counting report files: the question, the functions that every engine runs, and the embedded engine's threads."""

import os
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from treetop.adapters.report_files.locations import Location, StoredObject
from treetop.adapters.report_files.sealed_file import ReportFile, ReportKind, refusing
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import NO_KEYS, Keys, Tally


@dataclass(frozen=True, eq=False)
class Candidates:
    """What is counted: reports of one kind, and where values are hashed the keys whose support is asked for.

    Or every name of `bits` bits, if the oracle can do that (walsh).
    """

    kind: ReportKind
    keys: Keys = field(default_factory=NO_KEYS.copy)
    bits: int | None = None

    def __post_init__(self) -> None:
        if self.keys.dtype != np.uint64 or self.keys.ndim != 1:
            raise InvalidInput("keys_malformed", dtype=self.keys.dtype, shape=self.keys.shape)
        if len(self.keys) and self.kind.counting.listed:
            raise InvalidInput("keys_not_taken", oracle=self.kind.oracle, number=len(self.keys))
        if self.bits is not None and len(self.keys):
            raise InvalidInput("keys_and_names", bits=self.bits)

    def nothing(self) -> Tally:
        """Return the tally of no reports."""
        return self.kind.counting.no_reports(self.kind.slots, self.keys)

    def no_sums(self, bits: int) -> Any:
        """Return empty sums for every name of that number of bits, or refuse an oracle that cannot add them up."""
        return self.kind.counting.every_name(bits, self.kind.slots)


class CountingEngine(Protocol):
    """Run by the party: counts whole files, all of them or none."""

    def count(self, files: Sequence[Location], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files, in any order."""
        ...


def count_row_group(file: ReportFile, group: int, candidates: Candidates) -> Tally:
    """Run by one worker: the tally of one row group, read, checked and counted."""
    columns = file.columns(group)
    with refusing(file.path):
        support = candidates.kind.counting.support(columns, candidates.kind.slots, candidates.keys)
        return Tally(support, len(columns[0]))


def count_file(path: Location, candidates: Candidates) -> Tally:
    """Run by one worker: the tally of one file, one row group in memory at a time."""
    file = ReportFile.opened(path, candidates.kind)
    tallies = (count_row_group(file, group, candidates) for group in range(len(file.groups)))
    return sum(tallies, candidates.nothing())


def add_up_files(files: Iterable[ReportFile], candidates: Candidates, bits: int) -> Any:
    """Run by one worker: the sums of some files for every name of `bits` bits; they take most of the memory."""
    sums = candidates.no_sums(bits)
    for file in files:
        for group in range(len(file.groups)):
            columns = file.columns(group)
            with refusing(file.path):
                sums.add(columns)
    return sums


def add_up_file(path: Location, candidates: Candidates, bits: int) -> Any:
    """Run by one worker: the sums of one file."""
    return add_up_files([ReportFile.opened(path, candidates.kind)], candidates, bits)


def distinct(files: Sequence[Location]) -> list[Location]:
    """Return the files as absolute paths, or refuse one that would be counted twice."""
    times = Counter(file if isinstance(file, StoredObject) else Path(file).resolve() for file in files)
    for path, named in times.items():
        if named > 1:
            raise InvalidInput("file_named_twice", path=path)
    return list(times)


IN_FLIGHT = 2
"""Row groups given out for each thread: one that it counts and one that waits."""


class EmbeddedEngine:
    """Counts in this process; kernels and Parquet let go of the interpreter's lock."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def count(self, files: Sequence[Location], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files; the first damaged file ends the count."""
        opened = [ReportFile.opened(path, candidates.kind) for path in distinct(files)]
        if candidates.bits is not None:
            every_name: Tally = add_up_files(opened, candidates, candidates.bits).tally()
            return every_name
        total = candidates.nothing()
        waiting = deque[Future[Tally]]()
        pool = ThreadPoolExecutor(self.workers)
        try:
            for file in opened:
                for group in range(len(file.groups)):
                    if len(waiting) == IN_FLIGHT * self.workers:
                        total += waiting.popleft().result()
                    waiting.append(pool.submit(count_row_group, file, group, candidates))
            for counted in waiting:
                total += counted.result()
        finally:
            pool.shutdown(cancel_futures=True)
        return total
