"""Run at the server: the gateway's address, which speaks a party's API on this machine alone.

`http://127.0.0.1:PORT/party/NAME` stands for a party in the server's settings. Who calls is checked by the party: the
server's key travels with the call, and an answer is given only to the key that it was asked with.

Flower pins another uvicorn than Treetop's guarded server is made for, so this one stands on the standard library. It
takes GET without a body and PUT with one length, sent to a name of this machine, and nothing else.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import unquote

from treetop_flower.gateway import Gateway, NoAnswer
from treetop_flower.wire import MAX_BODY_BYTES, Malformed, call_at

IDLE_SECONDS = 60.0
MAX_CONNECTIONS = 200
MAX_HELD_BYTES = 1 << 29
"""Of the bodies of all requests that are not answered yet: whoever is on this machine can begin any number."""
BODY_SECONDS, PIECE_BYTES = 30.0, 1 << 20
PREFIX = "party"
LOCAL_NAME = re.compile(r"(127\.[0-9.]+|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
"""What a request may call this machine: a web page whose name was made to lead here sends its own."""
MAX_LENGTH_DIGITS = 18
Health = Callable[[], dict[str, Any] | None]
"""What is said of the gateway's health; None: the carrier stands still."""


class GatewayServer(ThreadingHTTPServer):
    """Listens on this machine; each connection has a thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], gateway: Gateway, health: Health) -> None:
        self.gateway, self.health = gateway, health
        self.places, self._lock, self._held = BoundedSemaphore(MAX_CONNECTIONS), Lock(), 0
        super().__init__(address, _Handler)

    @contextmanager
    def holding(self, size: int) -> Iterator[bool]:
        """Give whether there is room for a body of so many bytes, which is kept while the block lasts."""
        with self._lock:
            fits = self._held + size <= MAX_HELD_BYTES
            self._held += size if fits else 0
        try:
            yield fits
        finally:
            with self._lock:
                self._held -= size if fits else 0

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

    def parse_request(self) -> bool:
        """Read the head of a request; refuse one to another name, or with a body that is not read as one."""
        if not super().parse_request():
            return False
        hosts = self.headers.get_all("Host", [])
        lengths = self.headers.get_all("Content-Length", [])
        puts = self.command == "PUT"
        if len(hosts) != 1 or not LOCAL_NAME.fullmatch(hosts[0]):
            self._refuse(421, "expected a name of this machine as the host")
        elif len(lengths) > 1 or "Transfer-Encoding" in self.headers or not (puts or lengths in ([], ["0"])):
            self._refuse(411 if puts else 400, "expected a body with its length, of PUT alone")
        else:
            return True
        return False

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
        if not (length.isascii() and length.isdigit()):
            self._refuse(411, "expected a body with its length")
        elif len(length) > MAX_LENGTH_DIGITS or int(length) > MAX_BODY_BYTES:
            self._refuse(413, f"expected {MAX_BODY_BYTES} bytes at most")
        else:
            with self.server.holding(int(length)) as fits:
                if not fits:
                    self._refuse(503, "too much is under way at the moment")
                elif (body := self._read(int(length))) is None:
                    self.close_connection = True
                else:
                    self._carry(body)

    def _read(self, length: int) -> bytes | None:
        """Return a body that comes whole and in time."""
        body, end = bytearray(), time.monotonic() + BODY_SECONDS
        while len(body) < length and time.monotonic() < end:
            part = self.rfile.read1(min(length - len(body), PIECE_BYTES))
            if not part:
                return None
            body += part
        return bytes(body) if len(body) == length else None

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
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
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
