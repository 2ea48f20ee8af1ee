"""R1: a real `treetop party` under load, killed at any moment: nothing acknowledged is lost, nothing counts twice.

The set checker: every serial that was answered `accepted` or `replayed` lies in the store exactly once, and every group
holds as many reports as distinct serials.
"""

import json
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random

import pytest
from tests.support.parties import SERVER_KEY, honest_entry
from tests.support.party_processes import PartyProcess, current_task

from treetop.adapters.store_choice import open_stores
from treetop.federation.party.admission import HEAD_BYTES
from treetop.federation.protocol import PartyReply, ServerMessage
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import encoded_upload
from treetop.trie.user_groups import Group

DEVICES, CONNECTIONS = 25, 4
"""Reports of one upload, and how many are sent at once."""


class Devices:
    """Clients that send until they are told to stop, and repeat what was not answered."""

    def __init__(self, of: DeviceTask) -> None:
        self.task = of
        self.acknowledged: list[int] = []
        self.sent: set[int] = set()
        self.unanswered: list[range] = []
        self.surprises: list[object] = []
        self._next, self._lock = 0, threading.Lock()

    def portion(self) -> range:
        with self._lock:
            if self.unanswered:
                return self.unanswered.pop()
            self._next += DEVICES
            found = range(self._next - DEVICES, self._next)
            self.sent.update(found)
            return found

    def send(self, port: int, stop: threading.Event) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        while not stop.is_set():
            portion = self.portion()
            try:
                self._send_one(connection, portion)
            except (OSError, HTTPException):
                with self._lock:
                    self.unanswered.append(portion)
                break
        connection.close()

    def _send_one(self, connection: HTTPConnection, portion: range) -> None:
        body = encoded_upload(honest_entry(self.task, serial) for serial in portion)
        connection.request("POST", f"/v1/tasks/{self.task.digest.hex()}/reports", body)
        reply = connection.getresponse()
        answer = reply.read()
        verdicts = json.loads(answer)["verdicts"] if reply.status == 200 else []
        with self._lock:
            if len(verdicts) != len(portion) or {*verdicts} - {"accepted", "replayed"}:
                self.surprises.append((reply.status, answer))
                return
            self.acknowledged += portion


def loaded_until_killed(party: PartyProcess, devices: Devices, seconds: float) -> None:
    stop = threading.Event()
    clients = [threading.Thread(target=devices.send, args=(party.port, stop)) for _ in range(CONNECTIONS)]
    for client in clients:
        client.start()
    time.sleep(seconds)
    party.kill()
    stop.set()
    for client in clients:
        client.join(60)


def survives(folder: Path, rounds: int, seed: int) -> None:
    of, party, random = current_task(), PartyProcess(folder), Random(seed)  # noqa: S311
    devices = Devices(of)
    starts = []
    for number in range(rounds):
        starts.append(party.start())
        if number == 0:
            party.install(of, 100_000)
        loaded_until_killed(party, devices, random.uniform(0.02, 0.4))
    assert not devices.surprises
    assert len(devices.acknowledged) > rounds * DEVICES, "there was no load to speak of"
    assert max(starts[1:]) < 30
    check_set(folder, of, devices)
    party.start()
    every_report_again(party, devices)
    assert party.stop() == 0
    check_set(folder, of, devices)


def check_set(folder: Path, of: DeviceTask, devices: Devices) -> None:
    store, _ = open_stores(str(folder / "party.db"))
    try:
        counts = dict(store.counts(of.digest))
        total = sum(counts.values())
        assert set(devices.acknowledged) <= devices.sent
        assert len(set(devices.acknowledged)) <= total <= len(devices.sent)
        again = list(honest_reports(of, sorted(set(devices.acknowledged))))
        for start in range(0, len(again), 5000):
            assert set(store.submit(again[start : start + 5000])) == {"replayed"}, "an acknowledged report was lost"
        assert dict(store.counts(of.digest)) == counts
    finally:
        store.close()


def honest_reports(of: DeviceTask, serials: list[int]) -> Iterator[AdmittedReport]:
    for serial in serials:
        group: Group = of.groups[serial % len(of.groups)].group
        yield AdmittedReport(of.digest, serial, group, honest_entry(of, serial).batch[HEAD_BYTES:])


def every_report_again(party: PartyProcess, devices: Devices) -> None:
    """Whoever had no answer asks again: in the end all are in, each once."""
    while devices.unanswered:
        portion = devices.unanswered.pop()
        connection = HTTPConnection("127.0.0.1", party.port, timeout=60)
        devices._send_one(connection, portion)
        connection.close()
    assert not devices.surprises
    assert set(devices.acknowledged) == devices.sent


def test_a_killed_party_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    survives(tmp_path / "party", rounds=10, seed=7)


@pytest.mark.slow
def test_two_hundred_kills(tmp_path: Path) -> None:
    survives(tmp_path / "party", rounds=200, seed=11)


def test_sigterm_finishes_what_is_in_flight(tmp_path: Path) -> None:
    party, of = PartyProcess(tmp_path / "party"), current_task()
    party.start()
    party.install(of, 1)
    devices, stop = Devices(of), threading.Event()
    client = threading.Thread(target=devices.send, args=(party.port, stop))
    client.start()
    while not devices.acknowledged:
        time.sleep(0.01)
    assert party.stop() == 0
    stop.set()
    client.join(60)
    assert not devices.surprises
    assert any('"ended"' in line for line in party.lines)
    check_set(tmp_path / "party", of, devices)


def test_a_message_that_was_not_answered_is_worked_on_after_a_restart(tmp_path: Path) -> None:
    party, of = PartyProcess(tmp_path / "party", "close_when_complete = true"), current_task()
    party.start()
    party.install(of, 40)
    path, close = f"/v1/tasks/{of.digest.hex()}", ServerMessage("close").to_bytes()
    assert party.ask("PUT", path + "/messages/1", close, SERVER_KEY)[0] == 202
    upload = [encoded_upload([honest_entry(of, serial) for serial in some]) for some in (range(30), range(30, 40))]
    assert party.ask("POST", path + "/reports", upload[0])[0] == 200
    assert party.ask("GET", path + "/messages/1/outcome", key=SERVER_KEY)[0] == 202
    party.kill()
    party.start()
    assert party.ask("GET", path + "/messages/1/outcome", key=SERVER_KEY)[0] == 202
    assert party.ask("POST", path + "/reports", upload[1])[0] == 200
    status, limit = 202, time.monotonic() + 60
    while status == 202 and time.monotonic() < limit:
        status, outcome = party.ask("GET", path + "/messages/1/outcome", key=SERVER_KEY)
        time.sleep(0.05)
    told = PartyReply.from_bytes(outcome)
    assert (status, told.kind) == (200, "closed")
    assert '"state":"closed"' in party.ask("GET", "/v1/tasks")[1].decode()
    late = party.ask("POST", path + "/reports", encoded_upload([honest_entry(of, 0), honest_entry(of, 50)]))
    assert json.loads(late[1]) == {"verdicts": ["replayed", "level_closed"]}
    party.kill()
    party.start()
    assert party.ask("GET", path + "/messages/1/outcome", key=SERVER_KEY) == (200, outcome), "the same bytes for ever"
    assert party.stop() == 0
