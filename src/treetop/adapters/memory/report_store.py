"""A store of reports that lasts as long as the process, written as plainly as the port describes it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_bytes
from threading import RLock

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.service_ports import SECRET_BYTES, AdmittedReport, ClosedEnrolment
from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group

STRETCH = 4096


@dataclass
class _Task:
    document: bytes
    tickets: int = 0
    enrolled: set[int] = field(default_factory=set)
    enrolment: ClosedEnrolment | None = None
    checks: dict[int, bytes] = field(default_factory=dict)
    secrets: dict[Group, bytes] = field(default_factory=dict, repr=False)
    counts: dict[Group, int] = field(default_factory=dict)
    bodies: dict[Group, dict[int, bytes]] = field(default_factory=dict)
    closed: set[Group] = field(default_factory=set)
    scrubbed: set[Group] = field(default_factory=set)
    forgotten: bool = False


class MemoryReportStore:
    """The `ReportStore` of a federation inside one process, and what other stores are compared with."""

    def __init__(self) -> None:
        self._tasks: dict[bytes, _Task] = {}
        self._turn = RLock()

    def add_task(self, task: bytes, document: bytes) -> None:
        """Keep a signed task under its digest; again, the same document, does nothing."""
        with self._turn:
            known = self._tasks.setdefault(task, _Task(document))
            if not known.forgotten and known.document != document:
                raise InvalidInput("task_differs", task=task.hex())

    def tasks(self) -> Mapping[bytes, bytes]:
        """Return every task's document by digest, in the order they were added, less those forgotten."""
        with self._turn:
            return {digest: task.document for digest, task in self._tasks.items() if not task.forgotten}

    def issue_tickets(self, task: bytes, count: int) -> range:
        """Return serial numbers that were never returned before."""
        with self._turn:
            known = self._known(task)
            if known.forgotten or count < 1:
                raise InvalidInput("ticket_count", count=count)
            known.tickets += count
            return range(known.tickets - count, known.tickets)

    def tickets_issued(self, task: bytes) -> int:
        """Return how many serial numbers were issued."""
        return self._known(task).tickets

    def enrol(self, task: bytes, serials: Sequence[int]) -> list[ReportStatus]:
        """Enrol devices (rounds): accepted, replayed, or enrolment_closed; who is in stays `replayed`."""
        with self._turn:
            return [self._enrol_one(self._known(task), serial) for serial in serials]

    @staticmethod
    def _enrol_one(task: _Task, serial: int) -> ReportStatus:
        if serial in task.enrolled:
            return ReportStatus.REPLAYED
        if task.enrolment or task.forgotten:
            return ReportStatus.ENROLMENT_CLOSED
        task.enrolled.add(serial)
        return ReportStatus.ACCEPTED

    def close_enrolment(self, task: bytes) -> ClosedEnrolment:
        """Enrol nobody from here on; again, the same answer."""
        with self._turn:
            known = self._known(task)
            known.enrolment = known.enrolment or ClosedEnrolment.of(sorted(known.enrolled))
            return known.enrolment

    def enrolled(self, task: bytes) -> Iterator[int]:
        """Yield the serial numbers enrolled, ascending."""
        with self._turn:
            return iter(sorted(self._known(task).enrolled))

    def submit(self, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
        """Keep reports: accepted, replayed (same check), ticket_spent (another), level_closed."""
        with self._turn:
            for report in reports:
                self._known(report.task)
            return [self._submit_one(self._tasks[report.task], report) for report in reports]

    @staticmethod
    def _submit_one(task: _Task, report: AdmittedReport) -> ReportStatus:
        if task.forgotten:
            return ReportStatus.TICKET_SPENT
        secret = task.secrets.setdefault(report.group, token_bytes(SECRET_BYTES))
        if report.serial in task.checks:
            same = report.group in task.scrubbed or task.checks[report.serial] == report.check(secret)
            return ReportStatus.REPLAYED if same else ReportStatus.TICKET_SPENT
        if report.group in task.closed:
            return ReportStatus.LEVEL_CLOSED
        task.checks[report.serial] = report.check(secret)
        task.counts[report.group] = task.counts.get(report.group, 0) + 1
        task.bodies.setdefault(report.group, {})[report.serial] = report.body
        return ReportStatus.ACCEPTED

    def close_group(self, task: bytes, group: Group) -> int:
        """Accept nothing for a group from here on; return its reports; again, the same answer."""
        with self._turn:
            known = self._known(task)
            known.closed.add(group)
            return known.counts.get(group, 0)

    def counts(self, task: bytes) -> Mapping[Group, int]:
        """Return the reports of every group that has any."""
        with self._turn:
            return dict(self._known(task).counts)

    def bodies(self, task: bytes, group: Group) -> Iterator[list[bytes]]:
        """Yield the bodies of a closed group in stretches, in ascending order of their bytes."""
        with self._turn:
            known = self._closed(task, group)
            if group in known.scrubbed:
                raise InvalidInput("bodies_scrubbed", group=group)
            bodies = sorted(known.bodies.get(group, {}).values())
        return (bodies[start : start + STRETCH] for start in range(0, len(bodies), STRETCH))

    def scrub(self, task: bytes, group: Group) -> None:
        """Forget the bodies of a closed group once they were exported, and its secret; that tickets were used stays."""
        with self._turn:
            known = self._closed(task, group)
            known.bodies.pop(group, None)
            known.secrets.pop(group, None)
            known.scrubbed.add(group)

    def forget(self, task: bytes) -> None:
        """Forget everything of a task but that it was here: its tickets stay spent, whoever presents one."""
        with self._turn:
            known = self._known(task)
            enrolment = known.enrolment or ClosedEnrolment(len(known.enrolled), bytes(32))
            self._tasks[task] = _Task(b"", known.tickets, enrolment=enrolment, forgotten=True)

    def close(self) -> None:
        """Do nothing: there are no files to close."""

    def _known(self, task: bytes) -> _Task:
        if task not in self._tasks:
            raise UnknownName("task", task.hex(), [known.hex() for known in self._tasks])
        return self._tasks[task]

    def _closed(self, task: bytes, group: Group) -> _Task:
        known = self._known(task)
        if group not in known.closed:
            raise InvalidInput("group_not_closed", group=group)
        return known
