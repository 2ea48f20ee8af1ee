"""The way of a fleet through a task: one answer whenever it likes, or enrolment, beacon and one list after another."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from treetop.errors import QuestionRefused
from treetop.federation.device.trusted_task import LEEWAY, TrustedTask
from treetop.federation.wire.published_lists import Beacon, PublishedList
from treetop.federation.wire.tickets import Ticket
from treetop.services.fleet.delivery import stretches
from treetop.services.fleet.devices import Answer, FleetDevices
from treetop.trie.user_groups import Group

SHORTEST_POLL, LONGEST_POLL = 0.05, 1.0
ENROLLED_AT_ONCE = 10_000

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
    """What both ways have in common: counting, and knowing when it is over."""

    def __init__(self, membership: TrustedTask, crew: FleetDevices, progress: Callable[[FleetProgress], None]) -> None:
        self.membership, self.crew, self._progress = membership, crew, progress
        self.refused_lists: list[str] = []
        self.sent, self.of = 0, len(crew.codes)

    @property
    def digest(self) -> bytes:
        """Return the task's."""
        return self.crew.task.digest

    def told(self, phase: Phase, level: int | None = None) -> Callable[[int], None]:
        """Return what counts reports and shows it."""

        def count(more: int) -> None:
            self.sent += more
            self._progress(FleetProgress(phase, self.sent, self.of, level))

        return count

    def resume(self) -> set[int]:
        """Send what an earlier run left over; return the devices that have answered."""
        self.sent = sum(self.crew.ledgers.verdicts(self.digest).values())
        self.crew.resend(self.told("answering"))
        return self.crew.ledgers.answered(self.digest)

    def over(self) -> bool:
        """Return whether the party has closed the task, or its time has passed."""
        if time.time() > self.crew.task.deadlines.reports + LEEWAY:
            return True
        offered = self.crew.delivery.ask(lambda client: client.tasks())
        return not any(each.open for each in offered if each.digest == self.digest)

    def settle(self) -> None:
        """Send again what may be taken later, until all of it has a verdict or the task is over."""
        poll = _Poll()
        while self.crew.ledgers.unsettled(self.digest) and not self.over():
            poll.wait()
            self.crew.resend(self.told("answering"))


class OneShotRun(FleetRun):
    """Every device answers once, at a level of its own drawing."""

    def run(self) -> None:
        """Answer with all devices that have not."""
        answered = self.resume()
        left = [place for place in range(self.of) if place not in answered]
        if left:
            self.membership.check_time(int(time.time()))
            self.crew.answer(left, lambda device, _: device.answer_once(self.crew.task), self.told("answering"))
        self.settle()
        self.told("done")(0)


class RoundsRun(FleetRun):
    """Devices enrol, learn their groups from the beacon, and answer the list of their group."""

    def run(self) -> None:
        """Enrol all, then answer every list as it appears."""
        enrolled = self._enrol()
        beacon = self._beacon()
        self.of = len(enrolled)
        answered = self.resume()
        if beacon is not None:
            self._answer_lists(beacon, self._groups(beacon, [place for place in enrolled if place not in answered]))
        self.settle()
        self.told("done")(0)

    def _enrol(self) -> list[int]:
        known = self.crew.ledgers.enrolments(self.digest)
        left = [place for place in range(self.of) if place not in known]
        if left:
            self.membership.check_enrolment_time(int(time.time()))
        self.sent, told = len(known), self.told("enrolling")
        while left:
            for some in stretches(left, ENROLLED_AT_ONCE):
                told(self._enrol_some(list(some)))
            known = self.crew.ledgers.enrolments(self.digest)
            left = [place for place in left if place not in known]
            time.sleep(LONGEST_POLL if left else 0)
        return [place for place, verdict in known.items() if verdict.counts]

    def _enrol_some(self, places: list[int]) -> int:
        posted = self.crew.delivery.enrol(self.digest, [self.crew.tickets[place] for place in places])
        verdicts = zip(places, posted.verdicts(), strict=True)
        final = [(place, verdict) for place, verdict in verdicts if not verdict.passing]
        self.crew.ledgers.keep_enrolments(self.digest, final)
        return len(final)

    def _beacon(self) -> Beacon | None:
        poll = _Poll()
        while True:
            document = self.crew.delivery.ask(lambda client: client.beacon(self.digest))
            if document is not None:
                return self.membership.beacon(document)
            if self.over():
                return None
            self.told("waiting")(0)
            poll.wait()

    def _groups(self, beacon: Beacon, places: list[int]) -> dict[Group, list[int]]:
        groups: dict[Group, list[int]] = defaultdict(list)
        for place in places:
            groups[self.membership.group(self._serial(place), beacon)].append(place)
        return groups

    def _serial(self, place: int) -> int:
        return Ticket.from_bytes(self.crew.tickets[place]).serial

    def _answer_lists(self, beacon: Beacon, waiting: dict[Group, list[int]]) -> None:
        poll = _Poll()
        while waiting:
            offered = self.crew.delivery.ask(lambda client: client.lists(self.digest))
            ready = [each.group for each in offered if each.open and each.group in waiting]
            for group in ready:
                self._answer_list(beacon, group, waiting.pop(group))
                poll = _Poll()
            if not ready:
                if self.over():
                    return
                self.told("waiting")(0)
                poll.wait()

    def _answer_list(self, beacon: Beacon, group: Group, places: list[int]) -> None:
        document = self.crew.delivery.ask(lambda client: client.candidate_list(self.digest, group))
        try:
            listed = self.membership.listed(document or b"", group)
            self.crew.answer(places, self._answering(beacon, listed), self.told("answering", group.level))
        except QuestionRefused as refused:
            self.refused_lists.append(str(refused))

    def _answering(self, beacon: Beacon, listed: PublishedList) -> Answer:
        task, membership = self.crew.task, self.membership
        return lambda device, place: device.answer(
            task, membership.enrolment(self._serial(place), beacon), listed.question, listed.published
        )
