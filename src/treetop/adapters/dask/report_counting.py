"""The Dask engine: the same function for each file, on the workers of a cluster that all see the files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from distributed import Client, as_completed

from treetop.adapters.report_files.counting import Candidates, add_up_file, count_file, distinct
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Tally

Part = TypeVar("Part", bound=Any)


class DaskEngine:
    """Counts on a cluster; a file whose worker dies is counted anew by another, and its tally is added once."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def count(self, files: Sequence[Path], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files; the first damaged file ends the count."""
        if candidates.bits is None:
            return self._total(count_file, files, candidates, candidates.nothing())
        work, nothing = partial(add_up_file, bits=candidates.bits), candidates.no_sums(candidates.bits)
        tally: Tally = self._total(work, files, candidates, nothing).tally()
        return tally

    def _total(self, work: Callable[..., Part], files: Sequence[Path], candidates: Candidates, total: Part) -> Part:
        # The question is itself a task: a scattered value would be lost with the worker that holds it.
        question = self.client.submit(_unchanged, candidates, pure=False)
        futures = self.client.map(work, distinct(files), candidates=question, pure=False)
        try:
            for _, part in as_completed(futures, loop=self.client.loop, with_results=True):
                total += part
            return total
        finally:
            self.client.cancel(futures)


def _unchanged(candidates: Candidates) -> Candidates:
    return candidates


@contextmanager
def connected(scheduler: str, seconds: int = 10) -> Iterator[DaskEngine]:
    """Give an engine on the cluster at a scheduler's address."""
    try:
        client = Client(scheduler, timeout=seconds, set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InvalidInput(f"no Dask scheduler answers at {scheduler}: {reason}") from reason
    with client:
        yield DaskEngine(client)
