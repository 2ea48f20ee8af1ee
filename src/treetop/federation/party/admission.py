"""Which reports are accepted: authentic, of this task, of the right group and list, readable, in time.

Whether a report is the first with its ticket, and whether its group is still open, only the store can say. Almost every
report is as expected, so its first 77 bytes are looked up among those that honest devices of open groups send; only
what is not found there, or fails a later step, is taken apart to say precisely why.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treetop.errors import PeerViolation, ReportRefused
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.task import DeviceTask
from treetop.federation.wire.report_batches import (
    ENVELOPE_BYTES,
    NO_DOMAIN,
    Batch,
    Envelope,
    decoded_batch,
    encoded_batch,
)
from treetop.federation.wire.signed_documents import PublishedList
from treetop.federation.wire.uploads import (
    LENGTH_BYTES,
    MAX_ENTRIES,
    SERIAL_BYTES,
    TICKET_BYTES,
    ReportStatus,
    TicketKey,
    decoded_upload,
)
from treetop.oracles.registry import task_oracles
from treetop.trie.user_groups import Group

LEEWAY_SECONDS = 300
"""Clocks differ: so much earlier or later is still in time."""
HEAD_BYTES = ENVELOPE_BYTES


@dataclass(frozen=True, slots=True)
class Expected:
    """What honest devices of one group send."""

    envelope: Envelope
    length: int
    """Bytes of a batch of one."""
    readable: Callable[[bytes], bool]
    number: int
    """The group's index in the task, from 1."""


@dataclass(slots=True)
class Screened:
    """An upload after admission: what goes to the store, and a verdict for each of the others."""

    admitted: list[AdmittedReport] = field(default_factory=list)
    verdicts: list[ReportStatus | None] = field(default_factory=list)
    """In the order of the upload; None for what was admitted."""

    def answered(self, stored: Sequence[ReportStatus]) -> list[ReportStatus]:
        """Return all verdicts in the order of the upload, those of the store filled in."""
        if len(stored) == len(self.verdicts):
            return list(stored)
        answers: Iterator[ReportStatus] = iter(stored)
        return [next(answers) if verdict is None else verdict for verdict in self.verdicts]


