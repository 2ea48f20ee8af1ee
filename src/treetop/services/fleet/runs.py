"""A fleet's run through a task: one answer at any time (one-shot), or enrolment, beacon and one list after another."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from treetop.errors import QuestionRefused
from treetop.federation.device.trusted_task import LEEWAY, TrustedTask
from treetop.federation.wire.signed_documents import Beacon, PublishedList
from treetop.federation.wire.uploads import Ticket
from treetop.services.fleet.devices import Answer, FleetDevices, stretches
from treetop.trie.user_groups import Group

SHORTEST_POLL = 0.05
"""Seconds: the first pause while nothing happens."""
LONGEST_POLL = 1.0
"""Seconds: the pause that the others grow to."""
ENROLLED_AT_ONCE = 10_000
"""Tickets of one request."""

Phase = Literal["enrolling", "waiting", "answering", "done"]


@dataclass(frozen=True)
class FleetProgress:
    """How far a fleet is: reports with a verdict (or devices enrolled), out of how many."""

    phase: Phase
    sent: int
    of: int
    level: int | None = None


class _Poll:
    """Pauses that grow while nothing happens."""

    def __init__(self) -> None:
        self._pause = SHORTEST_POLL

    def wait(self) -> None:
        time.sleep(self._pause)
        self._pause = min(1.5 * self._pause, LONGEST_POLL)


class FleetRun:
    """What both kinds of run share: counting, and knowing when it is over."""

    def __init__(self, trusted: TrustedTask, devices: FleetDevices, progress: Callable[[FleetProgress], None]) -> None:
        self.trusted = trusted
        self.devices = devices
        self._progress = progress
        self.refused_lists: list[str] = []
        self.refused_tickets = Counter[str]()
        self.sent = 0
        self.of = len(devices.codes)

    @property
    def digest(self) -> bytes:
        """Return the digest of the task."""
        return self.devices.task.digest

    def counter(self, phase: Phase, level: int | None = None) -> Callable[[int], None]:
        """Return a function that counts reports and shows the progress."""

        def count(more: int) -> None:
            self.sent += more
            self._progress(FleetProgress(phase, self.sent, self.of, level))

        return count

    def resume(self) -> set[int]:
        """Send what an earlier run left over; return the devices that have answered."""
        self.sent = sum(self.devices.ledgers.verdicts(self.digest).values())
        self.devices.resend(self.counter("answering"))
        return self.devices.ledgers.answered(self.digest)

    def over(self) -> bool:
        """Return whether the party has closed the task, or its time has passed."""
        if time.time() > self.devices.task.deadlines.reports + LEEWAY:
            return True
        offered = self.devices.delivery.ask(lambda client: client.tasks())
        return not any(each.open for each in offered if each.digest == self.digest)

    def settle(self) -> None:
        """Send again what may be taken later, until all of it has a verdict or the task is over."""
        poll = _Poll()
        while self.devices.ledgers.unsettled(self.digest) and not self.over():
            poll.wait()
            self.devices.resend(self.counter("answering"))


class OneShotRun(FleetRun):
    """Every device answers once, at a level of its own drawing."""

    def run(self) -> None:
        """Answer with all devices that have not."""
        answered = self.resume()
        left = [index for index in range(self.of) if index not in answered]
        if left:
            self.trusted.check_time(int(time.time()))
            task = self.devices.task
            campaign = self.devices.campaign
            left, self.refused_tickets = self.devices.with_tickets(self.devices.allowed(left))
            self.devices.answer(left, lambda device, _: device.answer_once(task, campaign), self.counter("answering"))
        self.settle()
        self.counter("done")(0)


class RoundsRun(FleetRun):
    """Devices enrol, learn their groups from the beacon, and answer the list of their group."""

    def run(self) -> None:
        """Enrol all, then answer every list as it appears."""
        enrolled = self._enrol()
        beacon = self._beacon()
        self.of = len(enrolled)
        answered = self.resume()
        if beacon is not None:
            self._answer_lists(beacon, self._groups(beacon, [index for index in enrolled if index not in answered]))
        self.settle()
        self.counter("done")(0)

    def _enrol(self) -> list[int]:
        known = self.devices.ledgers.enrolments(self.digest)
        left = [index for index in range(self.of) if index not in known]
        if left:
            self.trusted.check_enrolment_time(int(time.time()))
            self.trusted.check_list_lengths(self.devices.caps.least_slots)
            left = self.devices.allowed(left)
        self.sent = len(known)
        count = self.counter("enrolling")
        while left:
            for some in stretches(left, ENROLLED_AT_ONCE):
                count(self._enrol_some(list(some)))
            known = self.devices.ledgers.enrolments(self.digest)
            left = [index for index in left if index not in known]
            time.sleep(LONGEST_POLL if left else 0)
        return [index for index, verdict in known.items() if verdict.counts]

    def _enrol_some(self, indices: list[int]) -> int:
        posted = self.devices.delivery.enrol(self.digest, [self.devices.tickets[index] for index in indices])
        verdicts = zip(indices, posted.verdicts(), strict=True)
        final = [(index, verdict) for index, verdict in verdicts if not verdict.passing]
        self.devices.ledgers.keep_enrolments(self.digest, final)
        return len(final)

    def _beacon(self) -> Beacon | None:
        poll = _Poll()
        while True:
            document = self.devices.delivery.ask(lambda client: client.beacon(self.digest))
            if document is not None:
                return self.trusted.beacon(document)
            if self.over():
                return None
            self.counter("waiting")(0)
            poll.wait()

    def _groups(self, beacon: Beacon, indices: list[int]) -> dict[Group, list[int]]:
        groups: dict[Group, list[int]] = defaultdict(list)
        for index in indices:
            groups[self.trusted.group(self._serial(index), beacon)].append(index)
        return groups

    def _serial(self, index: int) -> int:
        return Ticket.from_bytes(self.devices.tickets[index]).serial

    def _answer_lists(self, beacon: Beacon, waiting: dict[Group, list[int]]) -> None:
        poll = _Poll()
        while waiting:
            offered = self.devices.delivery.ask(lambda client: client.lists(self.digest))
            ready = [each.group for each in offered if each.open and each.group in waiting]
            for group in ready:
                self._answer_list(beacon, group, waiting.pop(group))
                poll = _Poll()
            if not ready:
                if self.over():
                    return
                self.counter("waiting")(0)
                poll.wait()

    def _answer_list(self, beacon: Beacon, group: Group, indices: list[int]) -> None:
        document = self.devices.delivery.ask(lambda client: client.candidate_list(self.digest, group))
        try:
            listed = self.trusted.listed(document or b"", group)
            self.devices.answer(indices, self._answering(beacon, listed), self.counter("answering", group.level))
        except QuestionRefused as refused:
            self.refused_lists.append(str(refused))

    def _answering(self, beacon: Beacon, listed: PublishedList) -> Answer:
        task = self.devices.task
        campaign = self.devices.campaign
        trusted = self.trusted
        return lambda device, index: device.answer(
            task, trusted.enrolment(self._serial(index), beacon), listed.question, listed.published, campaign
        )
