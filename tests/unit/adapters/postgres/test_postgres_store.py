"""What only a PostgreSQL store has: a connection that is lost and made again, a version, damage behind its back."""

import sys
from contextlib import ExitStack

import pytest
from tests.support.databases import PostgresServer, behind_its_back
from tests.support.refusals import refused
from tests.support.reports import FIRST, OTHER, TASK, report, reports

from treetop.adapters.relational.commit_numbers import Opening
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


def test_a_lost_connection_is_made_again(address: str) -> None:
    store, _ = open_stores(address)
    behind_its_back(address, END_OTHERS)
    with refused("database_unusable", StoreUnavailable):
        store.submit([report(10)])
    assert store.submit([report(9), report(10)]) == [ReportStatus.REPLAYED, ReportStatus.ACCEPTED]
    store.close()
    store.close()
    with refused("store_closed", StoreUnavailable):
        store.counts(TASK)


def test_a_second_process_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treetop.adapters.postgres.database.PATIENCE", 0.2)
    store, _ = open_stores(address)
    with pytest.raises(StoreRefused, match="another process holds it"):
        open_stores(address)
    store.close()
    open_stores(address)[0].close()


def test_two_stores_of_one_database_do_not_disturb_each_other(address: str, postgres: PostgresServer) -> None:
    one, _ = open_stores(address)
    two, _ = open_stores(postgres.new_address())
    two.add_task(OTHER, b"another")
    assert (list(one.tasks()), list(two.tasks())) == ([TASK], [OTHER])
    one.close()
    two.close()


def test_who_lost_the_store_to_another_process_writes_nothing(address: str) -> None:
    """The connection broke, and another process began before it was made again."""
    first, journal = open_stores(address)
    behind_its_back(address, END_OTHERS)
    second, _ = open_stores(address)
    with pytest.raises(StoreUnavailable):
        first.submit([report(10)])
    with refused("store_held", StoreUnavailable):
        first.submit([report(10)])
    assert second.submit([report(10)]) == [ReportStatus.ACCEPTED]
    second.close()
    assert first.submit([report(10)]) == [ReportStatus.REPLAYED]
    assert journal.write("query", "one", b"another") == b"1"
    first.close()


def test_another_owners_store_is_refused(address: str) -> None:
    open_stores(address, Opening("party 'north'"))[0].close()
    with pytest.raises(StoreRefused, match="it belongs to party 'north', and this is party 'south'"):
        open_stores(address, Opening("party 'south'"))


def test_a_database_that_cannot_be_written_keeps_nothing(address: str) -> None:
    with refused("database_unusable", StoreUnavailable):
        open_stores(f"{address}%20-cdefault_transaction_read_only%3Don")
    store, _ = open_stores(address)
    store._database._connections._connection.execute("SET default_transaction_read_only = on")  # type: ignore[attr-defined]
    with refused("database_unusable", StoreUnavailable):
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
    behind_its_back(address, change)
    with ExitStack() as opened, pytest.raises(StoreDamaged):  # noqa: PT012  whichever of these comes upon it
        store, journal = open_stores(address)
        opened.callback(store.close)
        journal.read("query")
        store.close_enrolment(TASK)
        store.close_group(TASK, FIRST)
        list(store.bodies(TASK, FIRST))


def test_other_versions_and_wrong_addresses_are_refused(address: str, postgres: PostgresServer) -> None:
    behind_its_back(address, "UPDATE treetop_schema SET version = 2")
    with pytest.raises(StoreRefused, match=r"expected version 4 of its tables, found 2"):
        open_stores(address)
    with refused("store_malformed", InvalidInput):
        open_stores("postgresql://host:secret:port:x/?nonsense=1")
    with pytest.raises(StoreUnavailable) as failure:
        open_stores("postgresql://user:secret@127.0.0.1:9/none?connect_timeout=2")
    assert "secret" not in str(failure.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "treetop.adapters.postgres.database", None)
    with pytest.raises(InvalidInput, match=r"install \"treetop-ldp\[postgres\]\""):
        open_stores("postgresql://user@host/database")
