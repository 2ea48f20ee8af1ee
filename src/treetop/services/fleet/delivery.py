"""How a fleet's reports reach their party: several open connections, small uploads, a verdict for each report."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from queue import SimpleQueue
from typing import TypeVar

from treetop.federation.wire.uploads import ReportStatus, TicketedReport
from treetop.services.device.party_client import PartyClient

Thing = TypeVar("Thing")


def stretches(things: Sequence[Thing], length: int) -> Iterator[Sequence[Thing]]:
    """Yield consecutive parts of a length."""
    return (things[start : start + length] for start in range(0, len(things), length))


class Posted:
    """Uploads that are being sent."""

    def __init__(self, answers: Sequence[Future[Sequence[ReportStatus]]]) -> None:
        self._answers = answers

    def verdicts(self) -> list[ReportStatus]:
        """Wait for all of them and return their verdicts in order."""
        return list(chain.from_iterable(answer.result() for answer in self._answers))


class FleetDelivery:
    """Several clients of one party, each used by one thread at a time."""

    def __init__(self, clients: Sequence[PartyClient], batch: int) -> None:
        self._batch = batch
        self._free: SimpleQueue[PartyClient] = SimpleQueue()
        for client in clients:
            self._free.put(client)
        self._clients = clients
        self._threads = ThreadPoolExecutor(len(clients), thread_name_prefix="fleet")

    def close(self) -> None:
        """Give up what has not been sent and hang up."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for client in self._clients:
            client.close()

    def ask(self, question: Callable[[PartyClient], Thing]) -> Thing:
        """Ask the party something with whichever client is free."""
        client = self._free.get()
        try:
            return question(client)
        finally:
            self._free.put(client)

    def post(self, task: bytes, entries: Sequence[TicketedReport]) -> Posted:
        """Start to send reports."""
        return self._in_batches(entries, lambda client, some: client.submit(task, some))

    def enrol(self, task: bytes, tickets: Sequence[bytes]) -> Posted:
        """Start to enrol devices."""
        return self._in_batches(tickets, lambda client, some: client.enrol(task, some))

    def _in_batches(
        self, things: Sequence[Thing], send: Callable[[PartyClient, Sequence[Thing]], Sequence[ReportStatus]]
    ) -> Posted:
        return Posted([
            self._threads.submit(self.ask, lambda client, some=some: send(client, some))
            for some in stretches(things, self._batch)
        ])  # fmt: skip
