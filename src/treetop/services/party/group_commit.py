"""Group commit: one writer thread; everything that waits goes into one commit, and is acknowledged after it.

A commit costs one flush of the disk however many reports it holds, so that callers who wait together pay it together.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any, TypeVar

from treetop.adapters.system.telemetry import span
from treetop.errors import InvalidInput, StoreBusy, StoreUnavailable
from treetop.federation.service_ports import AdmittedReport, ReportStore
from treetop.federation.wire.uploads import ReportStatus

MAX_WAITING = 50_000
"""Reports in the queue; a party's settings name their own number."""
MAX_AT_ONCE = 5_000
"""Reports of one commit."""
RETRY_AFTER = 1
"""Seconds after which a client that was turned away may try again."""
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Submission:
    reports: Sequence[AdmittedReport]
    future: "Future[list[ReportStatus]]"


@dataclass(slots=True)
class _Call:
    work: Callable[[], Any]
    future: "Future[Any]"


class GroupCommit:
    """Run by the party: the only way reports go into a store while it serves."""

    def __init__(self, store: ReportStore, max_waiting: int = MAX_WAITING, max_at_once: int = MAX_AT_ONCE) -> None:
        self._store = store
        self._max_waiting = max_waiting
        self._max_at_once = max_at_once
        self._queue: deque[_Submission | _Call] = deque()
        self._waiting = 0
        self._closed = False
        self._changed = Condition()
        self._writer = Thread(target=self._write_on, name="treetop group commit", daemon=True)
        self._writer.start()

    @property
    def waiting(self) -> int:
        """Return how many reports are not committed yet."""
        return self._waiting

    def submit(self, reports: Sequence[AdmittedReport]) -> "Future[list[ReportStatus]]":
        """Return the verdicts-to-be of some reports; `StoreBusy` is raised at once if too many wait."""
        future: Future[list[ReportStatus]] = Future()
        with self._changed:
            self._refuse_closed()
            if self._waiting and self._waiting + len(reports) > self._max_waiting:
                raise StoreBusy(self._waiting, RETRY_AFTER)
            self._waiting += len(reports)
            self._queue.append(_Submission(reports, future))
            self._changed.notify()
        return future

    def run(self, work: Callable[[], Answer]) -> "Future[Answer]":
        """Run something in the writer's thread: after all that was submitted before it, before all that comes later."""
        future: Future[Answer] = Future()
        with self._changed:
            self._refuse_closed()
            self._queue.append(_Call(work, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Write all that waits, then stop; the store itself stays open."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._writer.join()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable("store_closing")

    def _write_on(self) -> None:
        while work := self._next():
            if isinstance(work, list):
                self._commit(work)
            elif work.future.set_running_or_notify_cancel():
                _answer(work.future, work.work)

    def _next(self) -> _Call | list[_Submission] | None:
        """Return the next call, or all submissions before it that fit into one commit, or None at the end."""
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            if not self._queue:
                return None
            first = self._queue.popleft()
            return first if isinstance(first, _Call) else self._together(first)

    def _together(self, first: _Submission) -> list[_Submission]:
        taken = [first]
        count = len(first.reports)
        while self._queue and isinstance(following := self._queue[0], _Submission):
            count += len(following.reports)
            if count > self._max_at_once:
                break
            taken.append(following)
            self._queue.popleft()
        return taken

    def _commit(self, taken: list[_Submission]) -> None:
        """Write what has not been cancelled meanwhile; from here on nothing can be."""
        wanted = [submission for submission in taken if submission.future.set_running_or_notify_cancel()]
        reports = [report for submission in wanted for report in submission.reports]
        try:
            with span("commit reports", reports=len(reports), uploads=len(wanted)):
                verdicts = self._store.submit(reports)
        except InvalidInput as error:
            self._apart(wanted, error)
        except BaseException as error:
            for submission in wanted:
                submission.future.set_exception(error)
        else:
            start = 0
            for submission in wanted:
                end = start + len(submission.reports)
                submission.future.set_result(verdicts[start:end])
                start = end
        finally:
            with self._changed:
                self._waiting -= sum(len(submission.reports) for submission in taken)

    def _apart(self, taken: list[_Submission], error: InvalidInput) -> None:
        """One caller's mistake is not the others': each is submitted alone."""
        if len(taken) == 1:
            taken[0].future.set_exception(error)
            return
        for submission in taken:
            _answer(submission.future, lambda reports=submission.reports: self._store.submit(reports))  # type: ignore[misc]


def _answer(future: "Future[Any]", work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
