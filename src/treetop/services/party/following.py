"""A party of several processes: each looks every so often at what the others have written, and takes it up.

Nothing is sent between them: what one has written durably, all others see at their next look.
"""

import asyncio
from collections.abc import Callable, Mapping
from threading import Event, Thread
from time import monotonic

from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.federation.party.party import Party

LOOK_SECONDS = 0.2
STALE_SECONDS = 10.0
"""So long after its last look a process says that it is not well, and a balancer asks another one."""
WAIT_SECONDS = 3.0
"""How long a request waits for a look."""


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
