"""What the queries of one process share: memory. One of them counts at a time, and a few keep what they counted.

Counting every name of 24 bits takes 170 MB while it lasts, and 34 to 67 MB until the query is over. Queries that are
closed at the same moment would take all of it together.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

MAX_KEPT = 16
"""Queries that keep what they counted: a gigabyte at most."""


class CountingTurns:
    """Run by the party: whose turn it is to count, and who may keep what was counted."""

    def __init__(self, max_kept: int = MAX_KEPT) -> None:
        self.turn = Lock()
        """Held by the query that counts."""
        self._max_kept, self._lock = max_kept, Lock()
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
