"""Everything a server's endpoints reach: its queries, keys, counters, limits, the log."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import get_args

from treetop.adapters.http.access_keys import AccessKeys
from treetop.adapters.http.metrics import Labels, RequestMetrics, family
from treetop.adapters.system.structured_log import StructuredLog
from treetop.errors import StoreDamaged, StoreUnavailable, TreetopError
from treetop.services.server.query_manager import QueryManager, QueryPhase
from treetop.services.server.settings import ServerLimits


@dataclass(frozen=True, eq=False)
class ServerHost:
    """Run by the server: what the endpoints share."""

    desk: QueryManager
    public_key: str
    keys: AccessKeys
    log: StructuredLog
    limits: ServerLimits = field(default_factory=ServerLimits)
    metrics: RequestMetrics = field(default_factory=RequestMetrics)

    def note(self, error: TreetopError) -> None:
        """Say what the operator must know: the journal does not work."""
        if isinstance(error, StoreDamaged | StoreUnavailable):
            self.log.client("journal_unavailable", kind=type(error).__name__)

    def metrics_text(self) -> str:
        """Return all counters, as Prometheus reads them."""
        return "".join(line + "\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        states = Counter(query.state for query in self.desk.states())
        yield from self.metrics.request_lines()
        phases: dict[Labels, float] = {(("state", phase),): states[phase] for phase in get_args(QueryPhase)}
        yield from family("queries", "gauge", "Queries of this server, by state.", phases)
        yield from family(
            "parties_left_out_total", "counter", "Parties that a query went on without.", {(): self.desk.left_out}
        )
