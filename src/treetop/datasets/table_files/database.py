"""Tables in databases: what a query finds behind an SQLAlchemy URL."""

import re
from contextlib import closing
from importlib import import_module
from typing import Any

import pyarrow as pa

from treetop.datasets.table_files.options import ReadOptions
from treetop.errors import InvalidInput
from treetop.extras import needed_for

ROWS_AT_ONCE = 50_000


def shown_url(word: str) -> str:
    """Return a URL as it may be shown: without its password."""
    return re.sub(r"(://[^:/@]*):.*@", r"\1:***@", word)


def read_query(word: str, options: ReadOptions) -> pa.Table:
    """Return the rows of the query; how many there will be is not known beforehand."""
    shown = shown_url(word)
    if options.query is None:
        raise InvalidInput(f"{shown}: expected what to ask the database, --query 'SELECT …' (query=), found none")
    with needed_for(f"{shown}: a database", "sql"):
        sqlalchemy: Any = import_module("sqlalchemy")
    try:
        engine = sqlalchemy.create_engine(word)
    except ModuleNotFoundError as missing:
        raise InvalidInput(f"{shown}: the driver of this database is not installed: {missing}") from None
    except sqlalchemy.exc.ArgumentError:
        raise InvalidInput(f"{shown}: expected the URL of a database, such as sqlite:///shop.db") from None
    parts: list[dict[str, list[Any]]] = []
    try:
        with closing(engine.connect()) as connection:
            found = connection.execution_options(stream_results=True).execute(sqlalchemy.text(options.query))
            names, rows = list(found.keys()), 0
            for block in found.partitions(ROWS_AT_ONCE):
                parts.append(dict(zip(names, map(list, zip(*block, strict=True)), strict=True)))
                rows += len(block)
                options.progress(rows, 0.0)
    except sqlalchemy.exc.SQLAlchemyError as reason:
        said = str(getattr(reason, "orig", None) or reason)
        raise InvalidInput(f"{shown}: the query failed: {' '.join(said.split())[:200]}") from None
    finally:
        engine.dispose()
    if not parts:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    return pa.table({name: _column(shown, name, [value for part in parts for value in part[name]]) for name in names})


def _column(shown: str, name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as reason:
        raise InvalidInput(f"{shown}: column {name!r} holds values of several kinds: {reason}") from None
