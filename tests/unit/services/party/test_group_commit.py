"""Group commit: what waits together is committed together, in order, and acknowledged afterwards."""

from collections.abc import Sequence
from threading import Event

import pytest
from tests.support.reports import FIRST, TASK, report, reports

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.errors import StoreBusy, StoreUnavailable, UnknownName
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.group_commit import GroupCommit

SECONDS = 60


class Gate(MemoryReportStore):
    """A store whose commits wait for a gate, are counted, and may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.add_task(TASK, b"")
        self.open, self.entered, self.sizes = Event(), Event(), list[int]()
        self.failure: Exception | None = None

    def submit(self, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
        self.entered.set()
        assert self.open.wait(SECONDS)
        if self.failure:
            raise self.failure
        self.sizes.append(len(reports))
        return super().submit(reports)


def begun(store: Gate, **limits: int) -> GroupCommit:
    """Return a writer that is busy with report 0."""
    writer = GroupCommit(store, **limits)
    writer.submit([report(0)])
    assert store.entered.wait(SECONDS)
    return writer


def test_what_waits_goes_into_one_commit() -> None:
    store = Gate()
    writer = begun(store)
    futures = [writer.submit([report(serial), report(serial)]) for serial in range(1, 51)]
    assert not any(future.done() for future in futures)
    assert writer.waiting == 101
    store.open.set()
    assert all(future.result(SECONDS) == [ReportStatus.ACCEPTED, ReportStatus.REPLAYED] for future in futures)
    writer.close()
    assert store.sizes == [1, 100]
    assert writer.waiting == 0


def test_a_commit_is_bounded_and_a_large_submission_is_not_cut() -> None:
    store = Gate()
    writer = begun(store, max_at_once=10)
    futures = [writer.submit(reports(range(start, start + 4))) for start in range(1, 20, 4)]
    futures.append(writer.submit(reports(range(100, 130))))
    store.open.set()
    assert sum(len(future.result(SECONDS)) for future in futures) == 50
    writer.close()
    assert store.sizes == [1, 8, 8, 4, 30]


def test_too_many_waiting_are_refused_at_once() -> None:
    store = Gate()
    writer = begun(store, max_waiting=10)
    waiting = writer.submit(reports(range(1, 10)))
    with pytest.raises(StoreBusy, match="10 reports wait") as refusal:
        writer.submit([report(10)])
    assert refusal.value.retry_after == 1
    store.open.set()
    assert waiting.result(SECONDS) == [ReportStatus.ACCEPTED] * 9
    writer.run(lambda: None).result(SECONDS)
    assert writer.submit(reports(range(20, 40))).result(SECONDS) == [ReportStatus.ACCEPTED] * 20
    writer.close()


def test_a_close_is_ordered_with_submissions() -> None:
    store = Gate()
    writer = begun(store)
    before = writer.submit(reports(range(1, 6)))
    closing = writer.run(lambda: store.close_group(TASK, FIRST))
    after = writer.submit([report(6), report(1)])
    store.open.set()
    assert before.result(SECONDS) == [ReportStatus.ACCEPTED] * 5
    assert closing.result(SECONDS) == 6
    assert after.result(SECONDS) == [ReportStatus.LEVEL_CLOSED, ReportStatus.REPLAYED]
    writer.close()


def test_a_store_that_cannot_write_tells_everybody_and_recovers() -> None:
    store = Gate()
    store.failure = StoreUnavailable("the disk is full")
    writer = begun(store)
    futures = [writer.submit([report(serial)]) for serial in range(1, 5)]
    store.open.set()
    for future in futures:
        with pytest.raises(StoreUnavailable, match="disk is full"):
            future.result(SECONDS)
    store.failure = None
    assert writer.submit([report(1)]).result(SECONDS) == [ReportStatus.ACCEPTED]
    writer.close()
    assert writer.waiting == 0


def test_one_callers_mistake_is_not_the_others() -> None:
    store = Gate()
    writer = begun(store)
    good, bad, better = (
        writer.submit([report(1)]),
        writer.submit([report(1, task=bytes(32))]),
        writer.submit([report(2)]),
    )
    store.open.set()
    assert good.result(SECONDS) == better.result(SECONDS) == [ReportStatus.ACCEPTED]
    with pytest.raises(UnknownName):
        bad.result(SECONDS)
    with pytest.raises(UnknownName):
        writer.submit([report(1, task=bytes(32))]).result(SECONDS)
    with pytest.raises(UnknownName):
        writer.run(lambda: store.counts(bytes(32))).result(SECONDS)
    writer.close()


def test_whoever_went_away_stops_nobody() -> None:
    store = Gate()
    writer = begun(store)
    gone, call, here = writer.submit([report(1)]), writer.run(lambda: 1 / 0), writer.submit([report(2)])
    assert gone.cancel()
    assert call.cancel()
    store.open.set()
    assert here.result(SECONDS) == [ReportStatus.ACCEPTED]
    writer.close()
    assert writer.waiting == 0
    assert store.counts(TASK) == {FIRST: 2}


def test_closing_writes_what_waits_and_then_takes_nothing() -> None:
    store = Gate()
    writer = begun(store)
    futures = [writer.submit([report(serial)]) for serial in range(1, 100)]
    store.open.set()
    writer.close()
    assert all(future.done() for future in futures)
    assert store.counts(TASK) == {FIRST: 100}
    with pytest.raises(StoreUnavailable, match="being closed"):
        writer.submit([report(200)])
    with pytest.raises(StoreUnavailable, match="being closed"):
        writer.run(lambda: None)
