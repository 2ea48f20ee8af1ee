"""A copy of a store, taken in mid-run and put back: spent tickets and journaled orders must not be forgotten (T16)."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.support.databases import TABLES, PostgresServer
from tests.support.parties import honest_entry
from tests.support.party_processes import PartyProcess, current_task
from tests.support.running_federation import listening_port

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.system.key_files import SigningKey
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.local.folder import server_settings
from treetop.services.local.processes import Supervised
from treetop.services.server.client import ServerClient

ADMIN_KEY = "admin-key-0123456789abcdef-0123456789"
ACCEPTED = "older_store_accepted"
PutBack = Callable[[], None]


def copied(folder: Path, name: str) -> PutBack:
    """Copy an SQLite store with its log while it is in use; return what puts the copy back."""
    kept = {path.name: path.read_bytes() for path in (folder / name, folder / f"{name}-wal") if path.exists()}

    def put_back() -> None:
        for beside in ("", "-wal", "-shm"):
            (folder / f"{name}{beside}").unlink(missing_ok=True)
        for file, content in kept.items():
            (folder / file).write_bytes(content)

    return put_back


def copied_tables(address: str) -> PutBack:
    """Copy the tables of a PostgreSQL store while it is in use; return what puts the copy back."""
    with psycopg.connect(address) as connection:
        for table in TABLES:
            connection.execute(f"CREATE TABLE copy_of_{table} AS TABLE {table}".encode())

    def put_back() -> None:
        with psycopg.connect(address) as connection:
            connection.execute(f"TRUNCATE {', '.join(TABLES)}".encode())
            for table in TABLES:
                connection.execute(f"INSERT INTO {table} SELECT * FROM copy_of_{table}".encode())  # noqa: S608  our own names

    return put_back


def sent(party: PartyProcess, of: DeviceTask, serials: range) -> set[str]:
    body = encoded_upload(honest_entry(of, serial) for serial in serials)
    status, answer = party.ask("POST", f"/v1/tasks/{of.digest.hex()}/reports", body)
    assert status == 200, answer
    return set(json.loads(answer)["verdicts"])


def refusal(role: str, settings: Path) -> str:
    """Start a service that must not start; return its one line."""
    command = [sys.executable, "-m", "treetop", role, "--settings", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 2, done.stderr
    return done.stderr.strip().splitlines()[-1]


def check_party(party: PartyProcess, copy: Callable[[], PutBack], end: Callable[[PartyProcess], object]) -> None:
    of = current_task()
    party.start()
    try:
        party.install(of, 300)
        assert sent(party, of, range(100)) == {"accepted"}
        put_back = copy()
        assert sent(party, of, range(100, 200)) == {"accepted"}
    finally:
        end(party)
    put_back()
    told = refusal("party", party.settings)
    assert "is older" in told
    assert "accept_older_store = true" in told
    settings = party.settings.read_text()
    party.settings.write_text("accept_older_store = true\n" + settings)
    party.start()
    try:
        assert any(ACCEPTED in line for line in party.lines), party.lines
        assert sent(party, of, range(100)) == {"replayed"}
        assert sent(party, of, range(100, 200)) == {"accepted"}  # what the operator said yes to
    finally:
        assert party.stop() == 0
    party.settings.write_text(settings)
    party.start()  # accepted once, it is the store from here on
    assert party.stop() == 0
    put_back()
    assert "is older" in refusal("party", party.settings)


@pytest.mark.parametrize("end", [PartyProcess.stop, PartyProcess.kill])
def test_a_partys_sqlite_copy_of_the_same_run_is_refused(tmp_path: Path, end: Callable[[PartyProcess], object]) -> None:
    check_party(PartyProcess(tmp_path), lambda: copied(tmp_path, "party.db"), end)


def test_a_partys_postgresql_copy_of_the_same_run_is_refused(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.new_address()
    monkeypatch.setenv("STORE_ADDRESS", address)
    party = PartyProcess(tmp_path, store='store_url_env = "STORE_ADDRESS"\ncommit_file = "store.commit"')
    check_party(party, lambda: copied_tables(address), PartyProcess.kill)


class ServerProcess:
    """A real `treetop server` whose one party does not answer: orders are journaled all the same."""

    def __init__(self, folder: Path, journal: str = "") -> None:
        self.folder, self.settings = folder, folder / "server.toml"
        folder.mkdir(exist_ok=True)
        (folder / "admin.key").write_text(ADMIN_KEY)
        SigningKey.generate().save(folder / "signing.key")
        text = server_settings(0)
        text = text.replace('journal = "journal.sqlite"', journal) if journal else text
        self.settings.write_text(
            f'{text}\n[[parties]]\nname = "north"\nurl = "http://127.0.0.1:9"\nkey_file = "admin.key"\n'
        )

    def start(self) -> Supervised:
        (self.folder / "log").unlink(missing_ok=True)
        return Supervised("server", ["server", "--settings", str(self.settings)], self.folder / "log")

    def served(self) -> Iterator[ServerClient]:
        process = self.start()
        try:
            url = f"http://127.0.0.1:{listening_port(process)}"
            with closing(ServerClient(RetryingConnection(url), ADMIN_KEY)) as client:
                yield client
        finally:
            process.stop()


def order(name: str) -> dict[str, object]:
    return {"name": name, "k": 3, "epsilon": "8", "encoding": "ids", "settings": {"bits": "8", "step_bits": "4"}}


def check_server(server: ServerProcess, copy: Callable[[], PutBack]) -> None:
    for client in server.served():
        client.order(order("first"))
        put_back = copy()
        client.order(order("second"))
    put_back()
    told = refusal("server", server.settings)
    assert "is older" in told
    assert "accept_older_journal" in told
    settings = server.settings.read_text()
    server.settings.write_text("accept_older_journal = true\n" + settings)
    for client in server.served():
        assert [query["name"] for query in client.queries()] == ["first"]
        assert ACCEPTED in (server.folder / "log").read_text()
    server.settings.write_text(settings)
    for client in server.served():
        assert [query["name"] for query in client.queries()] == ["first"]


def test_a_servers_sqlite_copy_of_the_same_run_is_refused(tmp_path: Path) -> None:
    check_server(ServerProcess(tmp_path), lambda: copied(tmp_path, "journal.sqlite"))


def test_a_servers_postgresql_copy_of_the_same_run_is_refused(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.new_address()
    monkeypatch.setenv("JOURNAL_ADDRESS", address)
    server = ServerProcess(tmp_path, 'journal_url_env = "JOURNAL_ADDRESS"\ncommit_file = "journal.commit"')
    check_server(server, lambda: copied_tables(address))
