"""What only a PostgreSQL store has: a connection that is lost and made again, a version, damage behind its back."""

import sys

import psycopg
import pytest
from tests.support.databases import PostgresServer
from tests.support.reports import FIRST, OTHER, TASK, report, reports

from treetop.adapters.store_choice import open_stores
from treetop.errors import InvalidInput, StoreDamaged, StoreRefused, StoreUnavailable
from treetop.federation.wire.uploads import ReportStatus

END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND datname = current_database()
"""


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    address = postgres.new_address()
    store, journal = open_stores(address)
    store.add_task(TASK, b"the task")
    store.submit(reports(range(10)))
    store.enrol(TASK, [1, 2])
    journal.write("query", "one", b"1")
    store.close()
    return address


def behind(address: str, statement: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute(statement.encode())


def test_a_lost_connection_is_made_again(address: str) -> None:
    store, _ = open_stores(address)
    behind(address, END_OTHERS)
    with pytest.raises(StoreUnavailable, match="the database cannot be used"):
        store.submit([report(10)])
    assert store.submit([report(9), report(10)]) == [ReportStatus.REPLAYED, ReportStatus.ACCEPTED]
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        store.counts(TASK)


def test_what_one_process_says_the_other_knows(address: str) -> None:
    (one, first), (two, second) = open_stores(address), open_stores(address)
    assert second.write("query", "one", b"another") == b"1"
    assert second.write("query", "two", b"2") == b"2"
    assert first.write("query", "two", b"3") == b"2"
    assert first.write("new", "three", b"3") == b"3"
    assert list(second.books()) == ["query", "new"]
    assert second.read("new") == {"three": b"3"}
    two.add_task(OTHER, b"another")
    assert one.submit([report(10), report(1, task=OTHER)]) == [ReportStatus.ACCEPTED] * 2
    assert two.submit([report(10), report(10, version=1)]) == [ReportStatus.REPLAYED, ReportStatus.TICKET_SPENT]
    assert one.close_group(TASK, FIRST) == 11
    assert two.submit([report(11)]) == [ReportStatus.LEVEL_CLOSED]
    assert one.issue_tickets(OTHER, 5) == range(5)
    assert two.issue_tickets(OTHER, 5) == range(5, 10)
    one.close()
    two.close()


def test_a_database_that_cannot_be_written_keeps_nothing(address: str) -> None:
    store, _ = open_stores(f"{address}%20-cdefault_transaction_read_only%3Don")
    with pytest.raises(StoreUnavailable, match="read-only"):
        store.submit([report(10)])
    store.close()
    store, _ = open_stores(address)
    assert store.counts(TASK) == {FIRST: 10}
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM body WHERE serial = 3",
        "DELETE FROM spent WHERE slot = (SELECT min(slot) FROM spent)",
        "UPDATE body SET content = 'x' WHERE serial = 3",
        "UPDATE body SET serial = -1 WHERE serial = 3",
        "UPDATE collection SET reports = 9",
        "DELETE FROM enrolled",
        "UPDATE entry SET content = '2'",
        "UPDATE task SET tickets = 5",
        "DELETE FROM store",
        "DROP TABLE spent",
    ],
)
def test_rows_changed_behind_the_store_are_found(address: str, change: str) -> None:
    behind(address, change)
    store, journal = open_stores(address)
    with pytest.raises(StoreDamaged):  # noqa: PT012  whichever of these comes upon it
        journal.read("query")
        store.close_enrolment(TASK)
        store.close_group(TASK, FIRST)
        list(store.bodies(TASK, FIRST))
    store.close()


def test_other_versions_and_wrong_addresses_are_refused(address: str, postgres: PostgresServer) -> None:
    behind(address, "UPDATE treetop_schema SET version = 2")
    with pytest.raises(StoreRefused, match=r"expected version 1 of its tables, found \(2,\)"):
        open_stores(address)
    with pytest.raises(InvalidInput, match="postgresql://user@host/database"):
        open_stores("postgresql://host:secret:port:x/?nonsense=1")
    with pytest.raises(StoreUnavailable) as failure:
        open_stores("postgresql://user:secret@127.0.0.1:9/none?connect_timeout=2")
    assert "secret" not in str(failure.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "treetop.adapters.postgres.database", None)
    with pytest.raises(InvalidInput, match=r"install treetop\[postgres\]"):
        open_stores("postgresql://user@host/database")
