"""Waiting for devices by the monotonic clock, and published documents that stay."""

from collections.abc import Callable
from typing import cast

import pytest
from tests.support.clocks import NOW, HandClock
from tests.support.parties import DEADLINES, KEY, NAME, SIGNING, EchoQuery, NotingCounter, document, honest_entry, task

from treetop.adapters.memory.ports import MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.errors import PeerViolation
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.party import Party
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.party.query import PartyQuery
from treetop.federation.ports import Signer
from treetop.federation.task import DeviceTask
from treetop.federation.wire.report_batches import Envelope, encoded_batch
from treetop.federation.wire.signed_documents import Beacon, Publication, PublishedList, Question, signed
from treetop.federation.wire.uploads import TicketedReport, encoded_upload
from treetop.services.party.report_collection import DeviceReportCollection, Stopped
from treetop.trie.user_groups import Group

ONE_SHOT, ROUNDS = task(), task("listed")
DAY = 24 * 3600


class World:
    """What outlasts a restart, and one party in it."""

    def __init__(self, of: DeviceTask, eager: bool = False) -> None:
        self.task, self.store, self.journal, self.clock = of, MemoryReportStore(), MemoryJournal(), HandClock()
        self.store.add_task(of.digest, document(of))
        self.stopping, self.eager = False, eager
        self.start()

    def start(self) -> None:
        self.party = Party(
            NAME, self.store, self.journal, clock=self.clock, key=KEY, verifier=PinnedKeys([SIGNING.public]),
            open_query=self._open, least_reports=1,
        )  # fmt: skip
        self.party.take_up()

    def _open(self, admission: TaskAdmission, published: PublishedDocuments) -> PartyQuery:
        self.admission, self.published, self.counter = admission, published, NotingCounter()
        self.collection = DeviceReportCollection(
            admission, published, self.store, lambda: self.counter, clock=self.clock,  # type: ignore[arg-type,return-value]
            verifier=lambda: self.party.verifier, stopping=lambda: self.stopping, close_when_complete=self.eager,
        )  # fmt: skip
        return cast(PartyQuery, EchoQuery())

    def report(self, entry: TicketedReport, now: int = NOW) -> str:
        found = self.admission.screened(encoded_upload([entry]), now)
        return found.answered(self.store.submit(found.admitted))[0].value

    def beacon(self, signer: Signer = SIGNING, **changes: object) -> bytes:
        closed = self.store.close_enrolment(self.task.digest)
        content = Beacon(self.task.digest, NAME, closed.devices, closed.digest, b"b" * 32)
        return signed("beacon", Beacon(**(vars(content) | changes)).to_bytes(), signer)

    def when_slept(self, act: Callable[[], object]) -> None:
        """Do something the next time it waits."""
        plain = self.clock.sleep

        def sleep(seconds: float) -> None:
            self.clock.sleep = plain  # type: ignore[method-assign]
            plain(seconds)
            act()

        self.clock.sleep = sleep  # type: ignore[method-assign]


def listed(level: int = 1, party: str = NAME) -> PublishedList:
    length = 2 * level
    question = Question(ROUNDS.digest, Group(level), length, tuple(range(1 << length)))
    return PublishedList(party, question, Publication(length - 2, tuple(range(1 << (length - 2)))))


def signed_list(of: PublishedList, signer: Signer = SIGNING) -> bytes:
    return signed("list", of.to_bytes(ROUNDS), signer)


def answer(serial: int, of: PublishedList) -> TicketedReport:
    slots = of.question.slots
    oracle = ROUNDS.oracle_for(slots)
    value: object = 0 if oracle.name == "krr" else (False,) * slots
    batch = encoded_batch(Envelope(ROUNDS.digest, of.question.group, of.question.digest, oracle, slots), [value])
    return TicketedReport(KEY.write(ROUNDS.digest, serial).to_bytes(), batch)


def test_one_shot_closes_at_the_deadline_and_takes_nothing_afterwards() -> None:
    world = World(ONE_SHOT)
    world.store.issue_tickets(ONE_SHOT.digest, 5)
    assert [world.report(honest_entry(ONE_SHOT, serial)) for serial in range(3)] == ["accepted"] * 3
    found = world.collection.close()
    assert world.clock.passed == DEADLINES.reports - NOW
    assert (found.devices, found.tickets, found.digest) == (3, 5, bytes(32))
    assert sum(found.groups.values()) == 3
    assert world.counter.unlinked == [group for group, reports in found.groups.items() if reports]
    assert world.report(honest_entry(ONE_SHOT, 3)) == "level_closed"
    for now in (NOW, NOW + 30 * DAY):
        assert world.report(honest_entry(ONE_SHOT, 0), now) == "replayed", "it learns that it counts, however late"
        assert world.report(honest_entry(ONE_SHOT, 4), now) == "level_closed"
    assert world.published.over
    assert world.collection.close() == found
    assert world.collection.gather(Group(1)) == found.groups[Group(1)]


