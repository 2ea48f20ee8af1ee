"""What every store of reports must do, in memory, in SQLite and in PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.databases import PLACES, Place, place_called
from tests.support.refusals import refused
from tests.support.reports import FIRST, OTHER, SECOND, TASK, body_of, report, reports

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.service_ports import ClosedEnrolment, ReportStore
from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group, Role

ACCEPTED, REPLAYED, SPENT = ReportStatus.ACCEPTED, ReportStatus.REPLAYED, ReportStatus.TICKET_SPENT


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    found = place_called(request.param, tmp_path, request)
    found.store.add_task(TASK, b"the task")
    yield found
    found.close()


def all_bodies(store: ReportStore, group: Group = FIRST, task: bytes = TASK) -> list[bytes]:
    return [body for stretch in store.bodies(task, group) for body in stretch]


def test_tasks_are_kept_in_order_and_never_change(place: Place) -> None:
    place.store.add_task(OTHER, b"another")
    place.store.add_task(TASK, b"the task")
    place.reopen()
    assert list(place.store.tasks().items()) == [(TASK, b"the task"), (OTHER, b"another")]
    with refused("task_differs", InvalidInput):
        place.store.add_task(TASK, b"the task, altered")


def test_an_unknown_task_is_named(place: Place) -> None:
    nobody = bytes(32)
    for call in (
        lambda: place.store.issue_tickets(nobody, 1),
        lambda: place.store.tickets_issued(nobody),
        lambda: place.store.enrol(nobody, [1]),
        lambda: place.store.close_enrolment(nobody),
        lambda: place.store.enrolled(nobody),
        lambda: place.store.submit([report(1), report(2, task=nobody)]),
        lambda: place.store.close_group(nobody, FIRST),
        lambda: place.store.counts(nobody),
        lambda: place.store.bodies(nobody, FIRST),
        lambda: place.store.scrub(nobody, FIRST),
        lambda: place.store.forget(nobody),
    ):
        with refused("unknown_name", UnknownName, kind="task", nearest=None):
            call()
    assert place.store.counts(TASK) == {}


def test_tickets_are_numbered_on_and_never_twice(place: Place) -> None:
    assert place.store.issue_tickets(TASK, 3) == range(3)
    place.reopen()
    assert place.store.issue_tickets(TASK, 2) == range(3, 5)
    assert place.store.tickets_issued(TASK) == 5
    place.store.add_task(OTHER, b"another")
    assert place.store.issue_tickets(OTHER, 1) == range(1)
    with pytest.raises(InvalidInput, match="found 0"):
        place.store.issue_tickets(TASK, 0)


def test_whoever_is_enrolled_stays_so(place: Place) -> None:
    closed = ReportStatus.ENROLMENT_CLOSED
    assert place.store.enrol(TASK, [5, 3, 5]) == [ACCEPTED, ACCEPTED, REPLAYED]
    assert place.store.enrol(TASK, [3, 1 << 39]) == [REPLAYED, ACCEPTED]
    place.reopen()
    answer = place.store.close_enrolment(TASK)
    assert answer == ClosedEnrolment.of([3, 5, 1 << 39])
    assert place.store.enrol(TASK, [3, 4, 4, 5]) == [REPLAYED, closed, closed, REPLAYED]
    place.reopen()
    assert place.store.close_enrolment(TASK) == answer
    assert list(place.store.enrolled(TASK)) == [3, 5, 1 << 39]


def test_an_empty_enrolment_closes_too(place: Place) -> None:
    assert place.store.close_enrolment(TASK) == ClosedEnrolment.of([])
    assert place.store.enrol(TASK, [1]) == [ReportStatus.ENROLMENT_CLOSED]
    assert list(place.store.enrolled(TASK)) == []


def test_a_report_counts_once_whatever_comes_again(place: Place) -> None:
    first, same, changed, moved = report(1), report(1), report(1, version=9), report(1, SECOND)
    assert place.store.submit([first]) == [ACCEPTED]
    assert place.store.submit([same, changed, moved]) == [REPLAYED, SPENT, SPENT]
    place.reopen()
    assert place.store.submit([moved, same]) == [SPENT, REPLAYED]
    assert place.store.counts(TASK) == {FIRST: 1}


def test_repetitions_within_one_call_are_told_apart(place: Place) -> None:
    call = [report(1), report(2, SECOND), report(1), report(2), report(2, SECOND), report(3)]
    assert place.store.submit(call) == [ACCEPTED, ACCEPTED, REPLAYED, SPENT, REPLAYED, ACCEPTED]
    assert place.store.counts(TASK) == {FIRST: 2, SECOND: 1}


def test_nothing_submitted_is_nothing(place: Place) -> None:
    assert place.store.submit([]) == []
    assert place.store.counts(TASK) == {}


def test_tasks_do_not_share_tickets(place: Place) -> None:
    place.store.add_task(OTHER, b"another")
    mixed = [report(7), report(7, task=OTHER), report(7, task=OTHER), report(8)]
    assert place.store.submit(mixed) == [ACCEPTED, ACCEPTED, REPLAYED, ACCEPTED]
    assert place.store.counts(TASK) == {FIRST: 2}
    assert place.store.counts(OTHER) == {FIRST: 1}


def test_a_closed_group_takes_nothing_and_still_knows_its_own(place: Place) -> None:
    place.store.submit(reports([1, 2]))
    assert place.store.close_group(TASK, FIRST) == 2
    place.reopen()
    late = [report(1), report(2, version=1), report(3), report(4, SECOND)]
    assert place.store.submit(late) == [REPLAYED, SPENT, ReportStatus.LEVEL_CLOSED, ACCEPTED]
    assert place.store.close_group(TASK, FIRST) == 2
    assert place.store.counts(TASK) == {FIRST: 2, SECOND: 1}
    assert place.store.submit([report(3, SECOND)]) == [ACCEPTED]


def test_a_group_closes_before_its_first_report(place: Place) -> None:
    assert place.store.close_group(TASK, SECOND) == 0
    place.reopen()
    assert place.store.submit([report(1, SECOND)]) == [ReportStatus.LEVEL_CLOSED]
    assert all_bodies(place.store, SECOND) == []
    assert place.store.counts(TASK) == {}


def test_roles_of_one_level_are_groups_of_their_own(place: Place) -> None:
    groups = [Group(4, role) for role in Role] + [Group(65535)]
    place.store.submit([report(serial, group) for serial, group in enumerate(groups)])
    for serial, group in enumerate(groups):
        assert place.store.close_group(TASK, group) == 1
        assert all_bodies(place.store, group) == [body_of(serial)]


def test_bodies_come_in_the_order_of_their_bytes_whenever_they_came(place: Place) -> None:
    serials = [(serial * 7919) % 10_000 for serial in range(10_000)]
    for start in range(0, 10_000, 2500):
        place.store.submit(reports(serials[start : start + 2500]))
    place.store.close_group(TASK, FIRST)
    place.reopen()
    assert all_bodies(place.store) == sorted(body_of(serial) for serial in range(10_000))
    assert all(len(stretch) <= 5000 for stretch in place.store.bodies(TASK, FIRST))


def test_an_open_group_shows_no_bodies_and_keeps_them(place: Place) -> None:
    place.store.submit(reports([1]))
    with refused("group_not_closed", InvalidInput, group="the group of level 1 (estimate)"):
        place.store.bodies(TASK, FIRST)
    with refused("group_not_closed", InvalidInput, group="the group of level 1 (estimate)"):
        place.store.scrub(TASK, FIRST)


def test_scrubbed_bodies_are_gone_and_tickets_stay_used(place: Place) -> None:
    place.store.submit([*reports([1, 2]), report(3, SECOND)])
    place.store.close_group(TASK, FIRST)
    place.store.close_group(TASK, SECOND)
    place.store.scrub(TASK, FIRST)
    place.store.scrub(TASK, FIRST)
    place.reopen()
    with refused("bodies_scrubbed", InvalidInput, group="the group of level 1 (estimate)"):
        place.store.bodies(TASK, FIRST)
    # What a ticket was used for is not known any more: the device is told that it counts, and nothing is kept.
    assert place.store.submit([report(1), report(2, version=1)]) == [REPLAYED, REPLAYED]
    assert place.store.submit([report(1, SECOND), report(9)]) == [SPENT, ReportStatus.LEVEL_CLOSED]
    assert place.store.close_group(TASK, FIRST) == 2
    assert place.store.counts(TASK) == {FIRST: 2, SECOND: 1}
    assert all_bodies(place.store, SECOND) == [body_of(3)]


def test_a_forgotten_task_stays_over(place: Place) -> None:
    place.store.add_task(OTHER, b"another")
    place.store.issue_tickets(TASK, 5)
    place.store.submit([report(1), report(2, SECOND), report(1, task=OTHER)])
    place.store.enrol(TASK, [1])
    place.store.close_group(TASK, FIRST)
    place.store.forget(TASK)
    place.store.forget(TASK)
    place.store.add_task(TASK, b"the task, once more")
    place.reopen()
    assert list(place.store.tasks()) == [OTHER]
    assert place.store.submit([report(1), report(4)]) == [SPENT, SPENT]
    assert place.store.enrol(TASK, [1, 2]) == [ReportStatus.ENROLMENT_CLOSED] * 2
    assert (place.store.counts(TASK), place.store.close_group(TASK, FIRST)) == ({}, 0)
    assert list(place.store.enrolled(TASK)) == []
    assert place.store.tickets_issued(TASK) == 5
    with pytest.raises(InvalidInput):
        place.store.issue_tickets(TASK, 1)
    assert place.store.counts(OTHER) == {FIRST: 1}


def test_threads_may_submit_and_close_at_once(place: Place) -> None:
    """Four threads present the same tickets, one closes: each ticket counts once, and the answer never changes."""

    def present(thread: int) -> list[ReportStatus]:
        return [place.store.submit([report(serial, version=thread)])[0] for serial in range(60)]

    with ThreadPoolExecutor(5) as pool:
        presented = [pool.submit(present, thread) for thread in range(4)]
        closed = pool.submit(place.store.close_group, TASK, FIRST).result(60)
        verdicts = [verdict for future in presented for verdict in future.result(60)]
    assert verdicts.count(ACCEPTED) == closed == place.store.counts(TASK).get(FIRST, 0)
    assert len(all_bodies(place.store)) == closed
