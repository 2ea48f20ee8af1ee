"""The central guarantee of `privacy/shuffling.py`, against exact laws.

First a few shuffled reports. An observer of n reports in no order sees how often each was sent. For n small enough to
enumerate every such histogram, the exact delta of an oracle is computed in rationals, for one user with two values and
any values of the others; it must never exceed the promised delta.

Then rounds with a server that picks weights, minimum and beacon to single out one user. The shipped server and the
shipped party run a whole query in memory. The server's random bytes were searched until the target shares her group
with as few others as it wants. Every report of her group then takes every value that chance allows, and all that the
server keeps is its view: the exact delta of that view must be within what the answer states, and a group below the
party's own floor must leave no trace of her value in it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from hashlib import sha256
from itertools import combinations_with_replacement, count, permutations
from math import lcm

import numpy as np

from treetop.adapters.memory.ports import MemoryChannel, MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.host import SystemClock
from treetop.audit.checks import Check
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.audit.enumerated_users import Choices, every_transcript
from treetop.audit.oracle_laws import KEYS, report_law
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
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import mechanism_named
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.protocol import DeviceFace, Oracle
from treetop.privacy.budget import Budget, exponential_bounds
from treetop.privacy.shuffling import CentralGuarantee, Clones
from treetop.trie.user_groups import Group

BUDGETS = tuple(Budget(text) for text in ("0.5", "1", "2", "4"))
PARTS = tuple(Fraction(part, 20) for part in (1, 5, 10, 15, 19))
"""Central epsilons at which deltas are compared, as parts of the local one."""
SLOTS = 3
"""Of a listed oracle."""

PARTY = "north"
TICKETS = 1_000
TARGET = 7
"""The serial number of the target's ticket, which the server knows."""
RARE = 1 << 11
"""Sets the weights: fewer than one of all tickets is expected in the target's group."""
DELTA = 1 / (2 * TICKETS)
BITS = 8
LEVELS = 4
VALUES = (0, 100, 255)
"""What the target may hold."""
OTHERS = 170
"""What everybody else holds: its first two bits are those of none of the target's values."""

Histogram = tuple[int, ...]
Law = dict[Histogram, int]
"""How likely every histogram is, in whole units."""
View = tuple[tuple[str, bytes], ...]
"""All that a server has in its journal."""


def classes(face: DeviceFace, values: Sequence[int]) -> tuple[list[tuple[int, ...]], int]:
    """Return, for each value, how likely each class of reports is in whole units, and the number of units.

    Reports whose probabilities are in the same proportions under all values are one class: which of them was sent says
    nothing about the value, so merging them loses nothing and keeps the histograms few.
    """
    together: defaultdict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
    for chances in report_law(face, tuple(values)).values():
        scale = sum(chances)
        together[tuple(chance / scale for chance in chances)] += scale
    kinds = [[part * scale for part in parts] for parts, scale in together.items()]
    units = lcm(*(chance.denominator for kind in kinds for chance in kind))
    return list(zip(*([int(chance * units) for chance in kind] for kind in kinds), strict=True)), units


def with_report(law: Law, sender: tuple[int, ...]) -> Law:
    """Return how likely every histogram is with one more report."""
    grown: defaultdict[Histogram, int] = defaultdict(int)
    for histogram, chance in law.items():
        for kind, likely in enumerate(sender):
            grown[(*histogram[:kind], histogram[kind] + 1, *histogram[kind + 1 :])] += chance * likely
    return dict(grown)


def exact_deltas(face: DeviceFace, values: Sequence[int], reports: int, odds: Sequence[Fraction]) -> list[Fraction]:
    """Return the largest delta for each of some odds: over our user's two values, and what all others hold.

    It is the sum of what is likelier under one value than `odds` times under the other.
    """
    (laws, units) = classes(face, values)
    worst = [0] * len(odds)
    for held in combinations_with_replacement(laws, reports - 1):
        others = reduce(with_report, held, {(0,) * len(laws[0]): 1})
        for one, other in permutations([with_report(others, law) for law in laws], 2):
            pairs = [(chance, other[seen]) for seen, chance in one.items()]
            for index, ratio in enumerate(odds):
                # Multiplied by the denominator, so that only integers are added: exact, and faster than fractions.
                top = ratio.numerator
                bottom = ratio.denominator
                excess = sum(max(bottom * chance - top * rest, 0) for chance, rest in pairs)
                worst[index] = max(worst[index], excess)
    return [Fraction(excess, ratio.denominator * units**reports) for excess, ratio in zip(worst, odds, strict=True)]


def compared(oracle: Oracle, quick: bool) -> Iterator[tuple[Fraction, float]]:
    """Yield the exact delta and the bound, for every budget, number of reports and central epsilon."""
    for budget in BUDGETS[1:3] if quick else BUDGETS:
        slots = SLOTS if oracle.listed else oracle.slots_for(budget.odds_below)
        values = tuple(range(SLOTS)) if oracle.listed else KEYS[:2]
        face = oracle.device_face(budget.odds_below, slots)
        central = [part * budget.amount for part in PARTS]
        odds = [exponential_bounds(part)[0] for part in central]  # from below, which makes the exact delta larger
        for reports in (2, 4) if quick else range(1, 8):
            bounds = Clones(reports, float(budget.amount)).delta([float(part) for part in central])
            yield from zip(exact_deltas(face, values, reports, odds), bounds.tolist(), strict=True)


def shuffled_check(oracle: Oracle, quick: bool) -> Check:
    """Check that the enumerated delta is never above the promised one; the number is the largest quotient."""
    largest = max(exact / Fraction(bound) for exact, bound in compared(oracle, quick))
    claim = (
        f"{oracle.name}, {'2 and 4' if quick else '1 to 7'} reports shuffled: delta is at most that of the central "
        "guarantee (number: the largest part of it)"
    )
    return Check(f"shuffled_{oracle.name}", largest <= 1, claim, float(largest), 1.0)


@dataclass(frozen=True)
class HostileServer:
    """A query by which a server singles out the target."""

    together: int
    """Reports in the target's group, hers included."""
    least: int
    """The minimum that the task names."""
    floor: int
    """The party's own."""
    mechanism: str = "canopy"

    def task(self) -> DeviceTask:
        """Return a task with a group that almost nobody is in."""
        tiny = mechanism_named(self.mechanism).parameters.tiny  # of BITS bits, in LEVELS levels
        query = Query(1, "1", self.mechanism, "krr", "ids", settings=tiny)
        order = QueryOrder("fruit", (PARTY,), query, mode="rounds")
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
    """The system's time without waiting: server and party take turns in one thread."""

    def sleep(self, seconds: float) -> None:
        """Return at once."""


class EnumeratedReports:
    """The devices of the party: reports of the target's group are enumerated, all others are fixed."""

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
    """Return how likely each view of the server is under every value of the target, and what the answers state."""
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
    """Return the largest delta over two values of the target: the sum of max(P - odds Q, 0) over all views."""
    return max(
        sum((max(law[one] - odds * law[other], Fraction(0)) for law in laws.values()), Fraction(0))
        for one, other in permutations(range(len(VALUES)), 2)
    )


def stated_check(quick: bool) -> Check:
    """Check the guarantee that answers state for a user whom the server has put among few others."""
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
    """Check that groups below the party's floor are not counted, even if the task allows them."""
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
