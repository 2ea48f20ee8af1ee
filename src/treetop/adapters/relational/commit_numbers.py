"""Every commit has a number, and the last one is also kept outside the store: a store that was put back shows.

The file outside is overwritten once a commit is durable, so it is never ahead of the store, and no crash makes a good
store look old. Flushing it is left to a thread: a power cut may take its last second, the store's commits stay.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Literal

from treetop.adapters.relational.tables import Rows, StoreState
from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.errors import StoreRefused, StoreUnavailable
from treetop.secret_files import private_folder

FLUSH_SECONDS = 1.0
"""Between two flushes of the file outside, which no commit waits for."""
Share = Literal["alone", "coordinator", "intake"]
"""One process alone; or one coordinator and any number of intakes, over PostgreSQL."""
_RECORD = re.compile(rb"([0-9]{20}) ([0-9a-f]{32})\n")


def _say_nothing(_event: str, **_fields: object) -> None:
    pass


@dataclass(frozen=True)
class Opening:
    """For whom a store is opened, and how."""

    owner: str = ""
    """Such as "party 'north'"; empty: any owner, for looking into the store."""
    accept_older: bool = False
    """Go on with a store that is older than the one that was last open here."""
    commit_file: Path | None = None
    """Where the last commit's number is kept; beside an SQLite file unless named."""
    say: Callable[..., None] = _say_nothing
    """Told what was accepted."""
    share: Share = "alone"
    """Which other processes may have it open."""


class CommitFile:
    """The number of the last commit and the identity of its store, overwritten in place."""

    def __init__(self, where: str, path: Path) -> None:
        self._where = where
        self._path = path
        self._handle = -1
        self._unflushed = False
        self._closing = Event()
        self._flusher = Thread(target=self._flush_on, name="treetop commit file", daemon=True)

    def read(self) -> tuple[int, bytes] | None:
        """Return number and identity, or None where no store has been open."""
        content = content_of(self._path)
        if content is None:
            return None
        found = _RECORD.fullmatch(content)
        if found is None:
            raise StoreRefused(
                self._where,
                f"{self._path.name} should hold the number of its last commit, found something else. Remove that file "
                "if you are sure that the store is the newest one",
            )
        return int(found[1]), bytes.fromhex(found[2].decode("ascii"))

    def write(self, number: int, identity: bytes) -> None:
        """Overwrite what is there; the first time, durably."""
        record = b"%020d %s\n" % (number, identity.hex().encode("ascii"))
        if self._handle < 0:
            private_folder(self._path.parent)
            replace_durably(self._path, record)
            self._handle = os.open(self._path, os.O_WRONLY | os.O_NOFOLLOW)
            self._flusher.start()
        else:
            os.pwrite(self._handle, record, 0)
            self._unflushed = True

    def close(self) -> None:
        """Flush and close it; again, nothing."""
        if self._handle >= 0:
            self._closing.set()
            self._flusher.join()
            self._flush()
            os.close(self._handle)
            self._handle = -1

    def _flush_on(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self._flush()

    def _flush(self) -> None:
        if self._unflushed:
            self._unflushed = False
            with suppress(OSError):  # a disk that fails is told by the store's own commits
                os.fdatasync(self._handle)


class CommitNumbers:
    """What a database asks when it is opened, before every commit, and after it."""

    def __init__(self, where: str, file: Path | None, opening: Opening) -> None:
        self._where = where
        self._opening = opening
        self._last = 0
        self._lock = Lock()
        self._file = CommitFile(where, file) if file else None

    def take_over(self, rows: Rows) -> None:
        """In the first transaction: refuse a store of somebody else, and one that is older than it should be."""
        store = rows.state(StoreState, 1)
        wanted = self._opening.owner
        if store.owner and wanted and store.owner != wanted:
            raise StoreRefused(self._where, f"it belongs to {store.owner}, and this is {wanted}")
        number, identity = (self._file and self._file.read()) or (0, store.identity)
        if identity != store.identity or number > store.commits:
            self._refuse_older(store, number, identity)
        rows.save(store._replace(owner=store.owner or wanted, commits=max(number, store.commits)))

    def next(self, rows: Rows) -> StoreState | None:
        """Number a transaction that is about to commit, unless it has written nothing."""
        if not rows.written:
            return None
        store = rows.state(StoreState, 1)
        if store.commits < self._last:
            raise StoreUnavailable("store_rolled_back", where=self._where, commits=store.commits, last=self._last)
        numbered = store._replace(commits=store.commits + 1)
        rows.save(numbered)
        return numbered

    def committed(self, store: StoreState | None) -> None:
        """Remember the number of a transaction, now that it is durable; threads may come in another order."""
        with self._lock:
            if store is not None and store.commits > self._last:
                self._last = store.commits
                if self._file:
                    self._file.write(store.commits, store.identity)

    def close(self) -> None:
        """Close the file; again, nothing."""
        if self._file:
            self._file.close()

    def _refuse_older(self, store: StoreState, number: int, identity: bytes) -> None:
        if identity != store.identity:
            what = f"it is not the store that was last open here ({store.identity.hex()[:8]}, not {identity.hex()[:8]})"
        else:
            what = f"it is older (commit {store.commits}) than the one that was last open here (commit {number})"
        if not self._opening.accept_older:
            raise StoreRefused(
                self._where,
                f"{what}, probably a restored backup: reports that it does not know would be accepted again. If that "
                "is what you want, set accept_older_store = true in the party's settings (accept_older_journal = true "
                "in the server's) for one start",
            )
        self._opening.say("older_store_accepted", store=self._where, why=what)
