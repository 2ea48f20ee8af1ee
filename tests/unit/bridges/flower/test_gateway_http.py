"""The gateway's address: the server's own channel talks to it as to a party."""

import json
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from threading import Event, Thread
from urllib.parse import quote

import pytest
from tests.support.http_answers import hangs_up

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.errors import PartyUnreachable, PeerViolation
from treetop.services.server.party_channel import HttpChannel
from treetop.toml_files import Secret
from treetop_flower import gateway_http
from treetop_flower.gateway import Gateway
from treetop_flower.gateway_http import GatewayServer
from treetop_flower.wire import MAX_BODY_BYTES, Answer, Call

NAME = "Größe & Söhne/1"
TASK = bytes(32)
AT_ONCE = RetryPolicy(in_all=0.0, answer_within=10.0)


class Parties:
    """Answers calls as a carrier and a party would."""

    def __init__(self) -> None:
        self.gateway = Gateway(frozenset({NAME}), longest_pause=8.0)
        self.gateway.connected(frozenset({NAME}))
        self.calls: list[Call] = []
        self.answers = {"tell": Answer(202), "outcome": Answer(200, b"outcome"), "list": Answer(204)}
        self._end = Event()
        self._thread = Thread(target=self._carry)
        self._thread.start()

    def _carry(self) -> None:
        while not self._end.wait(0.01):
            for exchange in self.gateway.take():
                self.calls.append(exchange.call)
                self.gateway.arrived(exchange, self.answers.get(exchange.call.action, Answer(404, b"{}")))

    def stop(self) -> None:
        self._end.set()
        self._thread.join()


@pytest.fixture
def parties() -> Iterator[Parties]:
    made = Parties()
    yield made
    made.stop()


@pytest.fixture
def server(parties: Parties) -> Iterator[GatewayServer]:
    made = GatewayServer(("127.0.0.1", 0), parties.gateway, lambda: {"status": "ok", "run": "7"})
    thread = Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def channel(server: GatewayServer) -> Iterator[HttpChannel]:
    url = f"http://127.0.0.1:{server.server_port}/party/{quote(NAME, safe='')}"
    made = HttpChannel(NAME, RetryingConnection(url, retry=AT_ONCE), Secret(b"00ff"), 1 << 20)
    yield made
    made.close()


def test_the_channel_of_the_server_needs_no_change(channel: HttpChannel, parties: Parties) -> None:
    channel.give_list(TASK, b"items")
    channel.tell(TASK, 1, b'{"kind":"close"}')
    while (found := channel.outcome(TASK, 1)) is None:
        pass
    assert found == b"outcome"
    assert parties.calls == [
        Call("list", TASK.hex(), 0, "Bearer 00ff", b"items"),
        Call("tell", TASK.hex(), 1, "Bearer 00ff", b'{"kind":"close"}'),
        Call("outcome", TASK.hex(), 1, "Bearer 00ff"),
    ]


def test_a_refusal_of_the_party_is_the_channels_refusal(channel: HttpChannel) -> None:
    with pytest.raises(PeerViolation, match="expected 204, found 404"):
        channel.give_campaign(TASK, b"{}")


def test_a_party_away_is_away(channel: HttpChannel, parties: Parties) -> None:
    parties.gateway.connected(frozenset())
    parties.stop()
    with pytest.raises(PartyUnreachable, match="503"):
        channel.tell(TASK, 2, b"{}")


def asked(server: GatewayServer, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, body)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, content


@pytest.mark.parametrize(("method", "path", "status"), [
    ("GET", "/v1/health", 200), ("GET", "/", 404), ("GET", "/party/nobody/v1/standing", 404), ("GET", "/party", 404),
    ("GET", f"/party/{quote(NAME, safe='')}/v1/health", 404), ("POST", "/v1/health", 501),
    ("GET", f"/party/{quote(NAME, safe='')}", 404),
])  # fmt: skip
def test_what_is_not_carried_is_refused(server: GatewayServer, method: str, path: str, status: int) -> None:
    assert asked(server, method, path)[0] == status


def test_a_carrier_that_stands_still_is_not_well(server: GatewayServer) -> None:
    assert json.loads(asked(server, "GET", "/v1/health")[1])["run"] == "7"
    server.health = lambda: None
    assert asked(server, "GET", "/v1/health")[0] == 503


