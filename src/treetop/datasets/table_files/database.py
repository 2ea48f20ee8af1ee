"""Tables in databases: the rows of a query at an SQLAlchemy URL."""

import re
import sqlite3
from contextlib import closing
from importlib import import_module
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from treetop.datasets.table_files.limits import check_columns
from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.public_text import shown_address

ROWS_AT_ONCE = 50_000


_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|(?P<comment>--[^\n]*|/\*(?!!).*?\*/)", re.DOTALL)
"""Texts, names and comments, in which a semicolon ends nothing; MySQL carries out what is in `/*! … */`."""
_QUERY = re.compile(r"[\s(]*(SELECT|WITH|VALUES|TABLE)\b[^;]*[;\s]*", re.IGNORECASE | re.DOTALL)
_READ_ONLY = {
    "postgresql": "SET TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "oracle": "SET TRANSACTION READ ONLY",
}
"""Statements that make a connection refuse to write. SQLite's is opened so; elsewhere nothing is ever committed."""
_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_TRANSACTION,
}


def read_query(word: str, options: ReadOptions) -> pa.Table:
    """Return the rows of the query; their number is not known in advance, so progress has no share."""
    shown = shown_address(word)
    if options.query is None:
        raise InvalidInput("database_query_missing", shown=shown)
    if not _is_query(options.query):
        raise InvalidInput("query_not_reading", url=shown)
    with needed_for(f"{shown}: a database", "sql"):
        sqlalchemy: Any = import_module("sqlalchemy")
    try:
        url = sqlalchemy.make_url(word)
        engine = _engine(sqlalchemy, url, shown)
    except ModuleNotFoundError as missing:
        raise InvalidInput("database_driver_missing", shown=shown, missing=missing) from None
    except (sqlalchemy.exc.ArgumentError, ValueError) as wrong:
        if isinstance(wrong, InvalidInput):
            raise
        raise InvalidInput("database_url_malformed", shown=shown) from None
    parts: list[dict[str, list[Any]]] = []
    try:
        with closing(engine.connect()) as connection:
            if prepare := _READ_ONLY.get(url.get_backend_name()):
                connection.exec_driver_sql(prepare)
                if "SESSION" in prepare:
                    connection.rollback()  # it holds from the next transaction on
            found = connection.execution_options(stream_results=True).execute(sqlalchemy.text(options.query))
            names = list(found.keys())
            rows = 0
            check_columns(shown, names)
            for block in found.partitions(ROWS_AT_ONCE):
                parts.append(dict(zip(names, map(list, zip(*block, strict=True)), strict=True)))
                rows += len(block)
                options.progress(rows, 0.0)
    except (sqlalchemy.exc.SQLAlchemyError, OSError, TypeError) as reason:
        said = _without_secrets(str(getattr(reason, "orig", None) or reason), word, url)
        raise InvalidInput("database_query_failed", shown=shown, said=" ".join(said.split())[:200]) from None
    finally:
        engine.dispose()
    if not parts:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    return pa.table({name: _column(shown, name, [value for part in parts for value in part[name]]) for name in names})


def _engine(sqlalchemy: Any, url: Any, shown: str) -> Any:
    """Return an engine; an SQLite file is opened for reading, so that a mistyped path creates none."""
    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url)
    if not url.database or url.database.startswith((":", "file:")) or url.query:
        raise InvalidInput("sqlite_url_not_a_path", url=shown)
    address = f"file:{quote(url.database)}?mode=ro"

    def connected() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True)
        # Read-only holds for this file alone: ATTACH would open, and make, another one for writing.
        connection.set_authorizer(_authorised)
        return connection

    return sqlalchemy.create_engine("sqlite://", creator=connected)


def _authorised(deed: int, what: str | None, *_: object) -> int:
    asked_by_sqlalchemy = deed == sqlite3.SQLITE_PRAGMA and what == "read_uncommitted"
    return sqlite3.SQLITE_OK if deed in _READING or asked_by_sqlalchemy else sqlite3.SQLITE_DENY


def _is_query(text: str) -> bool:
    """Return whether a text is one statement that begins as a query; the read-only connection refuses the rest."""
    if "\\" not in text:  # where a backslash escapes a quote, we could take a statement for part of a text
        text = _QUOTED.sub(lambda found: " " if found["comment"] else " x ", text)
    return _QUERY.fullmatch(text) is not None


def _without_secrets(text: str, word: str, url: Any) -> str:
    """Return a driver's message without the parts of the URL: some drivers quote the address that they were given."""
    values = [each for found in url.query.values() for each in ([found] if isinstance(found, str) else found)]
    # A password with an @ that is not escaped is taken for part of the host.
    before_host = re.split("[:@/]", word.partition("://")[2].rpartition("@")[0])
    for secret in sorted(filter(None, (url.password, url.username, *values, *before_host)), key=len, reverse=True):
        text = text.replace(str(secret), "***")
    return text


def _column(shown: str, name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as reason:
        raise InvalidInput("column_of_several_kinds", shown=shown, name=name, reason=reason) from None
