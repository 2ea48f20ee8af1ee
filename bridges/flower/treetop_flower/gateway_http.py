"""Run at the server: the gateway's address, which speaks a party's API on this machine alone.

`http://127.0.0.1:PORT/party/NAME` stands for a party in the server's settings. Who calls is checked by the party: the
server's key travels with the call, and an answer is given only to the key that it was asked with.
"""

import json
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import unquote

from treetop_flower.gateway import Gateway, NoAnswer
from treetop_flower.wire import MAX_BODY_BYTES, Malformed, call_at

IDLE_SECONDS = 60.0
MAX_CONNECTIONS = 200
PREFIX = "party"
Health = Callable[[], dict[str, Any] | None]
"""What is said of the gateway's health; None: the carrier stands still."""


class GatewayServer(ThreadingHTTPServer):
    """Listens on this machine; each connection has a thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], gateway: Gateway, health: Health) -> None:
        self.gateway, self.health = gateway, health
        self.places = BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, or hang up where there are too many."""
        if self.places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a server that hangs up is no event."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "treetop-flower", ""
    timeout = IDLE_SECONDS
    server: GatewayServer

    def do_GET(self) -> None:
        if self.path == "/v1/health":
            content = self.server.health()
            self._answer(
                200 if content else 503, json.dumps(content or {"status": "the carrier stands still"}).encode()
            )
        else:
            self._carry(b"")

    def do_PUT(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or self.headers.get("Transfer-Encoding"):
            self._refuse(411, "expected a body with its length")
        elif int(length) > MAX_BODY_BYTES:
            self._refuse(413, f"expected {MAX_BODY_BYTES} bytes at most, found {length}")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                self._carry(body)

    def _carry(self, body: bytes) -> None:
        _, prefix, name, path = (*self.path.split("/", 3), "", "", "")[:4]
        party = unquote(name)
        if prefix != PREFIX or not self.server.gateway.knows(party):
            self._refuse(404, "expected /party/NAME/v1/..., with the name of a party in the settings")
            return
        try:
            call = call_at(self.command, f"/{path}", self.headers.get("Authorization", ""), body)
            if call is None:
                self._refuse(404, "only what a server says to a party is carried")
                return
            answer = self.server.gateway.ask(party, call)
        except Malformed as refused:
            self._refuse(400, str(refused))
        except NoAnswer as why:
            self._problem(503, str(why))
        else:
            self._answer(answer.status, answer.body, "application/octet-stream")

    def _refuse(self, status: int, detail: str) -> None:
        self.close_connection = True  # its body may not have been read
        self._problem(status, detail)

    def _problem(self, status: int, detail: str) -> None:
        content = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
        self._answer(status, json.dumps(content).encode(), "application/problem+json")

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if status != HTTPStatus.NO_CONTENT:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name
        """Say nothing: the server logs its calls itself."""
