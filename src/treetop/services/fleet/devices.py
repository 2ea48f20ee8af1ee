"""The devices of a fleet in one task: they answer in batches, are committed, then sent over several connections."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from treetop.adapters.sqlite.fleet_ledger import DeviceRecord, FleetLedger
from treetop.adapters.system.host import SystemClock, SystemEntropy
from treetop.errors import BudgetExceeded, NotMyWeek
from treetop.federation.campaign import Campaign
from treetop.federation.device.device import Device, OwnItems
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import Refusal, ReportStatus, TicketedReport
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

    def tell(self, task: bytes, refusals: Sequence[tuple[bytes, Refusal]]) -> None:
        """Tell the party which devices may not answer, and return when it has heard it."""
        for some in stretches(refusals, self._batch):
            self.ask(lambda client, some=some: client.tell_refusals(task, some))  # type: ignore[misc]

    def _in_batches(
        self, things: Sequence[Thing], send: Callable[[PartyClient, Sequence[Thing]], Sequence[ReportStatus]]
    ) -> Posted:
        return Posted(
            [
                self._threads.submit(self.ask, lambda client, some=some: send(client, some))
                for some in stretches(things, self._batch)
            ]
        )


STRETCH = 1_000
"""Devices whose ledgers are written in one transaction."""
CLOCK = SystemClock()
UNDER_WAY = 2
"""Batches of devices whose reports are being sent while the next batch is prepared."""

Answer = Callable[[Device, int], bytes]
"""What a device does when it is asked; the number is the device's index in the fleet."""


class _Prepared(NamedTuple):
    record: DeviceRecord
    ledger: Ledger
    batch: bytes


class _UnderWay(NamedTuple):
    prepared: Sequence[_Prepared]
    posted: Posted


@dataclass(frozen=True, eq=False)
class FleetDevices:
    """Run by simulated devices: device i holds `codes[i]` and `tickets[i]`."""

    task: DeviceTask
    codes: Sequence[int | None] | Sequence[OwnItems] = field(repr=False)
    """For a task about sets, every device's items with their codes."""
    tickets: Sequence[bytes] = field(repr=False)
    ledgers: FleetLedger
    delivery: FleetDelivery
    caps: Caps
    entropy: SystemEntropy
    campaign: Campaign | None = None
    """What the task is a week of."""

    def allowed(self, indices: Sequence[int]) -> list[int]:
        """Return the devices that may answer; the others, and the weeks that were drawn, are committed.

        A task that every device would refuse, or that is about something else, is refused before anything is written.
        """
        if self.campaign is None:
            self._device(DeviceRecord(-1)).check_allowed(self.task)  # stands for all that have answered nothing yet
        allowed: list[int] = []
        refusal: BudgetExceeded | None = None
        for some in stretches(indices, STRETCH):
            refused = dict[int, str]()
            changed = list[DeviceRecord]()
            for record in self.ledgers.records(some):
                before = record.counter
                try:
                    if self.campaign is not None or record.ledger is not None:
                        self._device(record).check_allowed(self.task, self.campaign)
                    allowed.append(record.index)
                except NotMyWeek as other:
                    refused[record.index] = other.code
                except BudgetExceeded as exceeded:
                    refused[record.index], refusal = exceeded.code, exceeded
                if record.counter != before:
                    changed.append(record)
            self.ledgers.keep_refusals(self.task.digest, refused, changed)
        self.tell_refusals()
        if refusal is not None and not allowed and len(indices) == len(self.codes) and self.campaign is None:
            raise refusal
        return allowed

    def with_tickets(self, indices: Sequence[int]) -> tuple[list[int], Counter[str]]:
        """Return the devices whose ticket the party takes, or may take later; the others spend nothing on theirs.

        Those are counted, by the party's verdict.
        """
        taken = list[int]()
        refused = Counter[str]()
        for some in stretches(indices, STRETCH):
            own = [self.tickets[index] for index in some]
            verdicts = self.delivery.ask(lambda client, own=own: client.check_tickets(self.task.digest, own))  # type: ignore[misc]
            for index, verdict in zip(some, verdicts, strict=True):
                if verdict.counts or verdict.passing:
                    taken.append(index)
                else:
                    refused[verdict.value] += 1
        return taken, refused

    def tell_refusals(self) -> None:
        """Tell the party of devices that may not answer and that it may not have heard of."""
        for some in stretches(self.ledgers.untold(self.task.digest), STRETCH):
            self.delivery.tell(self.task.digest, [(self.tickets[index], Refusal(code)) for index, code in some])
            self.ledgers.note_told(self.task.digest, [index for index, _ in some])

    def answer(self, indices: Sequence[int], answer: Answer, judged_more: Callable[[int], None]) -> None:
        """Let devices answer and send; `judged_more` is called with how many more reports have a verdict."""
        under_way: deque[_UnderWay] = deque()
        for some in stretches(indices, STRETCH):
            prepared = [self._prepared(record, answer) for record in self.ledgers.records(some)]
            judged = self._judged(under_way.popleft()) if len(under_way) >= UNDER_WAY else []
            self.ledgers.keep(self.task.digest, [(each.record, each.batch) for each in prepared], judged)
            under_way.append(self._sent(prepared))
            judged_more(len(judged))
        self._settle(under_way, judged_more)

    def resend(self, judged_more: Callable[[int], None]) -> None:
        """Send again, the same bytes, what may not have arrived."""
        for some in stretches(self.ledgers.unsettled(self.task.digest), STRETCH):
            records = self.ledgers.records([index for index, _ in some])
            prepared = [
                _Prepared(record, self._ledger(record), batch) for record, (_, batch) in zip(records, some, strict=True)
            ]
            self._settle([self._sent(prepared)], judged_more)

    def _prepared(self, record: DeviceRecord, answer: Answer) -> _Prepared:
        ledger = self._ledger(record)
        return _Prepared(record, ledger, answer(self._device(record, ledger), record.index))

    def _ledger(self, record: DeviceRecord) -> Ledger:
        return Ledger(record, record, self.caps, CLOCK)

    def _device(self, record: DeviceRecord, ledger: Ledger | None = None) -> Device:
        codes = self.codes
        index = record.index
        return Device(lambda: codes[index], self.entropy, ledger or self._ledger(record))

    def _sent(self, prepared: Sequence[_Prepared]) -> _UnderWay:
        """Start to send what has been committed."""
        entries = [TicketedReport(self.tickets[each.record.index], each.batch) for each in prepared]
        return _UnderWay(prepared, self.delivery.post(self.task.digest, entries))

    def _settle(self, under_way: Iterable[_UnderWay], judged_more: Callable[[int], None]) -> None:
        for stretch in under_way:
            judged = self._judged(stretch)
            self.ledgers.keep(self.task.digest, judged=judged)
            judged_more(len(judged))

    def _judged(self, stretch: _UnderWay) -> list[tuple[DeviceRecord, ReportStatus]]:
        """Wait for the verdicts; a report that may be taken later has none yet."""
        judged: list[tuple[DeviceRecord, ReportStatus]] = []
        for each, verdict in zip(stretch.prepared, stretch.posted.verdicts(), strict=True):
            if verdict.counts:
                each.ledger.mark_delivered(self.task.digest)
            if not verdict.passing:
                judged.append((each.record, verdict))
        return judged
