"""What a service counts about itself, as Prometheus reads it; nothing in it tells of a device or an address.

Counting is a plain addition, because every request does it; metric families are made when somebody reads them. Nothing
goes through the library's global registry, which describes the process and its machine.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import Response

from treetop.federation.wire.uploads import ReportStatus

HOUR_SECONDS = 3600
HOURS_SHOWN = 72
"""Hours whose number of reports is kept for the party's page."""
Samples = Iterable[tuple[Sequence[str], float]]
"""The values of a number's labels, and the number."""


class RequestMetrics:
    """Requests of one process, since its start."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self.hang_ups = 0

    def request(self, route: str, status: int) -> None:
        """Count one answered request."""
        with self._lock:
            self._requests[route, status // 100] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        with self._lock:
            counted = sorted(self._requests.items())
        requests = [((route, f"{status}xx"), number) for (route, status), number in counted]
        yield counter("requests", "Requests answered, by route and class of status.", requests, "route", "status")
        yield counter("hang_ups", "Clients that left in mid-request.", [((), self.hang_ups)])


class PartyMetrics(RequestMetrics):
    """Counters of a party."""

    def __init__(self) -> None:
        super().__init__()
        self._verdicts: defaultdict[bytes, Counter[ReportStatus]] = defaultdict(Counter)
        self._hours: Counter[int] = Counter()
        self.waiting = 0
        """Reports that were handed to the store and are not answered yet."""
        self.max_waiting = 0
        self._commits = 0
        self._commit_seconds = 0.0

    def verdicts(self, task: bytes, verdicts: Iterable[ReportStatus]) -> None:
        """Count what became of reports or enrolments of a task."""
        with self._lock:
            self._verdicts[task].update(verdicts)

    def verdicts_of(self, task: bytes) -> dict[str, int]:
        """Return what became of a task's reports and enrolments since the start of this process."""
        with self._lock:
            return {verdict.value: number for verdict, number in self._verdicts[task].items()}

    def accepted(self, reports: int) -> None:
        """Count reports that were accepted in this hour; nothing keeps when one came."""
        hour = int(time.time()) // HOUR_SECONDS
        with self._lock:
            self._hours[hour] += reports
            if len(self._hours) > HOURS_SHOWN:
                del self._hours[min(self._hours)]

    def hours(self) -> dict[int, int]:
        """Return the reports of every hour that had any, as seconds since 1970; those of the last days."""
        with self._lock:
            return {hour * HOUR_SECONDS: reports for hour, reports in sorted(self._hours.items())}

    def handed_over(self, reports: int) -> None:
        """Count reports that wait for the store."""
        with self._lock:
            self.waiting += reports
            self.max_waiting = max(self.max_waiting, self.waiting)

    def taken_back(self, reports: int, seconds: float) -> None:
        """Count reports that the store has answered."""
        with self._lock:
            self.waiting -= reports
            self._commits += 1
            self._commit_seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield every family, those of requests first."""
        yield from super().collect()
        with self._lock:
            by_task = {task: Counter(verdicts) for task, verdicts in self._verdicts.items()}
        in_all = sum(by_task.values(), Counter[ReportStatus]())
        verdicts = [((verdict.value,), in_all[verdict]) for verdict in ReportStatus]
        yield counter("verdicts", "Reports and enrolments, by verdict.", verdicts, "verdict")
        of_tasks = [
            ((task.hex(), verdict.value), number)
            for task, counted in by_task.items()
            for verdict, number in counted.items()
        ]
        yield counter("task_verdicts", "The same by task.", of_tasks, "task", "verdict")
        yield gauge("reports_waiting", "Reports that wait for the store.", [((), self.waiting)])
        yield SummaryMetricFamily(
            "treetop_commit_seconds", "Seconds that uploads waited for the store.", self._commits, self._commit_seconds
        )


def metrics_response(service: Collector) -> Response:
    """Return all families of a service as text."""
    return Response(generate_latest(service), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def counter(name: str, what: str, samples: Samples, *labels: str) -> Metric:
    """Return numbers that only grow; `_total` is put behind the name."""
    return _filled(CounterMetricFamily(f"treetop_{name}", what, labels=labels), samples)


def gauge(name: str, what: str, samples: Samples, *labels: str) -> Metric:
    """Return numbers that come and go."""
    return _filled(GaugeMetricFamily(f"treetop_{name}", what, labels=labels), samples)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, samples: Samples) -> Metric:
    for values, number in samples:
        family.add_metric(values, number)
    return family