def test_it_closes_early_only_if_told_so_and_all_tickets_are_spent() -> None:
    world = World(ONE_SHOT, eager=True)
    world.store.issue_tickets(ONE_SHOT.digest, 2)
    world.report(honest_entry(ONE_SHOT, 0))
    world.when_slept(lambda: world.report(honest_entry(ONE_SHOT, 1)))
    assert world.collection.close().devices == 2
    assert world.clock.passed < 1


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_of_the_wall_clock_changes_nothing_while_it_waits(jump: int) -> None:
    for world in (World(ONE_SHOT), World(ROUNDS)):
        world.when_slept(lambda world=world: setattr(world.clock, "wall", world.clock.wall + jump))  # type: ignore[misc]
        world.collection.close()
        deadline = DEADLINES.reports if world.task.one_shot else DEADLINES.enrolment
        assert world.clock.passed == deadline - NOW


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_level_lasts_its_seconds_whatever_the_wall_clock_says(jump: int) -> None:
    world = enrolled_world()
    world.collection.publish_list(signed_list(listed()), listed())
    before = world.clock.passed
    world.when_slept(lambda: setattr(world.clock, "wall", world.clock.wall + jump))
    assert world.collection.gather(Group(1)) == 0
    assert world.clock.passed - before == pytest.approx(DEADLINES.level_seconds)


def enrolled_world(devices: int = 40, eager: bool = True) -> World:
    world = World(ROUNDS, eager)
    world.store.issue_tickets(ROUNDS.digest, devices)
    world.store.enrol(ROUNDS.digest, range(devices))
    assert world.collection.close().devices == devices
    world.collection.publish_beacon(world.beacon())
    return world


def test_enrolment_closes_early_when_all_tickets_have_enrolled() -> None:
    world = enrolled_world()
    assert world.clock.passed == 0
    waiting = enrolled_world(eager=False)
    assert waiting.clock.passed == DEADLINES.enrolment - NOW


def own_group(serial: int) -> Group:
    return assigned_group(ROUNDS, Enrolment(serial.to_bytes(8, "big"), b"b" * 32, NAME))


def test_a_level_closes_when_all_assigned_have_answered() -> None:
    world = enrolled_world()
    first = [serial for serial in range(40) if own_group(serial) == Group(1)]
    assert world.report(answer(first[0], listed())) == "level_not_open"
    world.collection.publish_list(signed_list(listed()), listed())
    other = next(serial for serial in range(40) if own_group(serial) != Group(1))
    assert world.report(answer(other, listed())) == "wrong_group"
    assert world.report(answer(77, listed())) == "not_enrolled"
    for serial in first[1:]:
        assert world.report(answer(serial, listed())) == "accepted"
    world.when_slept(lambda: world.report(answer(first[0], listed())))
    before = world.clock.passed
    assert world.collection.gather(Group(1)) == len(first)
    assert world.clock.passed - before < 1
    assert world.published.is_closed(Group(1))
    assert world.counter.unlinked == [Group(1)]
    assert world.report(answer(first[0], listed())) == "replayed"


def test_after_a_restart_everything_published_is_shown_and_admitted_again() -> None:
    world = enrolled_world()
    world.collection.publish_list(signed_list(listed()), listed())
    shown = (world.published.beacon, world.published.lists)
    world.start()
    first = next(serial for serial in range(40) if own_group(serial) == Group(1))
    assert world.report(answer(first, listed())) == "level_not_open"
    world.party.work(ROUNDS.digest)
    assert (world.published.beacon, world.published.lists) == shown
    assert world.report(answer(first, listed())) == "accepted"
    before = world.clock.passed
    assert world.collection.gather(Group(1)) == 1
    assert world.clock.passed - before == pytest.approx(DEADLINES.level_seconds), "time counts from the restart"
    world.start()
    assert world.collection.gather(Group(1)) == 1
    assert world.clock.passed - before == pytest.approx(DEADLINES.level_seconds), "it was closed: no second wait"


def test_beacons_of_strangers_and_second_ones_are_refused() -> None:
    world = enrolled_world()
    counts = world.collection.publish_beacon(world.beacon())
    assert counts == world.collection.publish_beacon(world.beacon())
    assert sum(counts.values()) == 40
    wrong: list[dict[str, object]] = [
        {"signer": SigningKey(bytes(32))}, {"task": bytes(32)}, {"party": "south"}, {"devices": 39},
        {"enrolment": bytes(32)}, {"beacon": b"c" * 32},
    ]  # fmt: skip
    for change in wrong:
        with pytest.raises(PeerViolation):
            world.collection.publish_beacon(world.beacon(**change))  # type: ignore[arg-type]


def test_lists_of_strangers_and_second_ones_are_refused() -> None:
    world = enrolled_world()
    world.collection.publish_list(signed_list(listed()), listed())
    world.collection.publish_list(signed_list(listed()), listed())
    shorter = PublishedList(NAME, Question(ROUNDS.digest, Group(1), 2, (0, 1, 2)), Publication(0, (0,)))
    for shown, told in (
        (signed_list(listed(), SigningKey(bytes(32))), listed()),
        (signed_list(listed(2)), listed()),
        (signed_list(listed(party="south")), listed(party="south")),
        (signed_list(shorter), shorter),
    ):
        with pytest.raises(PeerViolation):
            world.collection.publish_list(shown, told)


def test_it_stops_with_the_service() -> None:
    world = World(ONE_SHOT)
    world.when_slept(lambda: setattr(world, "stopping", True))
    with pytest.raises(Stopped):
        world.collection.close()
    assert not world.published.over
