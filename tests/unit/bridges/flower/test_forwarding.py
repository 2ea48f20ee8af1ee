"""The party's end: one call at the party's own service."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from treetop_flower.forwarding import forwarded
from treetop_flower.wire import Answer, Call

TASK = "ab" * 32


class Service(BaseHTTPRequestHandler):
    heard: list[tuple[str, str, str | None, bytes]]
    says: bytes

    def do_PUT(self) -> None:
        length = int(self.headers["Content-Length"])
        self.heard.append(("PUT", self.path, self.headers["Authorization"], self.rfile.read(length)))
        self.wfile.write(self.says)

    def do_GET(self) -> None:
        self.heard.append(("GET", self.path, self.headers["Authorization"], b""))
        self.wfile.write(self.says)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[tuple[str, type[Service]]]:
    kind = type("Case", (Service,), {"heard": [], "says": b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"})
    server = HTTPServer(("127.0.0.1", 0), kind)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", kind
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_message_is_put_with_the_servers_key(service: tuple[str, type[Service]]) -> None:
    assert forwarded(Call("tell", TASK, 2, "Bearer k", b'{"kind":"say"}'), service[0]) == Answer(202)
    assert service[1].heard == [("PUT", f"/v1/tasks/{TASK}/messages/2", "Bearer k", b'{"kind":"say"}')]


def test_an_outcome_comes_back_byte_for_byte(service: tuple[str, type[Service]]) -> None:
    body = bytes(range(256)) * 100
    service[1].says = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    assert forwarded(Call("outcome", TASK, 2, "Bearer k"), service[0]) == Answer(200, body)


@pytest.mark.parametrize("says", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", b"nonsense\r\n\r\n", b"",
])  # fmt: skip
def test_half_an_answer_is_none(service: tuple[str, type[Service]], says: bytes) -> None:
    service[1].says = says
    assert forwarded(Call("outcome", TASK, 2), service[0]).status == 502


def test_a_service_that_is_down_is_told_as_such() -> None:
    answer = forwarded(Call("standing"), "http://127.0.0.1:9")
    assert (answer.status, b"does not answer: ConnectionRefusedError" in answer.body) == (502, True)
