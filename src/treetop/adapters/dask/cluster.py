"""A Dask cluster: reaching it, and work in pieces whose results come in any order."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from distributed import Client, as_completed

from treetop.errors import InvalidInput

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
    """Yield every piece and its result once; a piece whose worker dies is done anew by another."""
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
