"""What a party takes besides reports: who may not answer, whether a ticket is its own, and the campaign of a task."""

import time
from dataclasses import replace
from threading import Barrier, Thread

import pytest
from tests.support.clocks import NOW, HandClock
from tests.support.federations import FixedSigner
from tests.support.parties import DEADLINES, KEY, SIGNING, document, party_of, task

from treetop.adapters.memory.ports import MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.key_files import SigningKey
from treetop.errors import PeerViolation, StoreUnavailable
from treetop.federation.campaign import Campaign, template_of
from treetop.federation.documents import DocumentCode, DocumentRefused
from treetop.federation.party.published_documents import RefusalCounts
from treetop.federation.server.query import _read_refusals
from treetop.federation.task import Deadlines
from treetop.federation.wire.signed_documents import signed, signed_campaign
from treetop.federation.wire.uploads import (
    MAX_ENTRIES,
    Refusal,
    ReportStatus,
    TicketKey,
    decoded_refusals,
    encoded_refusals,
)
from treetop.wording import Note
from treetop.wording.notes import NOTES

ONE_SHOT = task()
FORGED = TicketKey(b"another secret of thirty-two bytes").write(ONE_SHOT.digest, 0).to_bytes()
OPENED = Campaign(template_of(replace(ONE_SHOT, name="weekly")), NOW - 1000, every=2000, weeks=2)
WEEK = replace(
    ONE_SHOT, name=OPENED.task_name(0, 0), campaign=OPENED.week(0, 0),
    deadlines=Deadlines(NOW - 1000, NOW + 1000, NOW + 1000, DEADLINES.level_seconds),
)  # fmt: skip


def tickets(*serials: int) -> list[bytes]:
    return [KEY.write(ONE_SHOT.digest, serial).to_bytes() for serial in serials]


def test_refusals_are_read_back() -> None:
    told = [(ticket, code) for ticket, code in zip(tickets(0, 1, 2, 3), Refusal, strict=True)]
    assert decoded_refusals(encoded_refusals(told)) == told


@pytest.mark.parametrize(
    "broken",
    [
        b"", b"\x02", b"\x01", b"\x01" + bytes(24), b"\x01" + bytes(26), b"\x01" + bytes(24) + b"\x04",
        b"\x01" + bytes(25 * (MAX_ENTRIES + 1)),
    ],
)  # fmt: skip
def test_bytes_that_are_no_refusals_are_refused(broken: bytes) -> None:
    with pytest.raises(PeerViolation):
        decoded_refusals(broken)


def test_a_refusal_says_what_it_means() -> None:
    assert Refusal.BUDGET_LIFETIME.note(1200) == Note("refused_budget_lifetime", devices=1200)
    assert all(code.note(1).code in NOTES for code in Refusal)


def test_every_device_counts_once_by_what_it_told_first_and_others_not_at_all() -> None:
    store, journal = MemoryReportStore(), MemoryJournal()
    party = party_of(store, journal)
    digest = party.install(document(ONE_SHOT))
    own = tickets(0, 1, 5)
    told = encoded_refusals([
        (own[0], Refusal.NOT_MY_WEEK), (own[1], Refusal.BUDGET_WINDOW), (own[2], Refusal.BUDGET_WINDOW),
        (FORGED, Refusal.BUDGET_LIFETIME), (own[0], Refusal.BUDGET_LIFETIME),
    ])  # fmt: skip
    assert party.count_refusals(digest, told) == ["accepted", "accepted", "accepted", "ticket_forged", "replayed"]
    assert party.count_refusals(digest, told)[:3] == ["replayed"] * 3
    assert party.task(digest).published.refusals.counts == {Refusal.NOT_MY_WEEK: 1, Refusal.BUDGET_WINDOW: 2}
    again = party_of(store, journal)
    again.take_up()
    assert again.task(digest).published.refusals.counts == {Refusal.NOT_MY_WEEK: 1, Refusal.BUDGET_WINDOW: 2}


def test_two_processes_of_one_party_count_into_one_journal() -> None:
    journal = MemoryJournal()
    one, two = RefusalCounts(journal, ONE_SHOT), RefusalCounts(journal, ONE_SHOT)
    for serial in range(4):
        (one, two)[serial % 2].add([(serial, Refusal.NOT_MY_WEEK)])
    assert one.counts == two.counts == {Refusal.NOT_MY_WEEK: 4}


def test_what_lasts_of_refusals_are_counts_alone() -> None:
    journal = MemoryJournal()
    party = party_of(MemoryReportStore(), journal)
    digest = party.install(document(ONE_SHOT))
    party.count_refusals(digest, encoded_refusals((ticket, Refusal.NOT_MY_WEEK) for ticket in tickets(*range(7))))
    assert list(journal.read(f"refusals:{digest.hex()}").values()) == [b'{"not_my_week":7}']


