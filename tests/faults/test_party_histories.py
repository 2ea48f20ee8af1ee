"""Random histories of a party: repeated, reordered, delayed, restarted, each device counts once (R4, R5)."""

from collections.abc import Mapping
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.support.clocks import NOW, HandClock
from tests.support.parties import DEADLINES, KEY, NAME, SIGNING, EchoQuery, NotingCounter, document, honest_entry, task

from treetop.adapters.memory.ports import MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.key_files import PinnedKeys
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.party import Party
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.party.query import PartyQuery
from treetop.federation.wire.report_batches import Envelope, encoded_batch
from treetop.federation.wire.signed_documents import Beacon, Publication, PublishedList, Question, signed
from treetop.federation.wire.uploads import ReportStatus, TicketedReport, encoded_upload
from treetop.oracles.krr import KRandomizedResponse
from treetop.services.party.report_collection import DeviceReportCollection
from treetop.trie.user_groups import Group

ONE_SHOT, ROUNDS = task(), task("krr")
BEACON = b"b" * 32
LISTS = {
    Group(1): PublishedList(NAME, Question(ROUNDS.digest, Group(1), 2, (0, 1, 2, 3)), Publication(0, (0,))),
    Group(2): PublishedList(
        NAME, Question(ROUNDS.digest, Group(2), 4, tuple(range(16))), Publication(2, (0, 1, 2, 3))
    ),
}  # fmt: skip
SERIALS = st.integers(0, 24)


class World:
    """A party, and all that outlasts its restarts."""

    def __init__(self) -> None:
        self.store, self.journal, self.clock = MemoryReportStore(), MemoryJournal(), HandClock(speed=1000)
        self.collections: dict[bytes, DeviceReportCollection] = {}
        self.start()
        for of in (ONE_SHOT, ROUNDS):
            self.party.install(document(of))
            self.store.issue_tickets(of.digest, 25)

    def start(self) -> None:
        self.party = Party(
            NAME, self.store, self.journal, clock=self.clock, key=KEY, verifier=PinnedKeys([SIGNING.public]),
            open_query=self._open, least_reports=1,
        )  # fmt: skip
        self.party.take_up()
        for digest in self.party.tasks:
            self.party.work(digest)

    def _open(self, admission: TaskAdmission, published: PublishedDocuments) -> PartyQuery:
        self.collections[admission.task.digest] = DeviceReportCollection(
            admission, published, self.store, NotingCounter, clock=self.clock,  # type: ignore[arg-type]
            verifier=lambda: self.party.verifier, stopping=lambda: False, close_when_complete=True,
        )  # fmt: skip
        return cast(PartyQuery, EchoQuery())

    def send(self, digest: bytes, entries: list[TicketedReport]) -> list[ReportStatus]:
        found = self.party.screened(digest, encoded_upload(entries))
        return found.answered(self.store.submit(found.admitted))

    def content(self, digest: bytes) -> Mapping[Group, list[bytes]]:
        """Close everything and return what would be counted."""
        found = {}
        for entry in self.party.task(digest).task.groups:
            self.store.close_group(digest, entry.group)
            found[entry.group] = [body for some in self.store.bodies(digest, entry.group) for body in some]
        return found


@pytest.mark.parametrize("part", range(4))
def test_any_schedule_of_repetitions_counts_each_report_once(part: int) -> None:
    """R4: a thousand schedules of 1 to 100 repetitions, in any order and any portions."""
    entries = [honest_entry(ONE_SHOT, serial) for serial in range(12)]
    once = World()
    once.send(ONE_SHOT.digest, entries)
    expected = once.content(ONE_SHOT.digest)
    for seed in range(part * 250, (part + 1) * 250):
        random = Random(seed)  # noqa: S311
        world, accepted = World(), 0
        schedule = [entry for entry in entries for _ in range(random.choice((1, 1, 2, 5, random.randint(1, 100))))]
        random.shuffle(schedule)
        while schedule:
            portion = [schedule.pop() for _ in range(min(len(schedule), random.randint(1, 40)))]
            verdicts = world.send(ONE_SHOT.digest, portion)
            assert {*verdicts} <= {ReportStatus.ACCEPTED, ReportStatus.REPLAYED}
            accepted += verdicts.count(ReportStatus.ACCEPTED)
            if random.random() < 0.1:
                world.start()
        assert accepted == len(entries)
        assert world.content(ONE_SHOT.digest) == expected
        assert world.send(ONE_SHOT.digest, entries) == [ReportStatus.REPLAYED] * len(entries)


