"""What parties and the server need from the machines they run on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Protocol

from treetop.federation.ports import Clock
from treetop.federation.wire.signed_documents import PublishedList
from treetop.federation.wire.uploads import Refusal, ReportStatus
from treetop.oracles.frequency_oracle import Columns, Keys, Tally
from treetop.oracles.protocol import Oracle
from treetop.trie.user_groups import Group, Role

CHECK_BYTES = 8
SECRET_BYTES = 16
"""Of a group's secret: drawn with its first report, gone once its bodies are scrubbed."""
_ROLES = tuple(Role)


class ServiceClock(Clock, Protocol):
    """Time of two kinds: what a deadline is compared with, and what a duration is measured by."""

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class AdmittedReport:
    """A report that passed every check but one: whether it is the first with its ticket, and in time."""

    task: bytes
    serial: int
    group: Group
    body: bytes = field(repr=False)

    def check(self, secret: bytes) -> bytes:
        """Return 8 bytes that stand for the whole: they tell a repetition from a second answer, and show damage.

        Without the secret of its group, which the store forgets with the group's bodies, they say nothing of the body.
        """
        head = self.serial.to_bytes(8, "big") + bytes([self.group.level >> 8, self.group.level & 255])
        role = bytes([_ROLES.index(self.group.role)])
        return blake2b(self.task + head + role + self.body, digest_size=CHECK_BYTES, key=secret).digest()


@dataclass(frozen=True)
class ClosedEnrolment:
    """Who may answer in rounds: how many, and the digest of their serial numbers in ascending order."""

    devices: int
    digest: bytes

    @classmethod
    def of(cls, serials: Iterable[int]) -> "ClosedEnrolment":
        """Return what binds a party to these serial numbers: SHA-256 of 8 big-endian bytes each."""
        running = sha256()
        devices = 0
        for devices, serial in enumerate(serials, start=1):  # noqa: B007  the last one is how many there are
            running.update(serial.to_bytes(8, "big"))
        return cls(devices, running.digest())


