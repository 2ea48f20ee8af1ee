"""What a service counts about itself, as Prometheus reads it; nothing in it tells of a device or an address."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock

from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


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

    def request_lines(self) -> Iterator[str]:
        """Yield requests by route and class of status, and those that nobody waited for."""
        with self._lock:
            counted = sorted(self._requests.items())
        requests: dict[Labels, float] = {
            (("route", route), ("status", f"{cls}xx")): number for (route, cls), number in counted
        }
        yield from family("requests_total", "counter", "Requests answered, by route and class of status.", requests)
        yield from family("hang_ups_total", "counter", "Clients that left in mid-request.", {(): self.hang_ups})


class PartyMetrics(RequestMetrics):
    """Counters of a party."""

    def __init__(self) -> None:
        super().__init__()
        self._verdicts: Counter[ReportStatus] = Counter()
        self.waiting = 0
        """Reports that were handed to the store and are not answered yet."""
        self.most_waiting = 0
        self._commits, self._commit_seconds = 0, 0.0

    def verdicts(self, verdicts: Iterable[ReportStatus]) -> None:
        """Count what became of reports."""
        with self._lock:
            self._verdicts.update(verdicts)

    def handed_over(self, reports: int) -> None:
        """Count reports that wait for the store."""
        with self._lock:
            self.waiting += reports
            self.most_waiting = max(self.most_waiting, self.waiting)

    def taken_back(self, reports: int, seconds: float) -> None:
        """Count reports that the store has answered."""
        with self._lock:
            self.waiting -= reports
            self._commits += 1
            self._commit_seconds += seconds

    def text(self, stored: Mapping[bytes, Mapping[Group, int]], damaged: Iterable[str]) -> str:
        """Return everything, with the reports stored by task and group."""
        return "".join(line + "\n" for line in self._lines(stored, damaged))

    def _lines(self, stored: Mapping[bytes, Mapping[Group, int]], damaged: Iterable[str]) -> Iterator[str]:
        verdicts: dict[Labels, float] = {
            (("verdict", verdict.value),): self._verdicts[verdict] for verdict in ReportStatus
        }
        reports: dict[Labels, float] = {
            (("task", task.hex()), ("level", str(group.level)), ("role", group.role.value)): count
            for task, groups in stored.items()
            for group, count in groups.items()
        }
        yield from self.request_lines()
        yield from family("verdicts_total", "counter", "Reports and enrolments, by verdict.", verdicts)
        yield from family("reports_stored", "gauge", "Reports in the store, by task and group.", reports)
        yield from family("reports_waiting", "gauge", "Reports that wait for the store.", {(): self.waiting})
        yield from family("commit_seconds_sum", "counter", "Seconds that uploads waited.", {(): self._commit_seconds})
        yield from family("commit_seconds_count", "counter", "Uploads that the store answered.", {(): self._commits})
        yield from family("store_damaged", "gauge", "Tasks not served.", {(("task", task),): 1 for task in damaged})


def family(name: str, kind: str, what: str, samples: Mapping[Labels, float]) -> Iterator[str]:
    """Yield the lines of one metric with all its labels."""
    yield f"# HELP treetop_{name} {what}"
    yield f"# TYPE treetop_{name} {kind}"
    for labels, number in samples.items():
        inside = ",".join(f'{label}="{value}"' for label, value in labels)
        yield f"treetop_{name}{{{inside}}} {number}" if inside else f"treetop_{name} {number}"
