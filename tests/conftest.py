"""What several rooms of tests share: a real PostgreSQL server."""

from collections.abc import Iterator

import pytest
from tests.support.databases import PostgresServer


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer.started(tmp_path_factory.mktemp("postgres"))
    if isinstance(server, str):
        pytest.skip(f"no PostgreSQL server could be started: {server}")
    yield server
    server.stop()