class ReportStore(Protocol):
    """Run by the party: tasks, tickets, enrolments and reports; what a method has returned outlasts a power cut.

    A task is added before anything else is done with it; an unknown task raises `UnknownName`. A store that finds
    itself damaged raises `StoreDamaged` and names the task; one that cannot write (disk full) raises `StoreUnavailable`
    and has kept nothing of the call.
    """

    def add_task(self, task: bytes, document: bytes) -> None:
        """Keep a signed task under its digest; again, the same document, does nothing."""
        ...

    def tasks(self) -> Mapping[bytes, bytes]:
        """Return every task's document by digest, in the order they were added."""
        ...

    def issue_tickets(self, task: bytes, count: int) -> range:
        """Return serial numbers that were never returned before."""
        ...

    def tickets_issued(self, task: bytes) -> int:
        """Return how many serial numbers were issued."""
        ...

    def enrol(self, task: bytes, serials: Sequence[int]) -> list[ReportStatus]:
        """Enrol devices (rounds): accepted, replayed, or enrolment_closed."""
        ...

    def close_enrolment(self, task: bytes) -> ClosedEnrolment:
        """Enrol nobody from here on; again, the same answer."""
        ...

    def enrolled(self, task: bytes) -> Iterator[int]:
        """Yield the serial numbers enrolled, ascending."""
        ...

    def submit(self, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
        """Keep reports, all in one commit: accepted, replayed (same check), ticket_spent (another), level_closed.

        A replayed report of a closed level is still `replayed`: the device must learn that it was counted. Once the
        level is scrubbed nobody knows what a ticket was used for: whatever comes with it again is `replayed`.
        """
        ...

    def close_group(self, task: bytes, group: Group) -> int:
        """Accept nothing for a group from here on; return its reports; again, the same answer."""
        ...

    def counts(self, task: bytes) -> Mapping[Group, int]:
        """Return the reports of every group that has any."""
        ...

    def bodies(self, task: bytes, group: Group) -> Iterator[list[bytes]]:
        """Yield the bodies of a closed group in stretches, in ascending order of their bytes.

        So nothing tells who sent one, or when.
        Every check, their number and their running sum are compared with what was kept at acceptance; damage raises
        `StoreDamaged` before the last stretch is yielded.
        """
        ...

    def scrub(self, task: bytes, group: Group) -> None:
        """Forget the bodies of a closed group once they were exported, and whatever links them to tickets.

        That a ticket was used stays.
        """
        ...

    def forget(self, task: bytes) -> None:
        """Forget everything of a task but that it was here: its tickets stay spent."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


class Journal(Protocol):
    """Entries written once, in books: every message of a query and every reply, for replay after a crash."""

    def write(self, book: str, entry: str, content: bytes) -> bytes:
        """Keep an entry and return it once it is durable; if it is there already, return what is there."""
        ...

    def read(self, book: str) -> Mapping[str, bytes]:
        """Return the entries of a book in the order they were written."""
        ...

    def get(self, book: str, entry: str) -> bytes | None:
        """Return one entry, or None where nobody has written it; the rest of the book is not copied."""
        ...

    def books(self) -> Sequence[str]:
        """Return the names of all books, oldest first."""
        ...


class Channel(Protocol):
    """Run by the server: a channel to one party. Numbered messages, each answered once; both may be repeated.

    Every method raises `PartyUnreachable` while the party does not answer, and `PeerViolation` if it breaks the
    protocol.
    """

    def install(self, document: bytes) -> None:
        """Give the party a signed task."""
        ...

    def give_list(self, task: bytes, document: bytes) -> None:
        """Give the party the list that a task names, once it has the task."""
        ...

    def give_campaign(self, task: bytes, document: bytes) -> None:
        """Give the party the signed campaign that a task is a week of, once it has the task."""
        ...

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        """Hand over message 1, 2, ...; the party keeps it before this returns. The same number, the same bytes."""
        ...

    def outcome(self, task: bytes, number: int) -> bytes | None:
        """Return the party's answer to a message, or None while it is at work."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


@dataclass(frozen=True)
class Collected:
    """What a party knows when its collection (one-shot) or its enrolment (rounds) has closed."""

    devices: int
    """Reports accepted in all, or devices enrolled."""
    tickets: int
    """Tickets issued: there cannot be more devices."""
    digest: bytes
    """Of the enrolled serial numbers; 32 zero bytes in one-shot mode."""
    groups: Mapping[Group, int]
    """Reports of every group; empty in rounds, where nobody has answered yet."""
    refusals: Mapping[Refusal, int] = field(default_factory=dict)
    """Devices that said they may not answer, by code."""


@dataclass(frozen=True, eq=False)
class Counting:
    """What is counted in the reports of some groups: the slots of a list, or the support of keys."""

    oracle: Oracle
    slots: int
    """The number in the envelope: d with the dummy, or the buckets of a hash."""
    domain: bytes
    """The list's digest, 32 zero bytes where there is none."""
    keys: Keys


class ReportCollection(Protocol):
    """Run by the party: the devices of one task, as its dialogue sees them. Every method may be called again."""

    def close(self) -> Collected:
        """One-shot: wait for the task's deadline, then close every group. Rounds: the same for enrolment."""
        ...

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        """Rounds: show a signed beacon to the devices; return how many of the enrolled are in each group."""
        ...

    def publish_list(self, document: bytes, listed: PublishedList) -> None:
        """Rounds: show a signed list to the devices of its group; their reports are admitted from now on."""
        ...

    def gather(self, group: Group) -> int:
        """Return the reports of a group once it is closed: in rounds, when all have answered or time is over."""
        ...

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of closed groups together."""
        ...

    def reports(self, group: Group, counting: Counting) -> Iterator[Columns]:
        """Yield the reports of a closed group in stretches, whatever their order; the keys are not looked at."""
        ...

    def item_list(self) -> bytes | None:
        """Return the document of the list that the task names, or None if it was not given."""
        ...

    def implausible(self, groups: Sequence[Group], counting: Counting) -> int:
        """Return how many reports of closed groups no honest device sends (`oracles.frequency_oracle`)."""
        ...
