"""Which documents a device believes: signed by a pinned key, about its own task and party, in time.

Everything here is a function of public data and happens before the value is read.
"""

from dataclasses import dataclass

from treetop.errors import QuestionRefused
from treetop.federation.campaign import Campaign
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.device.list_checks import largest_domain
from treetop.federation.documents import DocumentCode, require
from treetop.federation.ports import Verifier
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Beacon, PublishedList, checked, checked_campaign, checked_task
from treetop.federation.wire.uploads import SERIAL_BYTES
from treetop.trie.user_groups import Group

LEEWAY = 300
"""Seconds by which a device's clock may be wrong."""


@dataclass(frozen=True)
class TrustedTask:
    """A signed task that a device of one party takes part in."""

    task: DeviceTask
    party: str
    verifier: Verifier

    @classmethod
    def of(cls, document: bytes, digest: bytes, party: str, verifier: Verifier) -> "TrustedTask":
        """Run by the device: believe a task that a pinned key signed, that was asked for and names the own party."""
        task = checked_task(document, verifier)
        require(task.digest == digest, DocumentCode.OTHER, "task", digest.hex(), task.digest.hex())
        require(
            party in task.parties,
            DocumentCode.OTHER,
            "parties of the task",
            f"{party!r} among them",
            ", ".join(task.parties),
        )
        return cls(task, party, verifier)

    def campaign(self, document: bytes) -> Campaign:
        """Believe a campaign that a pinned key signed and that this task is a week of."""
        campaign = checked_campaign(document, self.verifier)
        campaign.check_task(self.task)
        return campaign

    def check_time(self, now: int) -> None:
        """Refuse a task that has not opened or is over: nothing is spent on a report that nobody takes."""
        deadlines = self.task.deadlines
        _require(now >= deadlines.opens - LEEWAY, "time", f"{deadlines.opens} or later", now)
        _require(now <= deadlines.reports + LEEWAY, "time", f"{deadlines.reports} or earlier", now)

    def check_enrolment_time(self, now: int) -> None:
        """Refuse to enrol in a task whose enrolment is over (rounds)."""
        self.check_time(now)
        last = self.task.deadlines.enrolment
        _require(now <= last + LEEWAY, "time of enrolment", f"{last} or earlier", now)

    def check_list_lengths(self, least_slots: int) -> None:
        """Refuse a task with a level whose lists are all shorter than the device answers: the level is not its choice.

        A list that turns out too short at another level is refused when it comes.
        """
        for entry in () if self.task.one_shot else self.task.groups:
            group = self.task.group_at(self.party, entry.group)
            found = largest_domain(self.task, group) + 1
            what = f"slots at level {group.level} ({group.role.value})"
            _require(found >= least_slots, what, f"{least_slots} at least", f"{found} at most")

    def beacon(self, document: bytes) -> Beacon:
        """Believe a beacon that a pinned key signed for this task and party (rounds)."""
        beacon = Beacon.from_bytes(checked("beacon", document, self.verifier))
        require(
            beacon.task == self.task.digest,
            DocumentCode.OTHER,
            "task of the beacon",
            self.task.digest.hex(),
            beacon.task.hex(),
        )
        require(beacon.party == self.party, DocumentCode.OTHER, "party of the beacon", self.party, beacon.party)
        return beacon

    def enrolment(self, serial: int, beacon: Beacon) -> Enrolment:
        """Return what settles the group of the device whose ticket has that number."""
        return Enrolment(serial.to_bytes(SERIAL_BYTES, "big"), beacon.beacon, self.party)

    def group(self, serial: int, beacon: Beacon) -> Group:
        """Return the group of the device whose ticket has that number."""
        return assigned_group(self.task, self.enrolment(serial, beacon))

    def listed(self, document: bytes, group: Group) -> PublishedList:
        """Believe a candidate list that a pinned key signed for this task, party and group (rounds).

        Whether the question may be asked at all, `Device.answer` checks.
        """
        listed = PublishedList.from_bytes(checked("list", document, self.verifier), self.task)
        question = listed.question
        require(
            question.task == self.task.digest,
            DocumentCode.OTHER,
            "task of the list",
            self.task.digest.hex(),
            question.task.hex(),
        )
        require(listed.party == self.party, DocumentCode.OTHER, "party of the list", self.party, listed.party)
        require(question.group == group, DocumentCode.OTHER, "group of the list", group, question.group)
        return listed


def _require(holds: bool, what: str, expected: object, found: object) -> None:
    if not holds:
        raise QuestionRefused(what, expected, found)
