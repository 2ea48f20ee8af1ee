"""The tables of a SQLite store: made once, and of a version that this program knows."""

import sqlite3
from importlib.resources import files

from treetop.adapters.relational.statements import upserts
from treetop.adapters.relational.states import StoreState, sealed
from treetop.errors import StoreRefused

VERSION = 1
APPLICATION = 0x54524545
"""Marks the file as Treetop's."""
_SCHEMA = "0001_initial.sql"


def prepared(connection: sqlite3.Connection, where: str) -> None:
    """Make the tables of a new store, or refuse one that this program does not know."""
    application, version = _number(connection, "application_id"), _number(connection, "user_version")
    if not application and not version and not _number(connection, "schema_version"):
        _make(connection)
    elif application != APPLICATION:
        raise StoreRefused(where, "the file is a database of something else")
    elif version != VERSION:
        raise StoreRefused(where, f"expected version {VERSION} of its tables, found {version}")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _make(connection: sqlite3.Connection) -> None:
    """All in one transaction: a store is whole or empty."""
    schema = (files("treetop.adapters.sqlite") / "schema" / _SCHEMA).read_text("utf-8")
    connection.executescript(
        f"BEGIN IMMEDIATE; {schema}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
    )
    connection.execute(upserts("?")[StoreState], sealed(StoreState(1, 0, 0, 0, 0)))
    connection.execute("COMMIT")