@pytest.mark.parametrize(("head", "status"), [
    (f"Content-Length: {MAX_BODY_BYTES + 1}", 413), ("Content-Length: x", 411), ("Transfer-Encoding: chunked", 411),
    ("X: y", 411), (f"Content-Length: {'9' * 5_000}", 413), ("Content-Length: 1\r\nContent-Length: 2", 411),
])  # fmt: skip
def test_bodies_have_a_length_and_a_bound(server: GatewayServer, parties: Parties, head: str, status: int) -> None:
    path = f"/party/{quote(NAME, safe='')}/v1/tasks/{TASK.hex()}"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as peer:
        peer.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
        assert f" {status} " in peer.recv(200).decode("latin-1")
    assert parties.calls == []


def exchanged(server: GatewayServer, request: str) -> bytes:
    """Return all that is answered until the gateway hangs up."""
    found = b""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as peer:
        peer.sendall(request.encode("latin-1"))
        while piece := peer.recv(65536):
            found += piece
    return found


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost:x", ":80"]
)
def test_another_name_for_this_machine_is_refused(server: GatewayServer, parties: Parties, host: str) -> None:
    path = f"/party/{quote(NAME, safe='')}/v1/tasks/{TASK.hex()}"
    for line in ("GET /v1/health", f"PUT {path}"):
        answer = exchanged(server, f"{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 421 ")
    twice = f"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nHost: {host}\r\n\r\n"
    assert exchanged(server, twice).startswith(b"HTTP/1.1 421 ")
    assert exchanged(server, "GET /v1/health HTTP/1.0\r\n\r\n")[9:12] == b"421"
    assert parties.calls == []
    for own in ("localhost", f"127.0.0.1:{server.server_port}", "[::1]", "[::1]:80", "LOCALHOST:1"):
        kept = exchanged(server, f"GET /v1/health HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n")
        assert kept.startswith(b"HTTP/1.1 200 ")


def test_a_body_is_never_the_next_request(server: GatewayServer, parties: Parties) -> None:
    path = f"/party/{quote(NAME, safe='')}/v1/tasks/{TASK.hex()}"
    hidden = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    lengths = (f"Content-Length: {len(hidden)}", "Transfer-Encoding: chunked", "Content-Length: 0\r\nContent-Length: 9")
    for line in ("GET /v1/health", f"GET {path}/messages/1/outcome"):
        for length in lengths:
            answer = exchanged(server, f"{line} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n{hidden}")
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert answer.count(b"HTTP/1.1 ") == 1
    both = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n{hidden}"
    assert exchanged(server, both).startswith(b"HTTP/1.1 411 ")
    assert parties.calls == []


def test_a_body_that_was_cut_off_is_not_carried(server: GatewayServer, parties: Parties) -> None:
    path = f"/party/{quote(NAME, safe='')}/v1/tasks/{TASK.hex()}"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as peer:
        peer.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf".encode())
        peer.shutdown(socket.SHUT_WR)
        assert peer.recv(200) == b""
    assert parties.calls == []


def test_the_bodies_of_all_requests_are_bounded_together(
    server: GatewayServer, parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is on the machine reaches this address: 200 parked bodies of 32 MiB would be 6.4 GB."""
    monkeypatch.setattr(gateway_http, "MAX_HELD_BYTES", 1000)
    path = f"/party/{quote(NAME, safe='')}/v1/tasks/{TASK.hex()}/items"
    assert asked(server, "PUT", path, bytes(1001))[0] == 503
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as parked:
        parked.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\nx".encode())
        end = time.monotonic() + 60
        while server._held < 900 and time.monotonic() < end:
            time.sleep(0.01)
        assert asked(server, "PUT", path, bytes(101))[0] == 503
        assert asked(server, "PUT", path, bytes(100))[0] == 204
    while server._held and time.monotonic() < end:
        time.sleep(0.01)
    assert asked(server, "PUT", path, bytes(1000))[0] == 204
    assert [len(call.body) for call in parties.calls] == [100, 1000]


def test_a_body_has_its_time(server: GatewayServer, parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_http, "BODY_SECONDS", 0.3)
    path = f"/party/{quote(NAME, safe='')}/v1/tasks/{TASK.hex()}"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as peer:
        peer.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n".encode())
        assert hangs_up(peer, 16), "all of it would take eighteen seconds"
    assert parties.calls == []


def test_connections_are_bounded(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_http, "MAX_CONNECTIONS", 1)
    made = GatewayServer(("127.0.0.1", 0), parties.gateway, lambda: {"run": "7"})
    thread = Thread(target=made.serve_forever)
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", made.server_port), timeout=10) as first:
            first.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" in first.recv(200)
            with socket.create_connection(("127.0.0.1", made.server_port), timeout=10) as second:
                assert second.recv(10) == b""
    finally:
        made.shutdown()
        made.server_close()
        thread.join()
