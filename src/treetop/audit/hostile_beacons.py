"""The central guarantee in rounds, against a server that picks weights, minimum and beacon to single one user out.

The shipped server and the shipped party run a whole query in memory. The server's random bytes were searched until the
target shares her group with as few others as it wants. Every report of her group then goes every way that chance
allows, and all that the server keeps is its view: the exact delta of that view must be within what the answer states,
and a group below the party's own floor must leave no trace of her value in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from itertools import count, permutations

import numpy as np

from treetop.adapters.memory.ports import MemoryChannel, MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.host import SystemClock
from treetop.audit.audit_report import Check
from treetop.audit.enumerated_users import Choices, every_transcript
from treetop.audit.laws.oracle_laws import report_law
from treetop.audit.scripted_entropy import ScriptedEntropy
from treetop.audit.shipped.recording_party import KEY
from treetop.errors import PeerViolation, QueryFailed
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.party import Party
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.party.query import PartyQuery
from treetop.federation.server import result
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.server.query import ServerQuery
from treetop.federation.service_ports import Collected, Counting
from treetop.federation.task import DeviceTask, LeastReports, WeightedGroup
from treetop.federation.wire.signed_documents import Beacon, PublishedList, unverified_content
from treetop.federation.wire.uploads import SERIAL_BYTES, TicketKey
from treetop.oracles.frequency_oracle import Tally
from treetop.privacy.budget import exponential_bounds
from treetop.privacy.shuffling import CentralGuarantee
from treetop.trie.user_groups import Group

PARTY = "north"
TICKETS = 1_000
TARGET = 7
"""The serial number of the target's ticket, which the server knows."""
RARE = 1 << 11
"""One of so many tickets leads to the group that the target is put into."""
DELTA = 1 / (2 * TICKETS)
BITS = 8
LEVELS = 4
VALUES = (0, 100, 255)
OTHERS = 170
"""What everybody else holds."""
View = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class HostileServer:
    """What a server wants of a query."""

    together: int
    """Reports in the target's group, hers included."""
    least: int
    """The minimum that the task names."""
    floor: int
    """The party's own."""
    mechanism: str = "canopy"

    def task(self) -> DeviceTask:
        """Return a task with a group that almost nobody is in."""
        step = {"step_bits": 2} if self.mechanism == "canopy" else {"levels": LEVELS}
        order = QueryOrder(
            "fruit",
            (PARTY,),
            mechanism=self.mechanism,
            mode="rounds",
            oracle="krr",
            settings={"bits": BITS, **step},
            epsilon="1",
            k=1,
            encoding="ids",
        )
        others = [WeightedGroup(Group(level), RARE // 4) for level in range(2, LEVELS + 1)]
        groups = (WeightedGroup(Group(1), 1), *others)
        return replace(planned_task(order), groups=groups, least=LeastReports(self.least, self.least))

    def beacon(self, task: DeviceTask) -> bytes:
        """Return the first beacon with which the target is where the server wants her."""
        admission = TaskAdmission(task, PARTY, TicketKey(bytes(32)))
        for number in count():
            beacon = sha256(number.to_bytes(8, "big")).digest()
            enrolment = Enrolment(TARGET.to_bytes(SERIAL_BYTES, "big"), beacon, PARTY)
            if assigned_group(task, enrolment) != Group(1):
                continue
            if admission.assign(range(TICKETS), beacon)[Group(1)] == self.together:
                return beacon
        raise AssertionError("there is always another beacon")


class ImpatientClock(SystemClock):
    """Time as it is, and nobody waits: server and party take turns in one thread."""

    def sleep(self, seconds: float) -> None:
        """Return at once."""


class EnumeratedReports:
    """The devices of the party: who is with the target goes every way, all others say the same."""

    def __init__(self, admission: TaskAdmission, choices: Choices) -> None:
        self._admission = admission
        self._choices = choices
        self._sizes: Mapping[Group, int] = {}
        self._lists: dict[Group, PublishedList] = {}

    def close(self) -> Collected:
        """Enrol everybody."""
        return Collected(TICKETS, TICKETS, bytes(32), {})

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        """Assign everybody as the shipped party does."""
        beacon = Beacon.from_bytes(str(unverified_content(document)).encode())
        self._sizes = self._admission.assign(range(TICKETS), beacon.beacon)
        return self._sizes

    def publish_list(self, _document: bytes, listed: PublishedList) -> None:
        """Remember what a group is asked."""
        self._lists[listed.question.group] = listed

    def gather(self, group: Group) -> int:
        """Let all of a group answer."""
        return self._sizes.get(group, 0)

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count them: of the target's group every report is a choice."""
        (group,) = groups
        question = self._lists[group].question
        support = np.zeros(counting.slots, dtype=np.int64)
        slots = [question.slot_of(value >> BITS - question.length) for value in (*VALUES, OTHERS)]
        if group != Group(1):
            support[slots[-1]] = self._sizes[group]
            return Tally(support, self._sizes[group])
        face = self._admission.task.face_for(counting.slots)
        for holder in range(self._sizes[group]):
            held = slots[:-1] if holder == 0 else [slots[-1]] * len(VALUES)
            report = self._choices.choose(report_law(face, tuple(held)))
            support += [face.supports(report, slot) for slot in range(counting.slots)]
        return Tally(support, self._sizes[group])

    def reports(self, _group: Group, _counting: Counting) -> Iterator[object]:
        """Yield nothing: no names are reported in rounds."""
        return iter(())

    def item_list(self) -> bytes | None:
        """Return None: the task names no list."""
        return None

    def implausible(self, _groups: Sequence[Group], _counting: Counting) -> int:
        """Return that all reports are as honest devices send them."""
        return 0


class AuditedParty:
    """The shipped party as a server reaches it, over devices that are enumerated."""

    def __init__(self, floor: int, choices: Choices) -> None:
        journal = MemoryJournal()

        def open_query(admission: TaskAdmission, _published: PublishedDocuments) -> PartyQuery:
            return PartyQuery(admission.task, PARTY, journal, EnumeratedReports(admission, choices))  # type: ignore[arg-type]

        self._party = Party(
            PARTY,
            MemoryReportStore(),
            journal,
            clock=ImpatientClock(),
            key=TicketKey(bytes(32)),
            verifier=KEY,
            open_query=open_query,
            least_reports=floor,
        )

    def install(self, document: bytes) -> None:
        """Take a task, or refuse it."""
        self._party.install(document)

    def give_list(self, task: bytes, document: bytes) -> None:
        """Take a list."""
        self._party.give_list(task, document)

    def give_campaign(self, task: bytes, document: bytes) -> None:
        """Take a campaign."""
        self._party.give_campaign(task, document)

    def query(self, task: bytes) -> PartyQuery:
        """Return the shipped dialogue."""
        return self._party.task(task).query


def transcripts(server: HostileServer) -> tuple[dict[View, list[Fraction]], list[CentralGuarantee]]:
    """Return how likely each view of the server is under every value of the target, and all that answers state."""
    task = server.task()
    beacon = server.beacon(task)
    views: list[View] = []
    stated: list[CentralGuarantee] = []

    def run(choices: Choices) -> None:
        journal = MemoryJournal()
        channel = MemoryChannel(PARTY, AuditedParty(server.floor, choices))
        query = ServerQuery(
            task, KEY, journal, {PARTY: channel}, clock=ImpatientClock(), entropy=ScriptedEntropy(beacon)
        )
        try:
            query.run()
            stated.append(result.promised_guarantee(task, query.records[PARTY], DELTA))
        except (PeerViolation, QueryFailed):
            pass  # the party took no part: what the server has seen until then is its view
        views.append(
            tuple((entry, content) for book in journal.books() for entry, content in journal.read(book).items())
        )

    laws: dict[View, list[Fraction]] = {}
    for transcript in every_transcript(run, len(VALUES)):
        before = laws.get(views[-1], [Fraction(0)] * len(VALUES))
        laws[views[-1]] = [one + other for one, other in zip(before, transcript.probabilities, strict=True)]
    return laws, stated


def exact_delta(laws: Mapping[View, Sequence[Fraction]], odds: Fraction) -> Fraction:
    """Return the largest delta over two values of the target: what is likelier than `odds` times under the other."""
    return max(
        sum((max(law[one] - odds * law[other], Fraction(0)) for law in laws.values()), Fraction(0))
        for one, other in permutations(range(len(VALUES)), 2)
    )


def stated_check(quick: bool) -> Check:
    """Check what answers state about a user whom the server has put among few others."""
    worst = Fraction(0)
    seen = True
    for together in (1, 2) if quick else (1, 2, 3):
        for mechanism in ("canopy",) if quick else ("canopy", "fedpem"):
            laws, stated = transcripts(HostileServer(together, least=together, floor=together, mechanism=mechanism))
            weakest = min(Fraction(each.epsilon) for each in stated)
            worst = max(worst, exact_delta(laws, exponential_bounds(weakest)[0]) / Fraction(DELTA))
            seen = seen and exact_delta(laws, Fraction(1)) > 0  # else the audit has looked at nothing
    claim = (
        "rounds, a beacon searched until the target is alone or with few others: the exact delta of all that the "
        "server sees is at most the stated one (number: the largest part of it)"
    )
    return Check("central_hostile_beacon", seen and worst <= 1, claim, float(worst), 1.0)


def floor_check() -> Check:
    """Check that groups below the party's floor are not counted, whatever the task says."""
    worst = Fraction(0)
    for server in (HostileServer(1, least=1, floor=3), HostileServer(2, least=3, floor=3)):
        laws, _ = transcripts(server)
        worst = max(worst, exact_delta(laws, Fraction(1)))
    claim = (
        "rounds, a beacon searched until the target's group is below the party's floor: what the server sees is as "
        "likely whatever she holds (number: how far it is from that)"
    )
    return Check("central_floor", worst == 0, claim, float(worst), 0.0)


def hostile_beacon_checks(quick: bool) -> list[Check]:
    """Check rounds with a hostile beacon."""
    return [stated_check(quick), floor_check()]
