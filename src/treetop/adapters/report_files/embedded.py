"""The embedded engine: threads that share the row groups of all files, each with one of them in memory."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from treetop.adapters.report_files.counting import Candidates, count_row_group, distinct
from treetop.adapters.report_files.reader import ReportFile
from treetop.oracles.tallies import Tally

IN_FLIGHT = 2
"""Row groups given out for each thread: one that it counts and one that waits."""


class EmbeddedEngine:
    """Counts in this process; kernels and Parquet let go of the interpreter's lock."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def count(self, files: Sequence[Path], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files; the first damaged file ends the count."""
        opened = [ReportFile.opened(path, candidates.kind) for path in distinct(files)]
        places = ((file, group) for file in opened for group in range(len(file.groups)))
        return sum(self._tallies(places, candidates), candidates.nothing())

    def _tallies(self, places: Iterable[tuple[ReportFile, int]], candidates: Candidates) -> Iterator[Tally]:
        pool = ThreadPoolExecutor(self.workers)
        try:
            given = (pool.submit(count_row_group, file, group, candidates) for file, group in places)
            yield from _in_turn(given, IN_FLIGHT * self.workers)
        finally:
            pool.shutdown(cancel_futures=True)


def _in_turn(given: Iterator[Future[Tally]], most: int) -> Iterator[Tally]:
    """Yield results in order, with so many at most under way."""
    waiting = deque(islice(given, most))
    while waiting:
        yield waiting.popleft().result()
        waiting.extend(islice(given, 1))
