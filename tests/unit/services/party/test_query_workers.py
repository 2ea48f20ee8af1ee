"""Threads that answer the server's messages."""

import threading
import time
from collections.abc import Callable

from treetop.services.party import query_workers
from treetop.services.party.query_workers import QueryWorkers
from treetop.services.party.report_collection import Stopped

TASK, OTHER = b"task", b"other"


def eventually(holds: Callable[[], bool]) -> bool:
    limit = time.monotonic() + 30
    while not holds() and time.monotonic() < limit:
        time.sleep(0.005)
    return holds()


class Messages:
    """So many messages of every task, and some that fail the first time."""

    def __init__(self, **waiting: int) -> None:
        self.waiting = {name.encode(): number for name, number in waiting.items()}
        self.failing = 0
        self.failures: list[tuple[bytes, str]] = []

    def work(self, task: bytes) -> bool:
        if self.failing:
            self.failing -= 1
            raise RuntimeError
        self.waiting[task] -= self.waiting[task] > 0
        return self.waiting[task] > 0

    def failed(self, task: bytes, error: Exception) -> None:
        self.failures.append((task, type(error).__name__))


def test_every_message_of_every_task_is_answered_and_threads_end() -> None:
    messages = Messages(task=5, other=3)
    workers = QueryWorkers(messages.work, messages.failed)
    workers.wake(TASK)
    workers.wake(OTHER)
    assert eventually(lambda: not any(messages.waiting.values()))
    assert eventually(lambda: not workers._threads)
    messages.waiting[TASK] = 2
    workers.wake(TASK)
    assert eventually(lambda: messages.waiting[TASK] == 0)
    workers.stop()


def test_a_failure_is_told_and_tried_again() -> None:
    query_workers.FIRST_PAUSE, before = 0.01, query_workers.FIRST_PAUSE
    try:
        messages = Messages(task=2)
        messages.failing = 3
        workers = QueryWorkers(messages.work, messages.failed)
        workers.wake(TASK)
        assert eventually(lambda: messages.waiting[TASK] == 0)
        workers.stop()
    finally:
        query_workers.FIRST_PAUSE = before
    assert messages.failures == [(TASK, "RuntimeError")] * 3


def test_whoever_waits_ends_with_the_service() -> None:
    begun = threading.Event()

    def work(_task: bytes) -> bool:
        begun.set()
        while not workers.stopping():
            time.sleep(0.005)
        raise Stopped

    workers = QueryWorkers(work, lambda *_: None)
    workers.wake(TASK)
    assert begun.wait(30)
    workers.stop()
    assert not workers._threads
    workers.wake(TASK)
    assert not workers._threads
