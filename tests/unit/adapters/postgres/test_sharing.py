"""One PostgreSQL store in several processes: who may hold it, and what happens when two want the same."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from tests.support.databases import PostgresServer, behind_its_back
from tests.support.refusals import refused
from tests.support.reports import FIRST, OTHER, SECOND, TASK, report, reports

from treetop.adapters.postgres.database import PostgresRows
from treetop.adapters.relational.commit_numbers import Opening, Share
from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.store_choice import open_stores
from treetop.errors import InvalidInput, StoreRefused, StoreUnavailable
from treetop.federation.wire.uploads import ReportStatus

Stores = tuple[RelationalReportStore, RelationalJournal]


def opened(address: str, share: Share) -> Stores:
    return open_stores(address, Opening(share=share))


@pytest.fixture
def address(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("treetop.adapters.postgres.database.PATIENCE", 0.2)
    address = postgres.new_address()
    store, _ = open_stores(address)
    store.add_task(TASK, b"the task")
    store.close()
    return address


def test_one_coordinator_any_number_of_intakes_and_nobody_alone_beside_them(address: str) -> None:
    coordinator, intakes = opened(address, "coordinator"), [opened(address, "intake") for _ in range(3)]
    with pytest.raises(StoreRefused, match="another coordinator holds it"):
        opened(address, "coordinator")
    with pytest.raises(StoreRefused, match="one store has one process, or one coordinator and intakes"):
        open_stores(address)
    coordinator[0].close()
    opened(address, "coordinator")[0].close()
    for intake, _ in intakes:
        intake.close()
    alone, _ = open_stores(address)
    with pytest.raises(StoreRefused, match="a process without a role holds it"):
        opened(address, "intake")
    alone.close()


def test_an_sqlite_file_is_not_shared(tmp_path: object) -> None:
    with refused("role_needs_postgres", InvalidInput):
        open_stores(f"{tmp_path}/party.db", Opening(share="intake"))


def test_processes_that_take_the_same_tickets_at_once_keep_each_once(address: str) -> None:
    """Every ticket is presented to three processes, in another order to each."""
    stores = [opened(address, share)[0] for share in ("coordinator", "intake", "intake")]
    tickets, most = 600, 40

    def present(number: int) -> list[tuple[int, ReportStatus]]:
        order, told = list(range(tickets)), list[tuple[int, ReportStatus]]()
        Random(number).shuffle(order)  # noqa: S311  a test's order
        for start in range(0, tickets, most):
            some = order[start : start + most]
            told += zip(some, stores[number].submit([report(serial) for serial in some]), strict=True)
        return told

    with ThreadPoolExecutor(len(stores)) as pool:
        told = [verdict for verdicts in pool.map(present, range(len(stores))) for verdict in verdicts]
    accepted = [serial for serial, status in told if status is ReportStatus.ACCEPTED]
    assert sorted(accepted) == list(range(tickets))
    assert {status for _, status in told} == {ReportStatus.ACCEPTED, ReportStatus.REPLAYED}
    assert stores[0].counts(TASK) == {FIRST: tickets}
    stores[0].close_group(TASK, FIRST)
    assert sum(map(len, stores[0].bodies(TASK, FIRST))) == tickets
    for store in stores:
        store.close()


def test_a_group_that_closes_between_reading_and_writing_takes_nothing_more(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator, intake = opened(address, "coordinator")[0], opened(address, "intake")[0]
    intake.submit(reports(range(5)))
    add_bodies, closed = PostgresRows.add_bodies, list[int]()

    def closing_first(rows: PostgresRows, *values: object) -> None:
        if not closed:
            closed.append(coordinator.close_group(TASK, FIRST))
        add_bodies(rows, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresRows, "add_bodies", closing_first)
    answers = intake.submit([report(4), report(5)])
    assert (answers, closed) == ([ReportStatus.REPLAYED, ReportStatus.LEVEL_CLOSED], [5])
    assert sum(map(len, coordinator.bodies(TASK, FIRST))) == 5
    coordinator.scrub(TASK, FIRST)
    assert intake.submit([report(4, version=1)]) == [ReportStatus.REPLAYED]
    assert intake.submit([report(6, group=SECOND)]) == [ReportStatus.ACCEPTED]
    coordinator.forget(TASK)
    assert intake.submit([report(6, group=SECOND)]) == [ReportStatus.TICKET_SPENT]
    intake.close()
    coordinator.close()


def test_whoever_is_overtaken_time_and_again_gives_up_and_has_kept_nothing(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = opened(address, "intake")
    behind_its_back(address, "INSERT INTO spent SELECT (1::bigint << 40) + 3, 'x'")
    monkeypatch.setattr(PostgresRows, "spent", lambda _rows, _slots: {})
    with refused("tickets_contended", StoreUnavailable):
        store.submit(reports(range(5)))
    assert store.counts(TASK) == {}
    store.close()


def test_what_one_process_writes_the_others_can_find_without_waiting(address: str) -> None:
    (one, one_journal), (two, two_journal) = opened(address, "coordinator"), opened(address, "intake")
    two.add_task(OTHER, b"another")
    two_journal.write("party:north:" + OTHER.hex(), "message:1", b"1")
    assert one.digests() == [TASK, OTHER]
    assert one_journal.lengths() == {"party:north:" + OTHER.hex(): 1}
    assert one_journal.write("party:north:" + OTHER.hex(), "message:1", b"2") == b"1"
    with ThreadPoolExecutor(2) as pool:  # new books and known ones: neither waits for the other for ever
        list(pool.map(lambda n: (one_journal, two_journal)[n % 2].write(f"book {n // 3}", f"{n}", b""), range(60)))
    assert sum(one_journal.lengths().values()) == 61
    one.close()
    two.close()


def test_a_coordinator_that_lost_its_connection_to_another_one_writes_nothing(address: str) -> None:
    (first, journal), (intake, _) = opened(address, "coordinator"), opened(address, "intake")
    behind_its_back(
        address, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'"
    )
    second, _ = opened(address, "coordinator")
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            journal.write("query", "one", b"1")
    assert intake.submit([report(1)]) == [ReportStatus.ACCEPTED]
    second.close()
    assert journal.write("query", "one", b"1") == b"1"
    first.close()
    intake.close()


def test_an_intake_outlives_its_connections(address: str) -> None:
    intake, journal = opened(address, "intake")
    behind_its_back(address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                    "AND datname = current_database()")  # fmt: skip
    assert intake.submit([report(1)]) == [ReportStatus.ACCEPTED]
    intake.close()
    intake.close()
    with pytest.raises(StoreUnavailable):
        journal.read("query")
