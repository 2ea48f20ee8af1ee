"""What a party's endpoints share: the role, the writer of reports, keys, counters, the log, and its standing.

The standing is numbers for the server's operator and for the party's own page. Counting may take a while in a large
store, so a count is reused for a time.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar, cast

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from treetop.adapters.http.endpoint_settings import AccessKeys
from treetop.adapters.http.metrics import PartyMetrics, gauge
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import StoreDamaged, StoreUnavailable, TreetopError
from treetop.federation.party.party import OpenTask, Party
from treetop.federation.service_ports import ReportStore
from treetop.federation.wire.uploads import Refusal
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.query_workers import Following, QueryWorkers
from treetop.services.party.schemas import PartyStanding, TaskStanding
from treetop.services.party.settings import Limits
from treetop.trie.user_groups import Group

REUSED_SECONDS = 1.0
"""A count is reused for this long at least."""
TIMES_AS_LONG = 20.0
"""A count that took t seconds is reused for max(1, 20 t) seconds: pages cost at most 5 % of one core."""
DAY_SECONDS = 86400
DISTRIBUTION = "treetop-ldp"
Counted = TypeVar("Counted")


class StandingCounts:
    """Run by the party: counts tickets, devices and reports; neither a value nor a ticket is looked at."""

    def __init__(
        self,
        party: Party,
        store: ReportStore,
        metrics: PartyMetrics,
        damaged: Mapping[str, str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._party = party
        self._store = store
        self._metrics = metrics
        self._damaged = damaged
        self._monotonic = monotonic
        self._version = version(DISTRIBUTION)  # read from a file: once
        self._known: dict[Hashable, tuple[float, Any]] = {}

    def of_party(self) -> PartyStanding:
        """Return the party's own numbers."""
        issued = self._again("tickets", lambda: [self._store.tickets_issued(task) for task in list(self._party.tasks)])
        return PartyStanding(
            party=self._party.name,
            version=self._version,
            tickets=max(issued, default=0),
            reports_today=self.today,
            damaged=list(self._damaged),
            refusals=self._again("refusals", self._newest_refusals),
        )

    def _newest_refusals(self) -> dict[Refusal, int]:
        for opened in reversed(list(self._party.tasks.values())):
            refusals = dict(opened.published.refusals.counts)
            if refusals or any(self._store.counts(opened.task.digest).values()):
                return refusals
        return {}

    @property
    def today(self) -> int:
        """Return the reports accepted since midnight (UTC), or since the start of the service."""
        midnight = int(time.time()) // DAY_SECONDS * DAY_SECONDS
        return sum(reports for hour, reports in self._metrics.hours().items() if hour >= midnight)

    def of_task(self, opened: OpenTask) -> TaskStanding:
        """Return the numbers of one task."""
        task = opened.task.digest
        tickets, enrolled, groups = self._again(
            ("task", task),
            lambda: (
                self._store.tickets_issued(task),
                self._enrolled(opened),
                dict(self._store.counts(task)),
            ),
        )
        return TaskStanding(
            tickets=tickets,
            enrolled=enrolled,
            reports=sum(groups.values()),
            verdicts=self._metrics.verdicts_of(task),
            refusals=dict(opened.published.refusals.counts),
        )

    def groups(self, opened: OpenTask) -> Mapping[Group, int]:
        """Return the reports of a task by group."""
        return self._again(("groups", opened.task.digest), lambda: dict(self._store.counts(opened.task.digest)))

    def hours(self) -> Mapping[int, int]:
        """Return the reports by hour, since the start of the service."""
        return self._metrics.hours()

    def _enrolled(self, opened: OpenTask) -> int | None:
        """Return how many devices are enrolled; from the groups they were drawn into, once they are."""
        if opened.task.one_shot:
            return None
        drawn = opened.admission.group_sizes
        return sum(drawn.values()) if drawn else sum(1 for _ in self._store.enrolled(opened.task.digest))

    def _again(self, about: Hashable, count: Callable[[], Counted]) -> Counted:
        now = self._monotonic()
        until, known = self._known.get(about, (0.0, None))
        if now < until:
            return cast(Counted, known)
        counted = count()
        done = self._monotonic()
        self._known[about] = done + max(REUSED_SECONDS, TIMES_AS_LONG * (done - now)), counted
        return counted


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