def test_refusals_out_of_time_count_nothing() -> None:
    clock = HandClock()
    party = party_of(MemoryReportStore(), clock=clock)
    digest = party.install(document(ONE_SHOT))
    told = encoded_refusals([(tickets(0)[0], Refusal.NOT_MY_WEEK)])
    for moment, verdict in ((DEADLINES.opens - 301, "too_early"), (DEADLINES.reports + 301, "too_late")):
        clock.wall = moment
        assert party.count_refusals(digest, told) == [verdict]
        assert party.check_tickets(digest, tickets(0)[0] + FORGED) == [verdict, "ticket_forged"]
    assert not party.task(digest).published.refusals.counts


def test_refusals_of_many_at_once_are_all_counted() -> None:
    counts = RefusalCounts(MemoryJournal(), ONE_SHOT)
    threads = [
        Thread(target=lambda first=first: counts.add([(first + step, Refusal.NOT_MY_WEEK) for step in range(50)]))
        for first in range(0, 1000, 50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.counts == {Refusal.NOT_MY_WEEK: 1000}


def test_one_ticket_many_times_at_once_counts_once() -> None:
    everybody = Barrier(12)

    class Slow(MemoryJournal):
        """A journal that gives others time to come in between."""

        def write(self, book: str, entry: str, content: bytes) -> bytes:
            time.sleep(0.05)
            return super().write(book, entry, content)

    def tell() -> None:
        everybody.wait(30)
        verdicts.extend(counts.add([(7, Refusal.BUDGET_WINDOW)]))

    counts, verdicts = RefusalCounts(Slow(), ONE_SHOT), list[ReportStatus]()
    threads = [Thread(target=tell) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.counts == {Refusal.BUDGET_WINDOW: 1}
    assert sorted(verdicts) == ["accepted", *["replayed"] * 11]


def test_what_could_not_be_kept_counts_when_it_is_told_again() -> None:
    class Full(MemoryJournal):
        """A journal on a disk that is full at first."""

        full = True

        def write(self, book: str, entry: str, content: bytes) -> bytes:
            if self.full:
                raise StoreUnavailable("full")
            return super().write(book, entry, content)

    journal = Full()
    counts, told = RefusalCounts(journal, ONE_SHOT), [(7, Refusal.BUDGET_WINDOW), (7, Refusal.NOT_MY_WEEK)]
    with pytest.raises(StoreUnavailable):
        counts.add(told)
    journal.full = False
    assert counts.add(told) == ["accepted", "replayed"]
    assert counts.counts == {Refusal.BUDGET_WINDOW: 1}


def test_tickets_are_checked_and_nothing_is_kept() -> None:
    store, journal = MemoryReportStore(), MemoryJournal()
    party = party_of(store, journal)
    digest = party.install(document(ONE_SHOT))
    books = list(journal.books())
    assert party.check_tickets(digest, b"".join([*tickets(0, 1), FORGED])) == ["accepted", "accepted", "ticket_forged"]
    assert party.check_tickets(digest, tickets(0)[0]) == [ReportStatus.ACCEPTED]
    assert (list(journal.books()), dict(store.counts(digest))) == (books, {})
    for length in (0, 23, 25):
        with pytest.raises(PeerViolation, match="bytes of tickets"):
            party.check_tickets(digest, bytes(length))


def test_a_campaign_is_kept_with_the_task_of_a_week() -> None:
    store, journal = MemoryReportStore(), MemoryJournal()
    party = party_of(store, journal)
    digest, signed = party.install(document(WEEK)), signed_campaign(OPENED, SIGNING)
    assert party.campaign(OPENED.digest.hex()) is None
    for refused, told in (
        (signed_campaign(OPENED, SigningKey(bytes(32))), "signature"),
        (signed_campaign(replace(OPENED, weeks=3), SIGNING), "campaign of the task"),
        (signed_campaign(OPENED, FixedSigner()), "signature"), (document(WEEK), "kind of a signed document"),
    ):  # fmt: skip
        with pytest.raises(PeerViolation, match=told):
            party.give_campaign(digest, refused)
    for _ in range(2):
        party.give_campaign(digest, signed)
    alone = party.install(document(ONE_SHOT))
    with pytest.raises(PeerViolation, match="none for this task"):
        party.give_campaign(alone, signed)
    again = party_of(store, journal)
    again.take_up()
    assert again.campaign(OPENED.digest.hex()) == signed


def test_a_campaign_whose_texts_nobody_can_read_is_refused() -> None:
    hidden = OPENED.canonical_bytes().replace(b"weekly", rb"week\u200bly")
    party = party_of(MemoryReportStore())
    digest = party.install(document(WEEK))
    with pytest.raises(DocumentRefused) as refused:
        party.give_campaign(digest, signed("campaign", hidden, SIGNING))
    assert refused.value.code == DocumentCode.RANGE


@pytest.mark.parametrize("broken", [[], {"because": 1}, {"not_my_week": 0}, {"not_my_week": "1"}, {"budget_task": -1}])
def test_a_server_refuses_refusals_that_are_none(broken: object) -> None:
    with pytest.raises(PeerViolation):
        _read_refusals(broken)
    assert _read_refusals({"budget_window": 3}) == {Refusal.BUDGET_WINDOW: 3}
