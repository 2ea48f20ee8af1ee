"""Which store a settings file names: the path of an SQLite file, or a PostgreSQL address, read strictly.

A mistyped address must neither become a file of that name nor be shown: it may hold a password.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treetop.adapters.relational.commit_numbers import Opening
from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.relational.tables import Database, naming
from treetop.adapters.sqlite.database import SqliteDatabase
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.toml_files import FileValue, Secret, Source

_NAME = r"(?:[\w.~-]|%[0-9A-Fa-f]{2})"
_VALUE = r"(?:[\w.~!$'()*+,;:/=-]|%[0-9A-Fa-f]{2})"
_HOST = rf"(?:\[[0-9A-Fa-f:.%]+\]|{_NAME}+)(?::[0-9]+)?"
_ADDRESS = re.compile(
    rf"postgres(?:ql)?://(?:(?P<user>{_NAME}*)(?::(?P<password>(?:(?!/){_VALUE})*))?@)?"
    rf"(?P<shown>(?:{_HOST}(?:,{_HOST})*)?(?:/{_NAME}*)?)"
    rf"(?:\?(?P<options>[a-z_]+={_VALUE}*(?:&[a-z_]+={_VALUE}*)*))?",
    re.ASCII,
)
_LIKE_AN_ADDRESS = re.compile(
    r"\W*postgre\w*\W*(?::|//)|\W*\w*:/|.*://|.*(?::|//).*@|.*@.*[:?=]|.*pass\w*\s*=", re.DOTALL | re.IGNORECASE
)
"""Paths that nobody means: a scheme or something like it, an @ among other signs of an address, a named password."""
_EXPECTED = "expected the path of an SQLite file or postgresql://user@host:port/database?option=value"


@dataclass(frozen=True)
class StoreLocation(FileValue):
    """Which store is used; its text shows an address without user, password and options."""

    where: str = field(repr=False)

    def __post_init__(self) -> None:
        if not self.where:
            raise InvalidInput("store_missing", expected=_EXPECTED)
        if "\0" in self.where or (self.address is None and _LIKE_AN_ADDRESS.match(self.where)):
            raise InvalidInput("store_malformed", expected=_EXPECTED)

    @classmethod
    def from_file(cls, value: Any, source: Source) -> "StoreLocation":
        """Read a path, or an address without a password."""
        if not isinstance(value, str):
            raise InvalidInput("store_not_text", expected=_EXPECTED)
        address = cls(value).address
        if address is None:
            return cls(str(source.folder / value))
        if address["password"] is not None or "password=" in (address["options"] or ""):
            raise InvalidInput("address_with_password")
        return cls(value)

    @property
    def address(self) -> re.Match[str] | None:
        """Return the parts of a PostgreSQL address, or None for a file."""
        return _ADDRESS.fullmatch(self.where)

    def __str__(self) -> str:
        return f"postgresql://{self.address['shown']}" if self.address else self.where


def chosen(given: StoreLocation | None, url: Secret | None) -> StoreLocation:
    """Return the store that settings name, openly or as a secret."""
    return given or StoreLocation(url.reveal().decode(errors="replace") if url else "")


def store_problems(
    name: str, given: StoreLocation | None, url: Secret | None, commit_file: Path | None
) -> Iterator[str]:
    """Yield what is wrong with the choice of a store in settings that call it `name`."""
    if (given is None) == (url is None):
        yield f"give one of {name}, {name}_url_file and {name}_url_env"
        return
    try:
        address = chosen(given, url).address
    except InvalidInput as problem:
        yield f"{name}_url: {problem}"
        return
    if url is not None and address is None:
        yield f"the secret {name}_url must be a postgresql:// address"
    if address is not None and commit_file is None:
        yield f"commit_file is missing: a file on this machine that shows when the {name} in PostgreSQL was put back"


def open_stores(where: str, opening: Opening | None = None) -> tuple[RelationalReportStore, RelationalJournal]:
    """Open the store of reports and the journal of one file or database; closing one closes both."""
    location = StoreLocation(where)
    opening = opening or Opening()
    with naming("all"):
        if location.address is None:
            if opening.share != "alone":
                raise InvalidInput("role_needs_postgres")
            database: Database = SqliteDatabase(Path(where), opening)
        else:
            with needed_for("a PostgreSQL store", "postgres"):
                from treetop.adapters.postgres.database import PostgresDatabase  # noqa: PLC0415  an extra of its own
            database = PostgresDatabase(where, str(location), opening)
    return RelationalReportStore(database), RelationalJournal(database)