class TaskAdmission:
    """Run by the party: the admission checks of one task."""

    def __init__(self, task: DeviceTask, party: str, key: TicketKey) -> None:
        self.task = task
        self.party = party
        self._key = key
        self._numbers = {entry.group: number for number, entry in enumerate(task.groups, start=1)}
        self._open: dict[Group, Expected] = {}
        self._heads: dict[bytes, Expected] = {}
        self._assigned: array[int] | None = None
        self._closed: set[Group] = set()
        self.group_sizes: Mapping[Group, int] = {}
        """Rounds: how many enrolled devices are in each group, once the beacon is known."""
        if task.one_shot:
            (oracle,) = task_oracles(task.oracle)
            slots = task.unlisted_face.slots
            for group in self._numbers:
                self._expect(Envelope(task.digest, group, NO_DOMAIN, oracle, slots))

    def assign(self, serials: Iterable[int], beacon: bytes) -> Mapping[Group, int]:
        """Rounds: compute the group of every enrolled device; return how many are in each."""
        assigned = array("H")
        counts = dict.fromkeys(self._numbers, 0)
        for serial in serials:
            assigned.extend([0] * (serial - len(assigned)))
            group = self._group_of(serial, beacon)
            assigned.append(self._number(group))
            counts[group] = counts.get(group, 0) + 1
        self._assigned = assigned
        self.group_sizes = {group: count for group, count in counts.items() if count}
        return self.group_sizes

    def open_list(self, listed: PublishedList) -> None:
        """Rounds: admit the answers to a published list from now on."""
        question = listed.question
        oracle = self.task.oracle_for(question.slots)
        self._expect(Envelope(self.task.digest, question.group, question.digest, oracle, question.slots))

    def is_open(self, group: Group) -> bool:
        """Return whether answers of a group have been admitted."""
        return group in self._open

    def envelope_of(self, group: Group) -> Envelope:
        """Return what stands before the reports that were admitted for a group."""
        return self._open[group].envelope

    def note_closed(self, group: Group) -> None:
        """From now on only the store decides about a group: who asks again, however late, learns that it counts."""
        self._closed.add(group)

    def in_time(self, now: int) -> ReportStatus | None:
        """Return why a report that comes now is refused, or None."""
        if now < self.task.deadlines.opens - LEEWAY_SECONDS:
            return ReportStatus.TOO_EARLY
        return ReportStatus.TOO_LATE if now > self.task.deadlines.reports + LEEWAY_SECONDS else None

    def screened(self, upload: bytes, now: int, most: int = MAX_ENTRIES) -> Screened:
        """Admit or refuse every report of an upload; raise `PeerViolation` if it cannot be cut apart."""
        cut = decoded_upload(upload, most)
        found = Screened()
        in_time = self.in_time(now) is None
        for entry in cut:
            report = self._expected_report(entry.ticket, entry.batch) if in_time else None
            if report is None:
                verdict = self.verdict(entry.ticket, entry.batch, now)
                report = None if verdict else self._report(entry.ticket, entry.batch)
                found.verdicts.append(verdict)
            else:
                found.verdicts.append(None)
            if report is not None:
                found.admitted.append(report)
        return found

    def serials_of(self, tickets: bytes, now: int) -> list[int | ReportStatus]:
        """Return for every ticket its serial number, or why nothing is taken with it."""
        if len(tickets) % TICKET_BYTES or not 1 <= len(tickets) // TICKET_BYTES <= MAX_ENTRIES:
            raise PeerViolation(
                "bytes of tickets", f"a multiple of {TICKET_BYTES}, {MAX_ENTRIES} at most", len(tickets)
            )
        cut = (tickets[start : start + TICKET_BYTES] for start in range(0, len(tickets), TICKET_BYTES))
        return [self.serial_of(ticket, now) for ticket in cut]

    def serial_of(self, ticket: bytes, now: int) -> int | ReportStatus:
        """Return the serial number of a ticket, or why nothing is taken with it."""
        if not self._key.wrote(self.task.digest, ticket):
            return ReportStatus.TICKET_FORGED
        if now < self.task.deadlines.opens - LEEWAY_SECONDS:
            return ReportStatus.TOO_EARLY
        return int.from_bytes(ticket[:SERIAL_BYTES], "big")

    def _expected_report(self, ticket: bytes, batch: bytes) -> AdmittedReport | None:
        """Return the report if it is as an honest device sends it, None if it must be looked at closely."""
        expected = self._heads.get(batch[:HEAD_BYTES])
        if expected is None or len(batch) != expected.length:
            return None
        body = batch[HEAD_BYTES:]
        serial = int.from_bytes(ticket[:SERIAL_BYTES], "big")
        if not expected.readable(body) or not self._key.wrote(self.task.digest, ticket):
            return None
        if self._assigned is not None and self._assignment(serial) != expected.number:
            return None
        if self._assigned is None and not self.task.one_shot:
            return None
        return AdmittedReport(self.task.digest, serial, expected.envelope.group, body)

    def verdict(self, ticket: bytes, batch: bytes, now: int) -> ReportStatus | None:
        """Return why a report is refused, or None: each rule in turn, the ones about who may speak first."""
        try:
            decoded = decoded_batch(batch)
        except PeerViolation:
            return ReportStatus.MALFORMED
        if len(decoded.bodies) != 1:
            return ReportStatus.MALFORMED
        if decoded.envelope.task != self.task.digest:
            return ReportStatus.UNKNOWN_TASK
        if not self._key.wrote(self.task.digest, ticket):
            return ReportStatus.TICKET_FORGED
        serial = int.from_bytes(ticket[:SERIAL_BYTES], "big")
        untimely = None if decoded.envelope.group in self._closed else self.in_time(now)
        return untimely or self._misplaced(serial, decoded.envelope) or _unreadable(decoded)

    def _misplaced(self, serial: int, envelope: Envelope) -> ReportStatus | None:
        if not self.task.one_shot:
            refusal = self._misassigned(serial, envelope.group)
            if refusal is not None:
                return refusal
        elif envelope.group not in self._numbers:
            return ReportStatus.WRONG_GROUP
        expected = self._open.get(envelope.group)
        if expected is None:
            return ReportStatus.LEVEL_NOT_OPEN
        return None if envelope == expected.envelope else ReportStatus.WRONG_LIST

    def _misassigned(self, serial: int, group: Group) -> ReportStatus | None:
        if self._assigned is None:
            return ReportStatus.LEVEL_NOT_OPEN
        number = self._assignment(serial)
        if number == 0:
            return ReportStatus.NOT_ENROLLED
        return None if number == self._numbers.get(group) else ReportStatus.WRONG_GROUP

    def _report(self, ticket: bytes, batch: bytes) -> AdmittedReport:
        envelope = decoded_batch(batch).envelope
        serial = int.from_bytes(ticket[:SERIAL_BYTES], "big")
        return AdmittedReport(self.task.digest, serial, envelope.group, batch[HEAD_BYTES:])

    def _expect(self, envelope: Envelope) -> None:
        face = envelope.face
        head = encoded_batch(envelope, [])[:-LENGTH_BYTES] + (1).to_bytes(LENGTH_BYTES, "big")
        expected = Expected(envelope, HEAD_BYTES + face.width, face.readable, self._number(envelope.group))
        self._open[envelope.group] = self._heads[head] = expected

    def _group_of(self, serial: int, beacon: bytes) -> Group:
        return assigned_group(self.task, Enrolment(serial.to_bytes(SERIAL_BYTES, "big"), beacon, self.party))

    def _number(self, group: Group) -> int:
        return self._numbers.setdefault(group, len(self._numbers) + 1)

    def _assignment(self, serial: int) -> int:
        assigned = self._assigned
        return assigned[serial] if assigned is not None and serial < len(assigned) else 0


def _unreadable(batch: Batch) -> ReportStatus | None:
    try:
        batch.envelope.face.checked(batch.bodies[0])
    except ReportRefused:
        return ReportStatus.MALFORMED
    return None
