"""A whole federation over https, with a certificate authority of its own (T12)."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography import x509
from tests.support.certificates import TLS_TABLE, Authority
from tests.support.federations import crowd
from tests.support.running_federation import RunningFederation

from treetop.adapters.http.retrying_connection import Request, RetryingConnection
from treetop.errors import PartyUnreachable

SIZES = {"north": 400, "south": 300}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[RunningFederation]:
    folder = tmp_path_factory.mktemp("federation")
    made = RunningFederation(folder, SIZES, "https", authority.save(folder / "ca.pem"))
    made.party_tables = made.server_tables = TLS_TABLE
    for name in (*SIZES, "server"):
        authority.issue(folder / name)
    with made.processes:
        made.start()
        yield made


def treetop(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "treetop", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def query(running: RunningFederation, task: str, *more: str) -> "subprocess.CompletedProcess[str]":
    key = running.folder / "server" / "admin.key"
    return treetop(
        "query",
        "--server",
        running.url(running.ports["server"]),
        "--key-file",
        str(key),
        "--task",
        task,
        "--json",
        *more,
    )


def fleet(running: RunningFederation, name: str, task: str, *more: str) -> "subprocess.CompletedProcess[str]":
    folder = running.folder / name
    lines = [f"{name},{item}" for item in crowd(SIZES)[name]]
    (folder / "users.csv").write_text("party,item\n" + "\n".join(lines) + "\n")
    tickets = folder / "tickets.txt"
    if not tickets.exists():
        tickets.write_text("\n".join(ticket.hex() for ticket in running.tickets(name, task)) + "\n")
    return treetop(
        "device", "fleet", "--party", running.url(running.ports[name]), "--task", task, "--party-name", name,
        "--data", str(folder / "users.csv"), "--tickets", str(tickets), "--server-key", running.signing.public,
        "--state", str(folder / "cli_fleet"), "--epsilon-cap", "8", "--json", *more,
    )  # fmt: skip


def test_a_federation_over_https(running: RunningFederation) -> None:
    task = running.order()
    refused = fleet(running, "north", task)
    assert refused.returncode != 0
    assert "certificate is not trusted" in refused.stderr.splitlines()[-1]
    played = fleet(running, "north", task, "--ca", str(running.ca))
    assert json.loads(played.stdout)["verdicts"] == {"accepted": 400}, played.stderr
    running.play("south", task)
    answered = query(running, task, "--ca", str(running.ca))
    result = json.loads(answered.stdout)
    assert [row["item"] for row in result["items"]] == ["200", "77", "9"]
    assert {party["name"]: party["users"] for party in result["parties"]} == SIZES


def test_a_client_that_does_not_know_the_authority_is_told_so(running: RunningFederation) -> None:
    found = query(running, "0" * 64)
    assert found.returncode != 0
    assert len(found.stderr.strip().splitlines()) == 1
    assert "certificate is not trusted" in found.stderr
    assert "Traceback" not in found.stderr


def test_another_authority_is_not_believed(running: RunningFederation, tmp_path: Path) -> None:
    other = Authority().save(tmp_path / "other.pem")
    url = running.url(running.ports["north"])
    with closing(RetryingConnection(url, other)) as connection, pytest.raises(PartyUnreachable, match="not trusted"):
        connection.ask(Request("GET", "/v1/health"))


def hello(version: int) -> bytes:
    """A ClientHello of TLS 1.1 (0x0302) or 1.2 (0x0303) with what our certificates need."""
    groups, formats = b"\x00\x0a\x00\x06\x00\x04\x00\x1d\x00\x17", b"\x00\x0b\x00\x02\x01\x00"
    signatures = b"\x00\x0d\x00\x06\x00\x04\x04\x03\x02\x03"
    extensions = groups + formats + (signatures if version == 0x0303 else b"")
    ciphers = b"\xc0\x2b\xc0\x2c\xc0\x09\xc0\x0a\xc0\x14\x00\x2f"
    body = version.to_bytes(2, "big") + bytes(range(32)) + b"\x00" + len(ciphers).to_bytes(2, "big") + ciphers
    body += b"\x01\x00" + len(extensions).to_bytes(2, "big") + extensions
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


@pytest.mark.parametrize("name", ["north", "server"])
def test_tls_1_1_is_refused_and_1_2_is_not(running: RunningFederation, name: str) -> None:
    answers = {}
    for version in (0x0302, 0x0303):
        with socket.create_connection(("127.0.0.1", running.ports[name]), timeout=30) as connection:
            connection.sendall(hello(version))
            answers[version] = connection.recv(4096)
    alert, handshake = b"\x15", b"\x16"
    assert answers[0x0302][:1] in {alert, b""}, "refused, or hung up"
    assert answers[0x0303][:1] == handshake


def serial_of(running: RunningFederation, name: str) -> int:
    context = ssl.create_default_context(cafile=str(running.ca))
    address = ("127.0.0.1", running.ports[name])
    raw = socket.create_connection(address, timeout=30)
    with context.wrap_socket(raw, server_hostname="localhost") as secured:
        found = secured.getpeercert(binary_form=True)
    assert found is not None
    return x509.load_der_x509_certificate(found).serial_number


@pytest.mark.parametrize("name", ["north", "server"])
def test_a_certificate_is_renewed_without_a_pause(running: RunningFederation, authority: Authority, name: str) -> None:
    process = running.server if name == "server" else running.parties[name]
    with closing(running.connection(name)) as kept:
        assert kept.ask(Request("GET", "/v1/health")).status == 200
        socket_before = kept._connection
        new = authority.issue(running.folder / name)
        os.kill(process.process.pid, signal.SIGHUP)
        limit = time.monotonic() + 60
        while serial_of(running, name) != new:
            assert kept.ask(Request("GET", "/v1/health")).status == 200
            assert time.monotonic() < limit
        assert kept.ask(Request("GET", "/v1/health")).status == 200
        assert kept._connection is socket_before, "the kept connection was not dropped"


def test_a_certificate_that_cannot_be_read_changes_nothing(running: RunningFederation) -> None:
    serial = serial_of(running, "south")
    (running.folder / "south" / "certificate.pem").write_text("nonsense")
    running.signal("south", signal.SIGHUP)
    limit = time.monotonic() + 60
    while not any('"certificate_refused"' in line for line in running.parties["south"].lines()):
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert serial_of(running, "south") == serial
