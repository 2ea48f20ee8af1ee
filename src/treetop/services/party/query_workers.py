"""One thread for each task: it answers the server's messages, however long that takes; the threads count in turns."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Event, Lock, Thread

from treetop.adapters.system.telemetry import span
from treetop.services.party.report_collection import Stopped

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0


class QueryWorkers:
    """Run by the party: a thread for every task that has messages to answer; it ends when there are none."""

    def __init__(self, work: Callable[[bytes], bool], failed: Callable[[bytes, Exception], None]) -> None:
        self._work = work
        self._failed = failed
        self._news: set[bytes] = set()
        self._threads: dict[bytes, Thread] = {}
        self._stop = Event()
        self._lock = Lock()

    def stopping(self) -> bool:
        """Return whether the service is ending, so that waiting should stop."""
        return self._stop.is_set()

    def wake(self, task: bytes) -> None:
        """Have a thread look for messages about a task."""
        with self._lock:
            self._news.add(task)
            if task not in self._threads and not self.stopping():
                name = f"query {task.hex()[:8]}"
                self._threads[task] = Thread(target=self._run, args=(task,), name=name, daemon=True)
                self._threads[task].start()

    def stop(self, seconds: float = 10) -> None:
        """End all threads; one that counts at the moment is left behind after so many seconds."""
        self._stop.set()
        with self._lock:
            running = list(self._threads.values())
        for thread in running:
            thread.join(seconds)

    def _run(self, task: bytes) -> None:
        pause = FIRST_PAUSE
        while self._has_news(task):
            try:
                while not self.stopping() and self._worked(task):
                    pause = FIRST_PAUSE
            except Stopped:
                self._stop.wait()
            except Exception as error:  # whatever it is, the next attempt may succeed: the journal has not moved
                self._failed(task, error)
                self._stop.wait(pause)
                self._news.add(task)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _worked(self, task: bytes) -> bool:
        with span("answer the server", task=task.hex()):
            return self._work(task)

    def _has_news(self, task: bytes) -> bool:
        """Return whether to look again; a thread that gets a no is gone for good."""
        with self._lock:
            if self.stopping() or task not in self._news:
                del self._threads[task]
                return False
            self._news.discard(task)
            return True


MAX_KEPT = 16
"""Queries that keep what they counted: a gigabyte at most."""


class CountingTurns:
    """Run by the party: whose turn it is to count, and who may keep what was counted.

    Counting every name of 24 bits takes 170 MB while it lasts, and 34 to 67 MB until the query is over. Queries that
    are closed at the same moment would take all of it together, so one query of a process counts at a time.
    """

    def __init__(self, max_kept: int = MAX_KEPT) -> None:
        self.turn = Lock()
        """Held by the query that counts."""
        self._max_kept = max_kept
        self._lock = Lock()
        self._kept: OrderedDict[bytes, Callable[[], None]] = OrderedDict()

    def keep(self, query: bytes, forget: Callable[[], None]) -> None:
        """Note that a query keeps what it counted; whoever has kept it longest forgets it, and counts again."""
        with self._lock:
            self._kept[query] = forget
            self._kept.move_to_end(query)
            while len(self._kept) > self._max_kept:
                self._kept.popitem(last=False)[1]()

    def drop(self, query: bytes) -> None:
        """Note that a query keeps nothing any more."""
        with self._lock:
            self._kept.pop(query, None)
