"""A real `treetop party` over PostgreSQL: the database crashes, then the party is killed, and nothing is lost."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.databases import PostgresServer
from tests.support.parties import SERVER_KEY, honest_entry
from tests.support.party_processes import PartyProcess, current_task

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.federation.protocol import ServerMessage
from treetop.federation.task import DeviceTask
from treetop.services.device.party_client import PartyClient

DEVICES, BATCH = 4_000, 50
WAITING = RetryPolicy(in_all=120, first_pause=0.1, longest_pause=1.0)


@pytest.fixture
def party(tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[PartyProcess]:
    monkeypatch.setenv("STORE_ADDRESS", postgres.new_address())
    store = 'store_url_env = "STORE_ADDRESS"\ncommit_file = "store.commit"'
    process = PartyProcess(tmp_path / "party", "close_when_complete = true", store)
    process.start()
    yield process
    process.stop()


def submitted(party: PartyProcess, of: DeviceTask, half_way: threading.Event) -> set[str]:
    """Send everybody's report, in the end with success; return the verdicts seen."""
    client, seen = PartyClient(RetryingConnection(f"http://127.0.0.1:{party.port}", retry=WAITING)), set()
    for start in range(0, DEVICES, BATCH):
        entries = [honest_entry(of, serial) for serial in range(start, start + BATCH)]
        seen |= {verdict.value for verdict in client.submit(of.digest, entries)}
        if start >= DEVICES // 4:
            half_way.set()
    client.close()
    return seen


def test_a_database_that_crashes_in_mid_collection_loses_nothing(party: PartyProcess, postgres: PostgresServer) -> None:
    of, half_way, seen = current_task(), threading.Event(), set[str]()
    party.install(of, DEVICES)
    sender = threading.Thread(target=lambda: seen.update(submitted(party, of, half_way)))
    sender.start()
    assert half_way.wait(120)
    postgres.crash_and_restart()
    sender.join(180)
    assert seen <= {"accepted", "replayed"}
    party.kill()
    party.start()
    assert closed(party, of)["devices"] == DEVICES


def closed(party: PartyProcess, of: DeviceTask) -> dict[str, int]:
    """Ask the party, as the server does, what it has; wait for its outcome."""
    path = f"/v1/tasks/{of.digest.hex()}/messages/1"
    assert party.ask("PUT", path, ServerMessage("close").to_bytes(), SERVER_KEY)[0] == 202
    for _ in range(600):
        status, body = party.ask("GET", path + "/outcome", key=SERVER_KEY)
        if status == 200:
            content: dict[str, int] = json.loads(body)["content"]
            return content
        threading.Event().wait(0.1)
    raise AssertionError("no outcome")
