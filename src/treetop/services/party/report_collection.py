"""The devices of one task as a party's dialogue sees them: waits for them, by the clock that never goes back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from treetop.errors import PeerViolation
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.ports import Verifier
from treetop.federation.service_ports import Collected, Counting, ReportStore, ServiceClock
from treetop.federation.wire.published_lists import Beacon, PublishedList
from treetop.federation.wire.signed_documents import checked
from treetop.oracles.tallies import Tally
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group

LOOK_SECONDS = 0.1
"""How long it waits at least between two looks whether everybody has answered."""
LOOKING_SHARE = 5
"""It waits at least so many times as long as it looked."""


class Stopped(Exception):
    """The service ends while a query waits; it goes on after the next start."""


class ReportCounter(Protocol):
    """Counts the reports of closed groups."""

    def tally(self, task: bytes, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of some groups together."""
        ...

    def implausible(self, task: bytes, group: Group, counting: Counting, epsilon: Epsilon) -> int:
        """Return how many reports of a group no honest device sends."""
        ...


class DeviceReportCollection:
    """Run by the party: the `FieldWork` of one task, over its store."""

    def __init__(
        self, admission: TaskAdmission, bulletin: PublishedDocuments, store: ReportStore, counter: ReportCounter, *,
        clock: ServiceClock, verifier: Callable[[], Verifier], stopping: Callable[[], bool],
        close_when_complete: bool = False,
    ) -> None:  # fmt: skip
        self._admission, self._bulletin, self._store, self._counter = admission, bulletin, store, counter
        self._clock, self._verifier, self._stopping = clock, verifier, stopping
        self._eager = close_when_complete
        self._task = admission.task
        self._assigned: Mapping[Group, int] = {}

    def restore(self) -> None:
        """Show and admit again, after a start, what was published before."""
        beacon = self._bulletin.read_beacon
        if beacon is not None and not self._assigned:
            self._assign(beacon)
            for group in self._bulletin.lists:
                self._admission.open_list(self._bulletin.read_list(group))

    def close(self) -> Collected:
        """One-shot: wait for the reports, then close every group. Rounds: the same for enrolment."""
        one_shot = self._task.one_shot
        deadline = self._task.deadlines.reports if one_shot else self._task.deadlines.enrolment
        complete = self._all_reported if one_shot else self._all_enrolled
        self._wait(deadline - self._clock.now(), lambda: self._eager and complete())
        return self._close_reports() if one_shot else self._close_enrolment()

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        """Rounds: show a signed beacon; return how many of the enrolled are in each group."""
        beacon = Beacon.from_bytes(checked("beacon", document, self._verifier()))
        enrolment = self._store.close_enrolment(self._task.digest)
        expected = (self._task.digest, self._admission.party, enrolment.devices, enrolment.digest)
        if (beacon.task, beacon.party, beacon.devices, beacon.enrolment) != expected:
            raise PeerViolation("beacon", "one for this task, this party and its enrolment", "another")
        self._bulletin.post_beacon(document)
        return self._assign(beacon)

    def publish_list(self, document: bytes, listed: PublishedList) -> None:
        """Rounds: show a signed list to the devices of its group; their reports are admitted from now on."""
        signed = PublishedList.from_bytes(checked("list", document, self._verifier()), self._task)
        if signed != listed or signed.party != self._admission.party or signed.question.task != self._task.digest:
            raise PeerViolation("signed list", "the one that was asked for", "another")
        self._bulletin.post_list(listed.question.group, document)
        self._admission.open_list(listed)

    def gather(self, group: Group) -> int:
        """Return the reports of a group once it is closed; after a restart its time begins anew."""
        if not self._task.one_shot and not self._bulletin.is_closed(group):
            self.restore()
            awaited = self._assigned.get(group, 0)
            self._wait(self._task.deadlines.level_seconds, lambda: self._reports_of(group) >= awaited)
        return self._closed(group)

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of closed groups together."""
        return self._counter.tally(self._task.digest, groups, counting)

    def implausible(self, groups: Sequence[Group], counting: Counting) -> int:
        """Return how many reports of closed groups no honest device sends."""
        task, epsilon = self._task.digest, Epsilon(self._task.budget.text)
        return sum(self._counter.implausible(task, group, counting, epsilon) for group in groups)

    def _wait(self, seconds: float, done: Callable[[], bool]) -> None:
        """Return when it is done or the time is over; the clock on the wall is asked once, so its jumps do no harm."""
        now = self._clock.monotonic()
        end = now + seconds
        while now < end and not done():
            if self._stopping():
                raise Stopped
            looked = self._clock.monotonic() - now
            self._clock.sleep(min(max(LOOK_SECONDS, LOOKING_SHARE * looked), end - now))
            now = self._clock.monotonic()

    def _reports_of(self, group: Group) -> int:
        return self._store.counts(self._task.digest).get(group, 0)

    def _all_reported(self) -> bool:
        issued = self._store.tickets_issued(self._task.digest)
        return 0 < issued <= sum(self._store.counts(self._task.digest).values())

    def _all_enrolled(self) -> bool:
        issued = self._store.tickets_issued(self._task.digest)
        return 0 < issued <= sum(1 for _ in self._store.enrolled(self._task.digest))

    def _close_reports(self) -> Collected:
        groups = {entry.group: self._closed(entry.group) for entry in self._task.groups}
        self._bulletin.note_over()
        issued = self._store.tickets_issued(self._task.digest)
        return Collected(sum(groups.values()), issued, bytes(32), groups)

    def _close_enrolment(self) -> Collected:
        enrolment = self._store.close_enrolment(self._task.digest)
        return Collected(enrolment.devices, self._store.tickets_issued(self._task.digest), enrolment.digest, {})

    def _closed(self, group: Group) -> int:
        count = self._store.close_group(self._task.digest, group)
        self._bulletin.note_closed(group)
        self._admission.note_closed(group)
        return count

    def _assign(self, beacon: Beacon) -> Mapping[Group, int]:
        self._assigned = self._admission.assign(self._store.enrolled(self._task.digest), beacon.beacon)
        return self._assigned
