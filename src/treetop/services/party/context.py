"""What a party's endpoints share: the role, the writer of reports, keys, counters, the log."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from treetop.adapters.http.endpoint_settings import AccessKeys
from treetop.adapters.http.metrics import PartyMetrics, gauge
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import StoreDamaged, StoreUnavailable, TreetopError
from treetop.federation.party.party import Party
from treetop.federation.service_ports import ReportStore
from treetop.services.party.counts import StandingCounts
from treetop.services.party.following import Following
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.query_workers import QueryWorkers
from treetop.services.party.settings import Limits


@dataclass(frozen=True, eq=False)
class PartyContext(Collector):
    """Run by the party: everything its endpoints reach."""

    party: Party
    store: ReportStore
    writer: GroupCommit
    workers: QueryWorkers
    keys: AccessKeys
    log: StructuredLog
    limits: Limits = field(default_factory=Limits)
    metrics: PartyMetrics = field(default_factory=PartyMetrics)
    damaged: dict[str, str] = field(default_factory=dict)
    """What is wrong with the store, by task."""
    allowed_origins: tuple[str, ...] = ()
    """Whose pages may talk to the party as devices do."""
    hosts: frozenset[str] | None = None
    """Names that the party answers to; None: to any."""
    others: Following | None = None
    """None where a party is one process."""
    standing: StandingCounts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "standing", StandingCounts(self.party, self.store, self.metrics, self.damaged))

    def note(self, error: TreetopError) -> None:
        """Remember damage, so that health reports it; log once what the operator must know."""
        if isinstance(error, StoreDamaged) and error.task not in self.damaged:
            self.damaged[error.task] = error.what
            self.log.say("store_damaged", task=error.task)
        elif isinstance(error, StoreUnavailable):
            self.log.client("store_unavailable", kind=type(error).__name__)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics; of a store that does not answer, no reports."""
        yield from self.metrics.collect()
        try:
            stored = [
                ((task.hex(), str(group.level), group.role.value), count)
                for task in self.party.tasks
                for group, count in self.store.counts(task).items()
            ]
        except TreetopError as error:
            self.note(error)
            stored = []
        yield gauge("reports_stored", "Reports in the store, by task and group.", stored, "task", "level", "role")
        yield gauge("store_damaged", "Tasks not served.", [((task,), 1) for task in self.damaged], "task")
