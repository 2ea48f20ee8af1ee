"""How many devices of a task told their party that they may not answer, by code.

What lasts are counts alone. Which tickets they came with is known while a process runs, so that a device that tells it
again counts once; after a restart, or at another process of the party, it would count twice, which devices avoid by
remembering that they told.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import uuid4

from treetop.federation.service_ports import Journal
from treetop.federation.task import DeviceTask
from treetop.federation.wire.refusals import Refusal
from treetop.federation.wire.signed_documents import canonical_json
from treetop.federation.wire.uploads import ReportStatus


class RefusalCounts:
    """Run by the party: the refusals of one task; an entry of the journal for each time that some came."""

    def __init__(self, journal: Journal, task: DeviceTask) -> None:
        self._journal, self._book = journal, f"refusals:{task.digest.hex()}"
        self._told: dict[int, object] = {}
        """Serial numbers, and which request counts each."""

    @property
    def counts(self) -> Mapping[Refusal, int]:
        """Return how many devices told what, the codes that nobody told left out."""
        found: Counter[str] = Counter()
        for content in self._journal.read(self._book).values():
            found.update(json.loads(content))
        return {code: found[code] for code in Refusal if found[code]}

    def add(self, told: Sequence[tuple[int, Refusal]]) -> list[ReportStatus]:
        """Count what devices tell with tickets of these serial numbers; once for each, by what it told first."""
        request, first = object(), dict[int, Refusal]()
        for serial, code in told:  # requests come in threads: of those with one ticket, `setdefault` lets one pass
            if self._told.setdefault(serial, request) is request:
                first.setdefault(serial, code)
        if first:
            self._count(first)
        new = set(first)
        return [_accepted_once(new, serial) for serial, _ in told]

    def _count(self, first: Mapping[int, Refusal]) -> None:
        """Keep counts, under a name that nobody else takes and that says nothing: a party may be several processes."""
        counted = Counter(code.value for code in first.values())
        try:
            self._journal.write(self._book, uuid4().hex, canonical_json(counted))
        except BaseException:
            for serial in first:  # they are told to come again
                del self._told[serial]
            raise


def _accepted_once(new: set[int], serial: int) -> ReportStatus:
    if serial not in new:
        return ReportStatus.REPLAYED
    new.remove(serial)
    return ReportStatus.ACCEPTED
