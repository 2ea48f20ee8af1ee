"""A party of several real processes over PostgreSQL: any of them killed, the database restarted, two coordinators.

Nothing acknowledged is lost, nothing counts twice, and the server is answered through whichever process it reaches.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from tests.support.databases import PostgresServer
from tests.support.parties import SERVER_KEY, honest_entry
from tests.support.party_processes import PartyProcess, current_task

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.errors import PartyUnreachable, PeerViolation
from treetop.federation.protocol import ServerMessage
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import ReportStatus, TicketedReport
from treetop.services.device.party_client import PartyClient

BATCH = 25
SHORT = RetryPolicy(in_all=0.5, first_pause=0.1, longest_pause=0.2)
STORE = 'store_url_env = "STORE_ADDRESS"\ncommit_file = "store.commit"'


class Processes:
    """One coordinator and some intakes, each with a folder of its own but for the report files."""

    def __init__(self, folder: Path, intakes: int) -> None:
        self._folder, self._count = folder, 0
        self.coordinator = self.another("coordinator")
        self.intakes = [self.another("intake") for _ in range(intakes)]

    def another(self, role: str) -> PartyProcess:
        """One more process; its report files are everybody's."""
        self._count += 1
        process = PartyProcess(self._folder / f"{role}_{self._count}", "close_when_complete = true", STORE, role)
        settings = process.settings.read_text().replace('"reports"', f'"{self._folder / "reports"}"')
        process.settings.write_text(settings)
        return process

    @property
    def everybody(self) -> list[PartyProcess]:
        return [self.coordinator, *self.intakes]


@pytest.fixture
def processes(tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    monkeypatch.setenv("STORE_ADDRESS", postgres.new_address())
    several = Processes(tmp_path, intakes=2)
    for process in several.everybody:
        process.start()
    yield several
    for process in several.everybody:
        process.stop()


class Senders:
    """Devices that send each report, and half of them twice, through whichever process they reach."""

    def __init__(self, of: DeviceTask, devices: int, doors: Callable[[], list[PartyProcess]]) -> None:
        self._task, self._devices, self._doors = of, devices, doors
        self.told: dict[int, list[ReportStatus]] = {serial: [] for serial in range(devices)}
        self.begun = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(number,)) for number in range(2)]

    def __enter__(self) -> "Senders":
        for thread in self._threads:
            thread.start()
        assert self.begun.wait(120)
        return self

    def __exit__(self, *_error: object) -> None:
        for thread in self._threads:
            thread.join(240)
            assert not thread.is_alive()

    def _send(self, number: int) -> None:
        """The first thread sends every report, the second one the last half of them as well, from the end."""
        random = Random(number)  # noqa: S311  a test's order
        starts = (
            range(0, self._devices, BATCH) if number == 0 else range(self._devices - BATCH, self._devices // 2, -BATCH)
        )
        for start in starts:
            serials = range(start, min(start + BATCH, self._devices))
            entries = [honest_entry(self._task, serial) for serial in serials]
            for serial, verdict in zip(serials, self._until_told(entries, random), strict=True):
                self.told[serial].append(verdict)
            if start >= self._devices // 5:
                self.begun.set()

    def _until_told(self, entries: list[TicketedReport], random: Random) -> list[ReportStatus]:
        for _ in range(600):
            door = random.choice(self._doors())
            client = PartyClient(RetryingConnection(f"http://127.0.0.1:{door.port}", retry=SHORT))
            try:
                return list(client.submit(self._task.digest, entries))
            except (PartyUnreachable, PeerViolation):
                time.sleep(0.1)  # killed, or its database is away: another one may answer
            finally:
                client.close()
        raise AssertionError("nobody answers")


def outcome(doors: list[PartyProcess], of: DeviceTask) -> dict[str, int]:
    """Tell the party through one process to close, and ask all of them in turn what came of it."""
    path = f"/v1/tasks/{of.digest.hex()}/messages/1"
    assert doors[0].ask("PUT", path, ServerMessage("close").to_bytes(), SERVER_KEY)[0] == 202
    for turn in range(600):
        status, body = doors[turn % len(doors)].ask("GET", path + "/outcome", key=SERVER_KEY)
        if status == 200:
            content: dict[str, int] = json.loads(body)["content"]
            return content
        assert status == 202, body
        time.sleep(0.1)
    raise AssertionError("no outcome")


def check(senders: Senders) -> None:
    """Everybody was told that her report counts, and nobody's was new twice."""
    for serial, told in senders.told.items():
        assert set(told) <= {ReportStatus.ACCEPTED, ReportStatus.REPLAYED}, serial
        assert told.count(ReportStatus.ACCEPTED) <= 1, serial
        assert told, serial


def test_any_process_killed_the_database_restarted_and_two_coordinators(
    processes: Processes, postgres: PostgresServer
) -> None:
    of, devices = current_task(), 800
    one, two = processes.intakes
    one.install(of, devices)  # a task may come through an intake
    with Senders(of, devices, lambda: processes.intakes) as senders:
        two.kill()
        postgres.crash_and_restart()
        two.start()
        processes.coordinator.kill()
        processes.coordinator.start()
        by_mistake = processes.another("coordinator")
        command = [sys.executable, "-m", "treetop", "party", "--role", "coordinator", "--settings"]
        refused = subprocess.run(
            [*command, str(by_mistake.settings)], capture_output=True, text=True, check=False, timeout=120
        )
        assert (refused.returncode, "another coordinator holds it" in refused.stderr) == (2, True), refused.stderr
    check(senders)
    assert outcome([two, one, processes.coordinator], of)["devices"] == devices


@pytest.mark.slow
def test_processes_killed_at_any_moment_time_and_again(processes: Processes, postgres: PostgresServer) -> None:
    of, devices, random = current_task(), 60_000, Random(1)  # noqa: S311  a test's moments
    processes.coordinator.install(of, devices)
    with Senders(of, devices, lambda: processes.everybody) as senders:
        for turn in range(12):
            time.sleep(random.uniform(0.2, 2.0))
            if turn % 4 == 3:
                postgres.crash_and_restart()
            else:
                victim = random.choice(processes.everybody)
                victim.kill()
                victim.start()
    check(senders)
    processes.coordinator.kill()  # before it could answer: its successor does
    processes.coordinator.start()
    assert outcome(processes.intakes, of)["devices"] == devices
