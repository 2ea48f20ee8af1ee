"""Where a store lies, from the words of a settings file: a path, or a PostgreSQL address."""

from pathlib import Path

from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.relational.stored_tasks import naming
from treetop.adapters.relational.tables import Database
from treetop.adapters.sqlite.database import SqliteDatabase
from treetop.errors import InvalidInput


def open_stores(where: str, accept_older: bool = False) -> tuple[RelationalReportStore, RelationalJournal]:
    """Open the store of reports and the journal that lie in one place; closing one closes both."""
    with naming("all"):
        database = _opened(where, accept_older)
    return RelationalReportStore(database), RelationalJournal(database)


def _opened(where: str, accept_older: bool) -> Database:
    if where.startswith(("postgresql://", "postgres://")):
        return _postgres(where)
    if "://" in where:
        raise InvalidInput(f"a store is a path or postgresql://…, found {where.partition('://')[0]}://…")
    return SqliteDatabase(Path(where), accept_older)


def _postgres(where: str) -> Database:
    try:
        from treetop.adapters.postgres.database import PostgresDatabase  # noqa: PLC0415  an extra of its own
    except ModuleNotFoundError:
        raise InvalidInput("a PostgreSQL store needs psycopg: install treetop[postgres]") from None
    return PostgresDatabase(where)
