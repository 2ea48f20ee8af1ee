"""Which store a settings file names: a path, or a PostgreSQL address."""

from pathlib import Path

from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.relational.states import naming
from treetop.adapters.relational.tables import Database
from treetop.adapters.sqlite.database import SqliteDatabase
from treetop.errors import InvalidInput


def open_stores(where: str, accept_older: bool = False) -> tuple[RelationalReportStore, RelationalJournal]:
    """Open the store of reports and the journal of one file or database; closing one closes both."""
    scheme, found, _ = where.partition("://")
    with naming("all"):
        if not found:
            database: Database = SqliteDatabase(Path(where), accept_older)
        elif scheme not in {"postgresql", "postgres"}:
            raise InvalidInput(f"a store is a path or postgresql://…, found {scheme}://…")
        else:
            try:
                from treetop.adapters.postgres.database import PostgresDatabase  # noqa: PLC0415  an extra of its own
            except ModuleNotFoundError:
                raise InvalidInput("a PostgreSQL store needs psycopg: install treetop[postgres]") from None
            database = PostgresDatabase(where)
    return RelationalReportStore(database), RelationalJournal(database)
