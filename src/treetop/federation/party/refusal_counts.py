"""How many devices of a task said to their party that they may not answer, by code.

What lasts are counts alone. Which tickets they came with is known while a process runs, so that a device that tells it
again counts once; after a restart, or at another process of the party, it would count twice, which devices avoid by
remembering that they said so.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import uuid4

from treetop.federation.documents import canonical_json
from treetop.federation.service_ports import Journal
from treetop.federation.task import DeviceTask
from treetop.federation.wire.refusals import Refusal
from treetop.federation.wire.uploads import ReportStatus


class RefusalCounts:
    """Run by the party: the refusals of one task; an entry of the journal for each time that some came."""

    def __init__(self, journal: Journal, task: DeviceTask) -> None:
        self._journal = journal
        self._book = f"refusals:{task.digest.hex()}"
        self._counted: dict[int, object] = {}
        """Serial numbers, and which request counts each."""

    @property
    def counts(self) -> Mapping[Refusal, int]:
        """Return how many devices gave each code; codes that nobody gave are left out."""
        found: Counter[str] = Counter()
        for content in self._journal.read(self._book).values():
            found.update(json.loads(content))
        return {code: found[code] for code in Refusal if found[code]}

    def add(self, refusals: Sequence[tuple[int, Refusal]]) -> list[ReportStatus]:
        """Count the codes that came with tickets of these serial numbers: of each ticket the first one."""
        request = object()
        first = dict[int, Refusal]()
        for serial, code in refusals:  # requests come in threads: of those with one ticket, `setdefault` lets one pass
            if self._counted.setdefault(serial, request) is request:
                first.setdefault(serial, code)
        if first:
            self._count(first)
        new = set(first)
        return [_accepted_once(new, serial) for serial, _ in refusals]

    def _count(self, first: Mapping[int, Refusal]) -> None:
        """Keep counts, under a name that nobody else takes and that says nothing: a party may be several processes."""
        counted = Counter(code.value for code in first.values())
        try:
            self._journal.write(self._book, uuid4().hex, canonical_json(counted))
        except BaseException:
            for serial in first:  # they are told to come again
                del self._counted[serial]
            raise


def _accepted_once(new: set[int], serial: int) -> ReportStatus:
    if serial not in new:
        return ReportStatus.REPLAYED
    new.remove(serial)
    return ReportStatus.ACCEPTED
