"""The Dask engine: the same function for each file, on the workers of a cluster that all see the files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from distributed import Client

from treetop.adapters.dask.cluster import cluster_at, finished
from treetop.adapters.report_files.counting import Candidates, add_up_file, count_file, distinct
from treetop.adapters.report_files.locations import Location
from treetop.oracles.frequency_oracle import Tally

Part = TypeVar("Part", bound=Any)


class DaskEngine:
    """Counts on a cluster; a file whose worker dies is counted anew by another, and its tally is added once."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def count(self, files: Sequence[Location], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files; the first damaged file ends the count."""
        if candidates.bits is None:
            return self._total(count_file, files, candidates, candidates.nothing())
        work = partial(add_up_file, bits=candidates.bits)
        nothing = candidates.no_sums(candidates.bits)
        tally: Tally = self._total(work, files, candidates, nothing).tally()
        return tally

    def _total(self, work: Callable[..., Part], files: Sequence[Location], candidates: Candidates, total: Part) -> Part:
        for _, part in finished(self.client, work, candidates, distinct(files)):
            total += part
        return total


@contextmanager
def connected(scheduler: str, seconds: int = 10) -> Iterator[DaskEngine]:
    """Give an engine on the cluster at a scheduler's address."""
    with cluster_at(scheduler, seconds) as client:
        yield DaskEngine(client)
