"""The devices of a fleet in one task: batches of them answer, are committed, are sent, and get their verdicts."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treetop.adapters.sqlite.fleet_ledger import DeviceRecord, FleetLedger
from treetop.adapters.system.entropy import SystemEntropy
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import ReportStatus, TicketedReport
from treetop.services.fleet.delivery import FleetDelivery, Posted, stretches

STRETCH = 1_000
"""Devices whose ledgers are written in one transaction."""
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
    codes: Sequence[int | None]
    tickets: Sequence[bytes]
    ledgers: FleetLedger
    delivery: FleetDelivery
    caps: Caps
    entropy: SystemEntropy

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
                _Prepared(record, Ledger(record, record, self.caps), batch)
                for record, (_, batch) in zip(records, some, strict=True)
            ]
            self._settle([self._sent(prepared)], judged_more)

    def _prepared(self, record: DeviceRecord, answer: Answer) -> _Prepared:
        ledger, codes, index = Ledger(record, record, self.caps), self.codes, record.index
        return _Prepared(record, ledger, answer(Device(lambda: codes[index], self.entropy, ledger), index))

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
