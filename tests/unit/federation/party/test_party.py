"""The party's role over stores in memory."""

from dataclasses import replace

import pytest
from tests.support.clocks import NOW, HandClock
from tests.support.parties import DEADLINES, KEY, NAME, EchoQuery, document, honest_entry, party_of, task
from tests.support.refusals import refused

from treetop.adapters.memory.ports import MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.errors import InvalidInput, PeerViolation, UnknownName
from treetop.federation.party.party import TaskClosed
from treetop.federation.protocol import ServerMessage
from treetop.federation.task import LeastReports
from treetop.federation.wire.signed_documents import signed_task
from treetop.federation.wire.uploads import ReportStatus, Ticket, encoded_upload

ONE_SHOT, ROUNDS = task(), task("listed")


def test_a_task_is_taken_once_and_survives_a_restart() -> None:
    store, journal = MemoryReportStore(), MemoryJournal()
    first = party_of(store, journal)
    assert first.install(document(ONE_SHOT)) == first.install(document(ONE_SHOT)) == ONE_SHOT.digest
    second = party_of(store, journal)
    second.verifier = PinnedKeys([SigningKey(bytes(32)).public])  # the key was rotated out meanwhile
    second.take_up()
    assert second.task(ONE_SHOT.digest).document == document(ONE_SHOT)
    with pytest.raises(PeerViolation):
        second.install(document(ROUNDS))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (replace(ONE_SHOT, parties=("south",)), "parties of the task"),
        (replace(ONE_SHOT, deadlines=replace(DEADLINES, reports=NOW - 1, enrolment=NOW - 2)), "deadline of the task"),
        (replace(ONE_SHOT, deadlines=replace(DEADLINES, level_seconds=0)), "seconds of a level"),
    ],
)
def test_tasks_that_are_not_ours_are_refused(changed: object, told: str) -> None:
    party = party_of(MemoryReportStore())
    with pytest.raises(PeerViolation, match=told):
        party.install(document(changed))  # type: ignore[arg-type]
    assert not party.tasks


@pytest.mark.parametrize(("estimate", "validation"), [(1, 100), (100, 1), (99, 99)])
def test_a_task_below_the_own_floor_is_refused(estimate: int, validation: int) -> None:
    """The minimum of a task is the server's word, and so is the beacon that says who is in which group."""
    store = MemoryReportStore()
    party = party_of(store, least_reports=100)
    with pytest.raises(PeerViolation, match="100 at least"):
        party.install(document(replace(ONE_SHOT, least=LeastReports(estimate, validation))))
    assert not store.tasks()
    party.install(document(replace(ONE_SHOT, least=LeastReports(100, 100))))
    assert len(party.tasks) == 1


def test_a_task_of_a_stranger_is_refused() -> None:
    with refused("document_signature", PeerViolation, what="signature", expected="one of a pinned key", found="none"):
        party_of(MemoryReportStore()).install(signed_task(ONE_SHOT, SigningKey(bytes(32))))


def test_tickets_are_authentic_distinct_and_given_out_while_it_is_open() -> None:
    clock = HandClock()
    party = party_of(MemoryReportStore(), clock=clock)
    digest = party.install(document(ONE_SHOT))
    texts = party.issue(digest, 3) + party.issue(digest, 2)
    assert [Ticket.from_bytes(bytes.fromhex(text)).serial for text in texts] == [0, 1, 2, 3, 4]
    assert all(KEY.wrote(digest, bytes.fromhex(text)) for text in texts)
    for count in (0, -1, 100_001):
        with pytest.raises(InvalidInput):
            party.issue(digest, count)
    clock.wall = DEADLINES.reports + 1
    with pytest.raises(TaskClosed):
        party.issue(digest, 1)
    clock.wall = NOW
    party.task(digest).published.note_over()
    with pytest.raises(TaskClosed):
        party.issue(digest, 1)
    assert party.task(digest).state == "closed"


def test_enrolment_gives_a_verdict_for_each_ticket() -> None:
    clock = HandClock()
    party = party_of(MemoryReportStore(), clock=clock)
    digest = party.install(document(ROUNDS))
    tickets = [bytes.fromhex(text) for text in party.issue(digest, 3)]
    forged = tickets[0][:-1] + bytes([tickets[0][-1] ^ 1])
    told = party.enrol(digest, tickets[0] + forged + tickets[1] + tickets[0])
    assert told == [ReportStatus.ACCEPTED, ReportStatus.TICKET_FORGED, ReportStatus.ACCEPTED, ReportStatus.REPLAYED]
    clock.wall = DEADLINES.opens - 301
    assert party.enrol(digest, tickets[2]) == [ReportStatus.TOO_EARLY]
    clock.wall = DEADLINES.enrolment + 301
    assert party.enrol(digest, tickets[2]) == [ReportStatus.ENROLMENT_CLOSED]
    clock.wall = NOW
    assert party.enrol(digest, tickets[2]) == [ReportStatus.ACCEPTED], "a clock that jumps closes nothing"
    party._store.close_enrolment(digest)
    party.task(digest).published.post_beacon(b"a beacon")
    clock.wall = DEADLINES.enrolment + 301
    assert party.enrol(digest, tickets[0]) == [ReportStatus.REPLAYED]
    for wrong in (b"", tickets[0][:-1], b"x" * 24 * 10_001):
        with pytest.raises(PeerViolation):
            party.enrol(digest, wrong)


def test_a_one_shot_task_has_no_enrolment() -> None:
    party = party_of(MemoryReportStore())
    digest = party.install(document(ONE_SHOT))
    with pytest.raises(TaskClosed):
        party.enrol(digest, KEY.write(digest, 0).to_bytes())


def test_an_unknown_task() -> None:
    party = party_of(MemoryReportStore())
    with pytest.raises(UnknownName):
        party.screened(bytes(32), encoded_upload([honest_entry(ONE_SHOT, 0)]))


def test_messages_reach_the_query() -> None:
    party = party_of(MemoryReportStore())
    digest = party.install(document(ONE_SHOT))
    message = ServerMessage("close").to_bytes()
    query = party.task(digest).query
    query.tell(1, message)
    assert query.outcome(1) is None
    assert party.work(digest)
    assert not party.work(digest)
    assert query.outcome(1) is not None
    assert party.name == NAME


def test_a_task_is_over_with_the_last_answer_of_its_query() -> None:
    store, journal, query = MemoryReportStore(), MemoryJournal(), EchoQuery()
    party = party_of(store, journal, query=query)
    digest = party.install(document(ROUNDS))
    for finished, state in ((False, "open"), (True, "closed")):
        query.finished = finished
        party.work(digest)
        assert party.task(digest).state == state
    again = party_of(store, journal)
    again.take_up()
    assert again.task(digest).state == "closed"
