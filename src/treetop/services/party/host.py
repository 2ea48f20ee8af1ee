"""Everything a party's endpoints reach: the role, the writer of reports, keys, counters, the log."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from treetop.adapters.http.access_keys import AccessKeys
from treetop.adapters.http.metrics import PartyMetrics
from treetop.adapters.system.structured_log import StructuredLog
from treetop.errors import StoreDamaged, StoreUnavailable, TreetopError
from treetop.federation.party.party import Party
from treetop.federation.service_ports import AdmittedReport, ReportStore
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.settings import Limits
from treetop.trie.user_groups import Group


class ReportWriter(Protocol):
    """Writes reports of many callers in few commits."""

    def submit(self, reports: Sequence[AdmittedReport]) -> "Future[list[ReportStatus]]":
        """Return what will be the verdicts once they are durable; raise `StoreBusy` when too many wait."""
        ...


class Awakener(Protocol):
    """Whoever works on the server's messages."""

    def wake(self, task: bytes) -> None:
        """Let it look for messages about a task."""
        ...


@dataclass(frozen=True, eq=False)
class PartyHost:
    """Run by the party: what the endpoints share."""

    party: Party
    store: ReportStore
    writer: ReportWriter
    workers: Awakener
    keys: AccessKeys
    log: StructuredLog
    limits: Limits = field(default_factory=Limits)
    metrics: PartyMetrics = field(default_factory=PartyMetrics)
    damaged: dict[str, str] = field(default_factory=dict)
    """What is wrong with the store, by task."""

    def note(self, error: TreetopError) -> None:
        """Remember damage, so that health tells of it; say once what the operator must know."""
        if isinstance(error, StoreDamaged) and error.task not in self.damaged:
            self.damaged[error.task] = error.what
            self.log.say("store_damaged", task=error.task)
        elif isinstance(error, StoreUnavailable):
            self.log.client("store_unavailable", kind=type(error).__name__)

    def stored(self) -> dict[bytes, dict[Group, int]]:
        """Return the reports in the store by task and group; of a store that does not answer, nothing."""
        try:
            return {task: dict(self.store.counts(task)) for task in self.party.tasks}
        except TreetopError as error:
            self.note(error)
            return {}
