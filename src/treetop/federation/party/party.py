"""The party's role: tasks of a server it trusts, tickets for its own users, one report for each, replies to the server.

What is durable is in the store and the journal; everything here can be rebuilt from them (`take_up`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from treetop.errors import InvalidInput, PeerViolation, TreetopError, UnknownName
from treetop.federation.party.admission import LEEWAY_SECONDS, Screened, TaskAdmission
from treetop.federation.party.published_documents import CheckedBefore, PublishedDocuments, campaign_document
from treetop.federation.party.query import PartyQuery
from treetop.federation.ports import Clock, Verifier
from treetop.federation.service_ports import Journal, ReportStore
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import checked_task
from treetop.federation.wire.uploads import MAX_ENTRIES, MAX_TICKETS, ReportStatus, TicketKey, decoded_refusals

MAX_TICKETS_AT_ONCE = 100_000
TaskState = Literal["open", "closed"]


class TaskClosed(TreetopError):
    """Something that only an open task, or one of the other mode, can do."""


@dataclass(frozen=True, eq=False)
class OpenTask:
    """Everything about a task that a party has accepted."""

    task: DeviceTask
    document: bytes
    admission: TaskAdmission
    published: PublishedDocuments
    query: PartyQuery

    @property
    def state(self) -> TaskState:
        """Return whether devices can still do something about it."""
        return "closed" if self.published.over else "open"


OpenQuery = Callable[[TaskAdmission, PublishedDocuments], PartyQuery]


class Party:
    """Run by the party: all that its devices, its back end and the server can ask of it."""

    def __init__(
        self,
        name: str,
        store: ReportStore,
        journal: Journal,
        *,
        clock: Clock,
        key: TicketKey,
        verifier: Verifier,
        open_query: OpenQuery,
        least_reports: int,
    ) -> None:
        """`least_reports` is the party's own floor: it counts no group of fewer, whatever a task allows."""
        self._least_reports = least_reports
        self.name = name
        self._store = store
        self._journal = journal
        self._clock = clock
        self._key = key
        self.verifier = verifier
        self._open_query = open_query
        self._tasks: dict[bytes, OpenTask] = {}

    def take_up(self) -> None:
        """Go on with every task in the store: after a start, or when another process has added one."""
        for digest, document in self._store.tasks().items():
            if digest in self._tasks:
                continue
            self._take(checked_task(document, CheckedBefore()), document)

    @property
    def tasks(self) -> Mapping[bytes, OpenTask]:
        """Return the tasks by digest, in the order they came."""
        return self._tasks

    def task(self, digest: bytes) -> OpenTask:
        """Return one task."""
        try:
            return self._tasks[digest]
        except KeyError:
            raise UnknownName("task", digest.hex(), [known.hex() for known in self._tasks]) from None

    def install(self, document: bytes) -> bytes:
        """Accept a signed task and return its digest; again, it does nothing."""
        task = checked_task(document, self.verifier)
        if task.digest not in self._tasks:
            self._check_ours(task)
            self._store.add_task(task.digest, document)
            self._take(task, document)
        return task.digest

    def give_list(self, digest: bytes, document: bytes) -> None:
        """Take the list that a task names, or refuse another; again, it does nothing."""
        self.task(digest).published.post_item_list(document)

    def give_campaign(self, digest: bytes, document: bytes) -> None:
        """Take the campaign that a task is a week of, or refuse another; again, it does nothing."""
        self.task(digest).published.post_campaign(document, self.verifier)

    def campaign(self, digest: str) -> bytes | None:
        """Return the signed document of a campaign that a task of this party is a week of."""
        return campaign_document(self._journal, digest)

    def issue(self, digest: bytes, count: int) -> list[str]:
        """Return tickets for the party's own users."""
        opened = self.task(digest)
        if not 1 <= count <= MAX_TICKETS_AT_ONCE:
            raise InvalidInput("tickets_at_once", max_tickets_at_once=MAX_TICKETS_AT_ONCE, count=count)
        deadlines = opened.task.deadlines
        last = deadlines.reports if opened.task.one_shot else deadlines.enrolment
        if opened.state == "closed" or opened.published.beacon or self._clock.now() > last:
            raise TaskClosed("tickets_after_close")
        if self._store.tickets_issued(digest) + count > MAX_TICKETS:
            raise InvalidInput("too_many_tickets", max_tickets=MAX_TICKETS)
        return [self._key.write(digest, serial).text for serial in self._store.issue_tickets(digest, count)]

    def enrol(self, digest: bytes, tickets: bytes) -> list[ReportStatus]:
        """Enrol devices for a task in rounds: one verdict for each ticket."""
        opened = self.task(digest)
        now = self._clock.now()
        if opened.task.one_shot:
            raise TaskClosed("no_enrolment")
        found = opened.admission.serials_of(tickets, now)
        serials = [serial for serial in found if not isinstance(serial, ReportStatus)]
        answers = iter(self._enrolled(opened, serials, now) if serials else ())
        return [verdict if isinstance(verdict, ReportStatus) else next(answers) for verdict in found]

    def _enrolled(self, opened: OpenTask, serials: list[int], now: int) -> list[ReportStatus]:
        """Refuse late devices without closing anything: the clock may have jumped. Once closed, the store knows."""
        late = now > opened.task.deadlines.enrolment + LEEWAY_SECONDS
        if late and opened.published.beacon is None:
            return [ReportStatus.ENROLMENT_CLOSED] * len(serials)
        return self._store.enrol(opened.task.digest, serials)

    def check_tickets(self, digest: bytes, tickets: bytes) -> list[ReportStatus]:
        """Say which tickets are the party's own, before devices spend a budget on them; nothing is kept."""
        opened = self.task(digest)
        now = self._clock.now()
        good = opened.admission.in_time(now) or ReportStatus.ACCEPTED
        found = opened.admission.serials_of(tickets, now)
        return [verdict if isinstance(verdict, ReportStatus) else good for verdict in found]

    def count_refusals(self, digest: bytes, refusals: bytes) -> list[ReportStatus]:
        """Count devices that may not answer a task, by what they tell; without a ticket of its own none is counted."""
        opened = self.task(digest)
        now = self._clock.now()
        untimely = opened.admission.in_time(now)
        cut = decoded_refusals(refusals)
        found = [untimely or opened.admission.serial_of(ticket, now) for ticket, _ in cut]
        counted = [
            (serial, code) for serial, (_, code) in zip(found, cut, strict=True) if not isinstance(serial, ReportStatus)
        ]
        answers = iter(opened.published.refusals.add(counted) if counted else ())
        return [verdict if isinstance(verdict, ReportStatus) else next(answers) for verdict in found]

    def screened(self, digest: bytes, upload: bytes, most: int = MAX_ENTRIES) -> Screened:
        """Admit or refuse every report of an upload; what was admitted goes to the store next."""
        return self.task(digest).admission.screened(upload, self._clock.now(), most)

    def work(self, digest: bytes) -> bool:
        """Answer the server's next message about a task, and note when it was the last; return False if none waits."""
        opened = self.task(digest)
        self._admit(opened)
        worked = opened.query.work()
        if opened.query.finished and not opened.published.over:
            opened.published.note_over()
        return worked

    def follow(self, digest: bytes) -> None:
        """Publish and admit what another process of this party has published or closed."""
        opened = self.task(digest)
        opened.published.reread()
        self._admit(opened)
        for group in (entry.group for entry in opened.task.groups):
            if opened.published.is_closed(group):
                opened.admission.note_closed(group)

    def _admit(self, opened: OpenTask) -> None:
        """Rounds: assign the enrolled and open the lists, unless that was done when they were published."""
        beacon = opened.published.read_beacon
        if beacon is None:
            return
        if not opened.admission.group_sizes:
            opened.admission.assign(self._store.enrolled(opened.task.digest), beacon.beacon)
        for group in opened.published.lists:
            if not opened.admission.is_open(group):
                opened.admission.open_list(opened.published.read_list(group))

    def _check_ours(self, task: DeviceTask) -> None:
        if self.name not in task.parties:
            raise PeerViolation("parties of the task", f"{self.name!r} among them", ", ".join(task.parties) or "none")
        # A task's own minimum is the server's word. A server that also picks the beacon can put one ticket alone into a
        # group, and without this floor the party would publish what that one report says.
        if min(task.least.estimate, task.least.validation) < self._least_reports:
            raise PeerViolation("least reports of a group", f"{self._least_reports} at least", vars(task.least))
        if task.deadlines.reports < self._clock.now():
            raise PeerViolation("deadline of the task", "one to come", task.deadlines.reports)
        if task.deadlines.level_seconds < 1:
            raise PeerViolation("seconds of a level", "1 at least", task.deadlines.level_seconds)

    def _take(self, task: DeviceTask, document: bytes) -> None:
        admission = TaskAdmission(task, self.name, self._key)
        published = PublishedDocuments(self._journal, task)
        for entry in task.groups:
            if published.is_closed(entry.group):
                admission.note_closed(entry.group)
        query = self._open_query(admission, published)
        # Whoever is first stays: two requests may bring the same task at once.
        self._tasks.setdefault(task.digest, OpenTask(task, document, admission, published, query))
