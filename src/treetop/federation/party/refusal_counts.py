"""How many devices of a task told their party that they may not answer, by code.

What lasts are counts alone. Which tickets they came with is known while the process runs, so that a device that tells
again counts once; after a restart of the party, or at another of its processes, it would count twice, which devices
avoid by remembering that they told.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from threading import Lock
from uuid import uuid4

from treetop.federation.service_ports import Journal
from treetop.federation.task import DeviceTask
from treetop.federation.wire.refusals import Refusal
from treetop.federation.wire.signed_documents import canonical_json
from treetop.federation.wire.uploads import ReportStatus


class RefusalCounts:
    """Run by the party: the refusals of one task; an entry of the journal for each time that some came."""

    def __init__(self, journal: Journal, task: DeviceTask) -> None:
        self._journal, self._book, self._turn = journal, f"refusals:{task.digest.hex()}", Lock()
        self._reading = Lock()
        self._counts: Counter[str] = Counter()
        self._read, self._told = 0, bytearray()
        self._writer, self._written = uuid4().hex, 0
        """Several processes of a party write into one book, each under names of its own."""
        self.reread()

    def reread(self) -> None:
        """Take note of what other processes of this party have counted."""
        with self._reading:
            entries = self._journal.read(self._book)
            for content in islice(entries.values(), self._read, None):
                self._counts.update(json.loads(content))
            self._read = len(entries)

    @property
    def counts(self) -> Mapping[Refusal, int]:
        """Return how many devices told what, the codes that nobody told left out."""
        return {code: self._counts[code] for code in Refusal if self._counts[code]}

    def add(self, told: Sequence[tuple[int, Refusal]]) -> list[ReportStatus]:
        """Count what devices tell with tickets of these serial numbers; once for each, by what it told first."""
        with self._turn:
            last = max(serial for serial, _ in told)
            seen = self._told + bytes(max(0, last + 1 - len(self._told)))
            new, statuses = Counter[str](), list[ReportStatus]()
            for serial, code in told:
                statuses.append(ReportStatus.REPLAYED if seen[serial] else ReportStatus.ACCEPTED)
                new[code.value] += not seen[serial]
                seen[serial] = 1
            if new := +new:
                self._journal.write(self._book, f"{self._writer}:{self._written + 1}", canonical_json(new))
                self._written += 1
            self._told = seen
            self.reread()
            return statuses
