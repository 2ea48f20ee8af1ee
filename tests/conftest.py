"""What several rooms of tests share: repeatable properties, private files, a real PostgreSQL server."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis
import pytest
from tests.support.databases import PostgresServer

# The same examples in every run, so that what passes here passes in a clean clone; `make check-slow` draws fresh ones.
hypothesis.settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("fresh", deadline=None, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    os.umask(0o077)  # the keys and items that tests write are refused if others can read them; some tests set another
    hypothesis.settings.load_profile("fresh" if config.getoption("markexpr") == "slow" else "fixed")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    # Not in pytest's own folder: a second run on the machine takes the server's user the right to enter it.
    with TemporaryDirectory(prefix="treetop-postgres-") as folder:
        server = PostgresServer.started(Path(folder) / "data")
        if isinstance(server, str):
            pytest.skip(f"no PostgreSQL server could be started: {server}")
        yield server
        server.stop()
