"""The devices of one task as a party's dialogue sees them: waits for them, by the monotonic clock."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from treetop.errors import PeerViolation
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.ports import Verifier
from treetop.federation.service_ports import Collected, Counting, ReportStore, ServiceClock
from treetop.federation.wire.signed_documents import Beacon, PublishedList, checked
from treetop.oracles.frequency_oracle import Columns, Tally
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group

if TYPE_CHECKING:
    from treetop.adapters.report_files.collected import CollectedReports

LOOK_SECONDS = 0.1
"""How long it waits at least between two looks whether everybody has answered."""
LOOKING_SHARE = 5
"""It waits at least this many times as long as it looked, so that looking takes at most a sixth of its time."""


class Stopped(Exception):
    """The service ends while a query waits; it goes on after the next start."""


class DeviceReportCollection:
    """Run by the party: the `ReportCollection` of one task, over its store."""

    def __init__(
        self,
        admission: TaskAdmission,
        published: PublishedDocuments,
        store: ReportStore,
        counter: "Callable[[], CollectedReports]",
        *,
        clock: ServiceClock,
        verifier: Callable[[], Verifier],
        stopping: Callable[[], bool],
        close_when_complete: bool = False,
    ) -> None:
        self._admission = admission
        self._published = published
        self._store = store
        self._counter = counter
        self._clock = clock
        self._verifier = verifier
        self._stopping = stopping
        self._close_when_complete = close_when_complete
        self._task = admission.task

    def close(self) -> Collected:
        """One-shot: wait for the reports, then close every group. Rounds: the same for enrolment."""
        one_shot = self._task.one_shot
        deadline = self._task.deadlines.reports if one_shot else self._task.deadlines.enrolment
        self._wait(deadline - self._clock.now(), lambda: self._close_when_complete and self._complete())
        task = self._task.digest
        store = self._store
        if not one_shot:
            enrolment = store.close_enrolment(task)
            return Collected(
                enrolment.devices, store.tickets_issued(task), enrolment.digest, {}, self._published.refusals.counts
            )
        groups = {entry.group: self._closed(entry.group) for entry in self._task.groups}
        self._published.note_over()
        return Collected(
            sum(groups.values()), store.tickets_issued(task), bytes(32), groups, self._published.refusals.counts
        )

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        """Rounds: publish a signed beacon; return how many of the enrolled are in each group."""
        beacon = Beacon.from_bytes(checked("beacon", document, self._verifier()))
        enrolment = self._store.close_enrolment(self._task.digest)
        expected = (self._task.digest, self._admission.party, enrolment.devices, enrolment.digest)
        if (beacon.task, beacon.party, beacon.devices, beacon.enrolment) != expected:
            raise PeerViolation("beacon", "one for this task, this party and its enrolment", "another")
        self._published.post_beacon(document)
        return self._admission.assign(self._store.enrolled(self._task.digest), beacon.beacon)

    def publish_list(self, document: bytes, listed: PublishedList) -> None:
        """Rounds: publish a signed list to the devices of its group; their reports are admitted from now on."""
        signed = PublishedList.from_bytes(checked("list", document, self._verifier()), self._task)
        if signed != listed or signed.party != self._admission.party or signed.question.task != self._task.digest:
            raise PeerViolation("signed list", "the one that was asked for", "another")
        self._published.post_list(listed.question.group, document)
        self._admission.open_list(listed)

    def gather(self, group: Group) -> int:
        """Return the reports of a group once it is closed; after a restart its time begins again."""
        if not self._task.one_shot and not self._published.is_closed(group):
            awaited = self._admission.group_sizes.get(group, 0)
            self._wait(
                self._task.deadlines.level_seconds,
                lambda: self._store.counts(self._task.digest).get(group, 0) >= awaited,
            )
        return self._closed(group)

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of closed groups together."""
        return self._counter().tally(self._task.digest, groups, counting)

    def reports(self, group: Group, counting: Counting) -> Iterator[Columns]:
        """Yield the reports of a closed group in stretches."""
        return self._counter().reports(self._task.digest, group, counting)

    def item_list(self) -> bytes | None:
        """Return the document of the list that the task names, or None if it was not given."""
        return self._published.item_list

    def implausible(self, groups: Sequence[Group], counting: Counting) -> int:
        """Return how many reports of closed groups no honest device sends."""
        task = self._task.digest
        epsilon = Epsilon(self._task.budget.text)
        return sum(self._counter().implausible(task, group, counting, epsilon) for group in groups)

    def _wait(self, seconds: float, done: Callable[[], bool]) -> None:
        """Return when it is done or the time is over; the wall clock is read once, so its jumps do no harm."""
        now = self._clock.monotonic()
        end = now + seconds
        while now < end and not done():
            if self._stopping():
                raise Stopped
            looked = self._clock.monotonic() - now
            self._clock.sleep(min(max(LOOK_SECONDS, LOOKING_SHARE * looked), end - now))
            now = self._clock.monotonic()

    def _complete(self) -> bool:
        """Return whether every ticket that was issued has reported (one-shot) or enrolled (rounds), or never will."""
        task = self._task.digest
        store = self._store
        used = sum(store.counts(task).values()) if self._task.one_shot else sum(1 for _ in store.enrolled(task))
        return 0 < store.tickets_issued(task) <= used + sum(self._published.refusals.counts.values())

    def _closed(self, group: Group) -> int:
        """Close a group, and unlink its reports at once; a device that sends again is still answered `replayed`."""
        count = self._store.close_group(self._task.digest, group)
        if count and not self._published.is_closed(group):
            self._counter().unlink(self._admission.envelope_of(group))
        self._published.note_closed(group)
        self._admission.note_closed(group)
        return count