def own_group(serial: int) -> Group:
    return assigned_group(ROUNDS, Enrolment(serial.to_bytes(8, "big"), BEACON, NAME))


def answer(serial: int, group: Group, value: int = 0) -> TicketedReport:
    """What device `serial` sends for a list, whether or not the list is its own."""
    question = LISTS[group].question
    batch = encoded_batch(
        Envelope(ROUNDS.digest, group, question.digest, KRandomizedResponse(), question.slots), [value]
    )
    return TicketedReport(KEY.write(ROUNDS.digest, serial).to_bytes(), batch)


class PartyMachine(RuleBasedStateMachine):
    """A party against a plain model: who was accepted where, who enrolled, what was published and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.accepted: dict[bytes, dict[int, tuple[Group, bytes]]] = {ONE_SHOT.digest: {}, ROUNDS.digest: {}}
        self.enrolled: set[int] = set()
        self.published: dict[Group, bytes] = {}
        self.beacon: bytes | None = None
        self.closed: dict[tuple[bytes, Group], int] = {}
        self.enrolment_closed = False

    @rule(serials=st.lists(SERIALS, min_size=1, max_size=5), group=st.none() | st.sampled_from(ONE_SHOT.groups))
    def report(self, serials: list[int], group: Any) -> None:
        """One-shot: honest reports, repeated ones, and second ones of another group."""
        entries = [honest_entry(ONE_SHOT, serial, group.group if group else None) for serial in serials]
        verdicts = self.world.send(ONE_SHOT.digest, entries)
        for serial, entry, verdict in zip(serials, entries, verdicts, strict=True):
            chosen = group.group if group else ONE_SHOT.groups[serial % len(ONE_SHOT.groups)].group
            assert verdict == self.expected(ONE_SHOT.digest, serial, chosen, entry.batch)

    @rule(serial=SERIALS, group=st.sampled_from(list(LISTS)), value=st.integers(0, 3))
    def answer(self, serial: int, group: Group, value: int) -> None:
        """Rounds: an answer to a list, own or not, published or not, open or not."""
        entry = answer(serial, group, value)
        (verdict,) = self.world.send(ROUNDS.digest, [entry])
        if self.beacon is None:
            assert verdict == ReportStatus.LEVEL_NOT_OPEN
        elif serial not in self.enrolled:
            assert verdict == ReportStatus.NOT_ENROLLED
        elif own_group(serial) != group:
            assert verdict == ReportStatus.WRONG_GROUP
        elif group not in self.published:
            assert verdict == ReportStatus.LEVEL_NOT_OPEN
        else:
            assert verdict == self.expected(ROUNDS.digest, serial, group, entry.batch)

    def expected(self, digest: bytes, serial: int, group: Group, batch: bytes) -> ReportStatus:
        known = self.accepted[digest]
        if serial in known:
            return ReportStatus.REPLAYED if known[serial] == (group, batch) else ReportStatus.TICKET_SPENT
        if (digest, group) in self.closed:
            return ReportStatus.LEVEL_CLOSED
        known[serial] = (group, batch)
        return ReportStatus.ACCEPTED

    @rule(serials=st.lists(SERIALS, min_size=1, max_size=8))
    def enrol(self, serials: list[int]) -> None:
        tickets = b"".join(KEY.write(ROUNDS.digest, serial).to_bytes() for serial in serials)
        for serial, verdict in zip(serials, self.world.party.enrol(ROUNDS.digest, tickets), strict=True):
            if serial in self.enrolled:
                assert verdict == ReportStatus.REPLAYED
            elif self.enrolment_closed:
                assert verdict == ReportStatus.ENROLMENT_CLOSED
            else:
                assert verdict == ReportStatus.ACCEPTED
                self.enrolled.add(serial)

    @precondition(lambda self: len(self.enrolled) >= 8)
    @rule()
    def close_enrolment(self) -> None:
        found = self.world.collections[ROUNDS.digest].close()
        self.world.clock.passed = 0.0
        self.enrolment_closed = True
        assert found.devices == len(self.enrolled)
        if self.beacon is None:
            content = Beacon(ROUNDS.digest, NAME, found.devices, found.digest, BEACON)
            self.beacon = signed("beacon", content.to_bytes(), SIGNING)
        groups = self.world.collections[ROUNDS.digest].publish_beacon(self.beacon)
        assert sum(groups.values()) == len(self.enrolled)

    @precondition(lambda self: self.beacon is not None)
    @rule(group=st.sampled_from(list(LISTS)))
    def publish(self, group: Group) -> None:
        listed = signed("list", LISTS[group].to_bytes(ROUNDS), SIGNING)
        self.world.collections[ROUNDS.digest].publish_list(listed, LISTS[group])
        self.published[group] = listed

    @precondition(lambda self: self.published)
    @rule(data=st.data())
    def gather(self, data: st.DataObject) -> None:
        group = data.draw(st.sampled_from(list(self.published)))
        count = self.world.collections[ROUNDS.digest].gather(group)
        self.world.clock.passed = 0.0
        assert self.closed.setdefault((ROUNDS.digest, group), count) == count

    @precondition(lambda self: len(self.accepted[ONE_SHOT.digest]) > 10)
    @rule()
    def close_reports(self) -> None:
        found = self.world.collections[ONE_SHOT.digest].close()
        self.world.clock.passed = 0.0
        for group, count in found.groups.items():
            assert self.closed.setdefault((ONE_SHOT.digest, group), count) == count

    @rule()
    def restart(self) -> None:
        self.world.start()

    @rule(jump=st.sampled_from([-86400, 86400]), serial=SERIALS)
    def a_clock_that_jumps_refuses_and_changes_nothing(self, jump: int, serial: int) -> None:
        self.world.clock.wall = NOW + jump
        entry, group = honest_entry(ONE_SHOT, serial), ONE_SHOT.groups[serial % len(ONE_SHOT.groups)].group
        (verdict,) = self.world.send(ONE_SHOT.digest, [entry])
        if (ONE_SHOT.digest, group) in self.closed:
            assert verdict == self.expected(ONE_SHOT.digest, serial, group, entry.batch)
        else:
            assert verdict == (ReportStatus.TOO_LATE if NOW + jump > DEADLINES.reports else ReportStatus.TOO_EARLY)
        self.world.clock.wall = NOW

    @invariant()
    def every_group_holds_the_distinct_accepted_ones(self) -> None:
        for digest, known in self.accepted.items():
            groups = [group for group, _ in known.values()]
            assert self.world.store.counts(digest) == {group: groups.count(group) for group in set(groups)}

    @invariant()
    def closed_groups_and_published_documents_never_change(self) -> None:
        for (digest, group), count in self.closed.items():
            assert self.world.store.counts(digest).get(group, 0) == count
        published = self.world.party.task(ROUNDS.digest).published
        assert published.lists == self.published
        assert published.beacon == self.beacon


CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def test_random_histories_of_a_party() -> None:
    shape = settings(max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=CHECKS)
    run_state_machine_as_test(PartyMachine, settings=shape)


@pytest.mark.slow
def test_many_random_histories_of_a_party() -> None:
    shape = settings(max_examples=500, stateful_step_count=50, deadline=None, suppress_health_check=CHECKS)
    run_state_machine_as_test(PartyMachine, settings=shape)
