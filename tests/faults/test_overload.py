"""R11: more than the store can take: the excess comes back, nothing acknowledged is lost, the queue is bounded."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from http.client import HTTPConnection

from tests.support.parties import Hosted, document, honest_entry, live, task

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.uploads import ReportStatus, encoded_upload
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.settings import Limits

ONE_SHOT = task()
BATCH, CLIENTS, QUEUE = 20, 15, 60


class SlowStore(MemoryReportStore):
    """A disk that takes its time: three uploads wait, the rest of fifteen clients is five times too much."""

    def submit(self, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
        time.sleep(0.02)
        return super().submit(reports)


class WatchedCommit(GroupCommit):
    """Remembers how long its queue was at most."""

    longest = 0

    def submit(self, reports: Sequence[AdmittedReport]) -> "Future[list[ReportStatus]]":
        future = super().submit(reports)
        self.longest = max(self.longest, self.waiting)
        return future


class Client:
    """Sends new reports as fast as it is answered; what was refused is not repeated."""

    def __init__(self, port: int, first: int) -> None:
        self._port, self._first = port, first
        self.acknowledged: list[int] = []
        self.statuses: Counter[int] = Counter()
        self.without_advice = 0

    def run(self, uploads: int) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        for number in range(uploads):
            serials = range(self._first + number * BATCH, self._first + (number + 1) * BATCH)
            body = encoded_upload(honest_entry(ONE_SHOT, serial) for serial in serials)
            connection.request("POST", f"/v1/tasks/{ONE_SHOT.digest.hex()}/reports", body)
            reply = connection.getresponse()
            reply.read()
            self.statuses[reply.status] += 1
            if reply.status == 200:
                self.acknowledged += serials
            elif not reply.getheader("Retry-After"):
                self.without_advice += 1
        connection.close()


def test_an_overloaded_party_sends_the_excess_away() -> None:
    store = SlowStore()
    writer = WatchedCommit(store, QUEUE, BATCH)
    hosted = Hosted(store, limits=Limits(most_reports_per_request=QUEUE, queue=QUEUE), writer=writer)
    hosted.party.install(document(ONE_SHOT))
    with live(hosted.context) as port:
        clients = [Client(port, 10_000 * number) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run, args=(30,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    writer.close()
    statuses = sum((client.statuses for client in clients), Counter[int]())
    acknowledged = [serial for client in clients for serial in client.acknowledged]
    assert set(statuses) == {200, 429}
    assert sum(client.without_advice for client in clients) == 0
    assert len(acknowledged) == sum(store.counts(ONE_SHOT.digest).values()), "acknowledged and stored are the same"
    assert BATCH < writer.longest <= QUEUE
    assert hosted.context.metrics.waiting == 0
