"""A Dask cluster: reaching it, work in pieces whose results come in any order, and counting report files there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from distributed import Client, as_completed

from treetop.adapters.report_files.counting import Candidates, add_up_file, count_file, distinct
from treetop.adapters.report_files.locations import Location
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Tally

Piece = TypeVar("Piece")
Given = TypeVar("Given")
Result = TypeVar("Result")


@contextmanager
def cluster_at(scheduler: str, seconds: int = 10) -> Iterator[Client]:
    """Give a client of the cluster at a scheduler's address."""
    try:
        client = Client(scheduler, timeout=seconds, set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InvalidInput("dask_unreachable", scheduler=scheduler, reason=reason) from reason
    with client:
        yield client


def finished(
    client: Client, work: Callable[[Piece, Given], Result], given: Given, pieces: Iterable[Piece]
) -> Iterator[tuple[Piece, Result]]:
    """Yield every piece and its result once; a piece whose worker dies is done again by another."""
    # What is given is itself a task: a scattered value would be lost with the worker that holds it.
    everywhere = client.submit(_unchanged, given, pure=False)
    futures = {client.submit(work, piece, everywhere, pure=False): piece for piece in pieces}
    try:
        for future, result in as_completed(list(futures), loop=client.loop, with_results=True):
            yield futures[future], result
    finally:
        client.cancel(list(futures))


def _unchanged(given: Given) -> Given:
    return given


Part = TypeVar("Part", bound=Any)


class DaskEngine:
    """Counts on a cluster; a file whose worker dies is counted again by another, and its tally is added once."""

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
