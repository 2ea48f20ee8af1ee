"""A database is read and never written, and nothing that its URL holds is shown."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.refusals import refused

from treetop import load
from treetop.adapters.http.browser_rules import origin_problem
from treetop.adapters.http.retrying_connection import checked_url
from treetop.datasets.corpora import fetch
from treetop.errors import InvalidInput
from treetop.public_text import shown_address

QUERY = "SELECT 'a' AS item"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sales (item)")
        database.execute("INSERT INTO sales VALUES ('tea; coffee'), ('--')")
        database.commit()
    return path


@pytest.mark.parametrize("query", [
    "SELECT item FROM sales", "  select item from sales ;\n", "WITH s AS (SELECT item FROM sales) SELECT * FROM s",
    "/* why */ SELECT item FROM sales -- ; DROP", "SELECT item FROM sales WHERE item != ';'",
    "SELECT upper(item) AS item FROM sales", "SELECT item FROM sales WHERE item != '\\'",
])  # fmt: skip
def test_queries_are_carried_out(shop: Path, query: str) -> None:
    assert load(f"sqlite:///{shop}", query=query).parties[0].users.sum() == 2


@pytest.mark.parametrize("query", [
    "DROP TABLE sales", "DELETE FROM sales", "INSERT INTO sales VALUES ('x')", "PRAGMA journal_mode = WAL",
    "ATTACH 'other.db' AS other", "VACUUM INTO 'other.db'", "/* SELECT */ DROP TABLE sales",
    "SELECT 1; DROP TABLE sales", "SELECT 'a''' AS item; DROP TABLE sales", "-- x\nDROP TABLE sales", "",
    "SELECTION", "EXPLAIN SELECT 1", "SELECT '\\'' ; DROP TABLE sales -- '", "/*! DROP TABLE sales */ SELECT 1; x",
])  # fmt: skip
def test_other_statements_are_refused(shop: Path, query: str) -> None:
    before = hashlib.sha256(shop.read_bytes()).digest()
    with refused("query_not_reading"):
        load(f"sqlite:///{shop}", query=query)
    assert hashlib.sha256(shop.read_bytes()).digest() == before
    assert [path.name for path in shop.parent.iterdir()] == ["shop.db"]


@pytest.mark.parametrize("query", [
    "WITH s AS (SELECT 1) DELETE FROM sales", "WITH s AS (SELECT 1) INSERT INTO sales SELECT 'x'",
    "WITH s AS (SELECT 1) UPDATE sales SET item = 'x' RETURNING item", "SELECT load_extension('x') AS item",
])  # fmt: skip
def test_what_begins_like_a_query_and_writes_is_refused_by_the_database(shop: Path, query: str) -> None:
    before = shop.read_bytes()
    with pytest.raises(InvalidInput):
        load(f"sqlite:///{shop}", query=query)
    assert shop.read_bytes() == before


def test_a_mistyped_path_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        load(f"sqlite:///{tmp_path}/shop.bd", query=QUERY)
    assert not list(tmp_path.iterdir())
    for url in ("sqlite://", "sqlite:///:memory:", f"sqlite:///file:{tmp_path}/x?mode=rwc&uri=true"):
        with refused("sqlite_url_not_a_path"):
            load(url, query=QUERY)


CANARY = "c4nary"
ADDRESSES = [
    f"postgresql://me:{CANARY}@host/db", f"postgresql://host/db?user=me&password={CANARY}",
    f"postgresql://me:{CANARY}/{CANARY}@host/db", f"postgresql://me:{CANARY}?{CANARY}@host/db",
    f"postgresql://me:p@{CANARY}@host/db", f"postgresql://host/db?password={CANARY}@{CANARY}",
    f"POSTGRESQL://me:{CANARY}@host/db", f"mssql+pyodbc:///?odbc_connect=PWD%3D{CANARY}", f"s3://key:{CANARY}@bucket/x",
    f"s3://bucket/x?secret_key={CANARY}", f"https://{CANARY}@host/a.csv", f"https://host/a.csv?token={CANARY}",
    f"https://host/a.csv#token={CANARY}", f"jdbc:sqlserver://host;password={CANARY}", f"sqlite:///x.db?password={CANARY}",
    f"postgresql://me:{CANARY}@host:port/db", f"nonsense://me:{CANARY}@host/db", f"mysql://me:{CANARY}@host/db",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_message_shows_what_an_address_holds(tmp_path: Path, address: str) -> None:
    assert CANARY not in shown_address(address)
    for use in (
        lambda: load(address, query=QUERY), lambda: load(address), lambda: checked_url(address),
        lambda: fetch(address.replace("https://", "ftp://"), tmp_path),
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as refusal:
            use()
        assert CANARY not in str(refusal.value)
        assert CANARY not in repr(refusal.value)
    assert CANARY not in (origin_problem(address) or "")


def test_key_value_dsns_are_shown_without_secrets() -> None:
    for dsn in (f"host=x password={CANARY} dbname=y", f"PWD='{CANARY}';UID=me", f'api_token = "{CANARY} {CANARY}"'):
        assert CANARY not in shown_address(dsn)
        assert shown_address(dsn) != shown_address("")
