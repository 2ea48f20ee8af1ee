"""Threads that work on a party's queries: on the server's messages, and on what other processes of the party wrote.

Nothing is sent between the processes of a party: what one has written durably, all others see at their next look.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from time import monotonic

from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.system.telemetry import span
from treetop.federation.party.party import Party
from treetop.services.party.report_collection import Stopped

FIRST_PAUSE = 0.5
"""Seconds before a task whose work failed is tried again; doubled each time."""
LONGEST_PAUSE = 30.0
"""Seconds at which that doubling ends."""


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
        """End all threads; one that is counting is left behind after that number of seconds."""
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
        """Note that a query keeps what it counted; above the limit, the oldest one forgets and must count again."""
        with self._lock:
            self._kept[query] = forget
            self._kept.move_to_end(query)
            while len(self._kept) > self._max_kept:
                self._kept.popitem(last=False)[1]()

    def drop(self, query: bytes) -> None:
        """Note that a query keeps nothing any more."""
        with self._lock:
            self._kept.pop(query, None)


LOOK_SECONDS = 0.2
"""Seconds between two looks."""
STALE_SECONDS = 10.0
"""Seconds after its last look at which a process reports itself unhealthy, and a balancer asks another one."""
WAIT_SECONDS = 3.0
"""How long a request about an unknown task waits for a look."""


class Following:
    """Run by a process of a party that has others beside it."""

    def __init__(
        self,
        party: Party,
        store: RelationalReportStore,
        journal: RelationalJournal,
        wake: Callable[[bytes], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._party = party
        self._store = store
        self._journal = journal
        self._wake = wake
        self._failed = failed
        self._lengths: Mapping[str, int] = {}
        self._begun = 0
        self._done = 0
        self._last = monotonic()
        self._stop = Event()
        self._thread = Thread(target=self._look_on, name="treetop following", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def seen(self) -> bool:
        """Return whether the last look is recent."""
        return monotonic() - self._last < STALE_SECONDS

    async def next_look(self) -> None:
        """Return once everything was seen that was written before this call, or too much time is over."""
        wanted = self._begun + 1
        end = monotonic() + WAIT_SECONDS
        while self._done < wanted and monotonic() < end:
            await asyncio.sleep(LOOK_SECONDS / 4)

    def look(self) -> None:
        """Take up new tasks and what has changed about known ones."""
        self._begun += 1
        looking = self._begun
        if any(digest not in self._party.tasks for digest in self._store.digests()):
            self._party.take_up()
        lengths = self._journal.lengths()
        grown = {name.rpartition(":")[2] for name, length in lengths.items() if length != self._lengths.get(name)}
        for digest in list(self._party.tasks):
            if digest.hex() in grown:
                self._party.follow(digest)
                self._wake(digest)
        self._lengths = lengths  # only now: what failed half-way is looked at again
        self._done = looking
        self._last = monotonic()

    def _look_on(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception as error:  # whatever it is, the next look may succeed
                self._failed(error)
