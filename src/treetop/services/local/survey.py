"""`treetop up --survey`: a web page on which people answer beside the simulated users.

The page's site hands out tickets, as the back end of a real one does, and passes on to the party what devices ask, as a
proxy does: so a phone has to trust one address only. It listens on this machine in plain http, and for phones in the
same network in https.
"""

import html
import json
import re
import socket
import ssl
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Self

from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.adapters.system.self_signed import issue_self_signed
from treetop.errors import InvalidInput, TreetopError
from treetop.public_text import name_problem

SCRIPTS = ("treetop-survey.js", "campaigns.js", "itemLists.js", "rounds.js", "sets.js", "textCode.js")
"""The element, and what it loads where a task needs it: files of the package `@treetop/device`."""
MAX_PEOPLE = 1_000
"""Tickets that the page hands out: the others are the simulated users'."""
MAX_BODY_BYTES = 64 << 10
SECONDS = 15.0
REQUESTS_AT_ONCE = 64
DEVICE_PATHS = {
    "GET": re.compile(r"/v1/tasks(/[0-9a-f]{64}(/beacon|/items|/lists(/[0-9]{1,3}/[0-2])?)?)?"),
    "POST": re.compile(r"/v1/tasks/[0-9a-f]{64}/(reports|enrolments)"),
}
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}  # fmt: skip


@dataclass(frozen=True)
class SurveyPlan:
    """What people are asked, and for how long; kept beside the federation."""

    question: str
    seconds: int
    origins: tuple[str, ...] = ()
    """Other sites whose pages may report to the party."""

    def __post_init__(self) -> None:
        if problem := name_problem(self.question):
            raise InvalidInput(f"--question {problem}")

    def save(self, folder: Path) -> None:
        """Keep it in a federation's folder."""
        replace_durably(folder / "survey.json", json.dumps(asdict(self)).encode("ascii") + b"\n")

    @classmethod
    def load(cls, folder: Path) -> "SurveyPlan | None":
        """Return the survey of a federation, or None for one without."""
        content = content_of(folder / "survey.json")
        if content is None:
            return None
        try:
            found = json.loads(content)
            return cls(found["question"], found["seconds"], tuple(found["origins"]))
        except (ValueError, TypeError, KeyError):
            raise InvalidInput(f"{folder / 'survey.json'}: expected what treetop up wrote") from None


@dataclass(frozen=True)
class SurveyTask:
    """What the page must know of the task that it asks."""

    digest: str
    party: str
    party_url: str
    pinned: str
    """The server's public key."""
    choices: tuple[str, ...]
    """What people choose from."""
    back_end_key_file: Path
    """Of the key that tickets are asked for with."""

    def for_other_sites(self) -> bytes:
        """Return what a site with a page of its own must know (examples/survey)."""
        facts = {
            "party": self.party_url, "party_name": self.party, "task": self.digest, "server_key": self.pinned,
            "items": self.choices, "back_end_key_file": str(self.back_end_key_file),
        }  # fmt: skip
        return json.dumps(facts, indent=1).encode("ascii") + b"\n"


def page_file(name: str) -> bytes:
    """Return a file of the page."""
    return files("treetop.services.local").joinpath("survey_page", name).read_bytes()


def survey_page(plan: SurveyPlan, task: SurveyTask) -> bytes:
    """Return the page; whatever a text holds, it stays a text."""
    texts = {
        "question": plan.question, "task": task.digest, "party-name": task.party, "server-keys": task.pinned,
    }  # fmt: skip
    attributes = " ".join(f'{name}="{html.escape(text)}"' for name, text in texts.items())
    options = "\n".join(f"      <option>{html.escape(item)}</option>" for item in task.choices)
    return page_file("index.html").replace(b"{attributes}", attributes.encode()).replace(b"{options}", options.encode())


def network_address() -> str | None:
    """Return this machine's address in its network, or None where it is in none; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation: nobody has it
        except OSError:
            return None
        found: str = probe.getsockname()[0]
    return None if found.startswith("127.") or found == "0.0.0.0" else found  # noqa: S104  not listened on


class SurveySite:
    """Serves the page while the block lasts."""

    def __init__(self, plan: SurveyPlan, task: SurveyTask, ticket: Callable[[], str], folder: Path) -> None:
        self._plan, self._task, self._ticket, self._folder = plan, task, ticket, folder
        self._servers: list[ThreadingHTTPServer] = []
        self._busy, self._counting = BoundedSemaphore(REQUESTS_AT_ONCE), Lock()
        self.handed_out = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def listen(self, address: str, port: int = 0, tls: ssl.SSLContext | None = None) -> str:
        """Serve on an address as well; return where."""
        site = self

        class Handler(_SurveyHandler):
            """One request to this site."""

            def answered(self, method: str, body: bytes | None) -> "_Answer":
                return site._answer(method, self, body)

        try:
            server = _SurveyServer((address, port), Handler)
        except OSError as reason:
            raise InvalidInput(f"the survey cannot listen on {address}:{port}: {reason.strerror or reason}") from None
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self._servers.append(server)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return f"{'https' if tls else 'http'}://{address}:{server.server_port}/"

    def listen_to_phones(self, address: str, port: int = 0) -> tuple[str, str]:
        """Serve in https with a certificate made here; return where, and the certificate's fingerprint."""
        from treetop.adapters.http.endpoint_settings import Tls  # noqa: PLC0415  loads starlette
        from treetop.adapters.http.serving import tls_context  # noqa: PLC0415  loads uvicorn

        certificate, key = self._folder / "certificate.pem", self._folder / "key.pem"
        fingerprint = issue_self_signed(address, certificate, key)
        return self.listen(address, port, tls_context(Tls(certificate, key))), fingerprint

    def _answer(self, method: str, request: BaseHTTPRequestHandler, body: bytes | None) -> "_Answer":
        if not self._busy.acquire(timeout=SECONDS):
            return _Answer(503, b"too many requests at once", "text/plain")
        try:
            return self._served(method, request.path.partition("?")[0], request, body)
        except (TreetopError, OSError, HTTPException):
            return _Answer(503, b"the party does not answer", "text/plain")
        finally:
            self._busy.release()

    def _served(self, method: str, path: str, request: BaseHTTPRequestHandler, body: bytes | None) -> "_Answer":
        if DEVICE_PATHS[method].fullmatch(path):
            return self._forwarded(method, path, body)
        match method, path:
            case "GET", "/":
                return _Answer(200, survey_page(self._plan, self._task), "text/html; charset=utf-8")
            case "GET", _ if path[1:] in SCRIPTS:
                return _Answer(200, page_file(path[1:]), "text/javascript; charset=utf-8")
            case "POST", "/ticket" if _from_own_page(request) and self._counted():
                return _Answer(200, json.dumps({"ticket": self._ticket()}).encode(), "application/json")
        return _Answer(404, b"not here", "text/plain")

    def _counted(self) -> bool:
        """Count somebody who gets a ticket, as long as there are any."""
        with self._counting:
            fits = self.handed_out < MAX_PEOPLE
            self.handed_out += fits
            return fits

    def _forwarded(self, method: str, path: str, body: bytes | None) -> "_Answer":
        """Return the party's answer; the page is this site's own, so where it is from is not passed on."""
        connection = HTTPConnection(self._task.party_url.partition("//")[2], timeout=SECONDS)
        try:
            connection.request(method, path, body, {"Content-Type": "application/octet-stream"} if body else {})
            answer = connection.getresponse()
            found = answer.read()
            return _Answer(answer.status, found, answer.getheader("Content-Type", ""), answer.getheader("Retry-After"))
        finally:
            connection.close()


def _from_own_page(request: BaseHTTPRequestHandler) -> bool:
    """Return whether the page of this site asks: another site's page has another origin."""
    return request.headers.get("Origin", "").partition("//")[2] == request.headers.get("Host", "-")


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    kind: str
    retry_after: str | None = None


class _SurveyServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that break off, or of phones that refuse the certificate."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _SurveyHandler(BaseHTTPRequestHandler, ABC):
    """Reads a request and writes its answer, within limits of time and size; logs nothing."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "treetop", ""
    timeout = SECONDS

    @abstractmethod
    def answered(self, method: str, body: bytes | None) -> _Answer:
        """Return the answer to a request."""

    def log_message(self, *_: Any) -> None:
        """Say nothing: who asked is nobody's business."""

    def do_GET(self) -> None:
        """Answer a request for a page or a document."""
        self._write(self.answered("GET", None))

    def do_POST(self) -> None:
        """Answer a report, an enrolment, or somebody who needs a ticket."""
        self.close_connection = True
        length = self.headers.get("Content-Length") or "0"
        if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY_BYTES:
            self._write(_Answer(413, b"too large", "text/plain"))
        elif len(body := self._read(int(length))) == int(length):  # before a place is taken: it may come slowly
            self._write(self.answered("POST", body))

    def _read(self, length: int) -> bytes:
        """Return a body, or as much of it as comes in time."""
        body, end = b"", time.monotonic() + SECONDS
        while len(body) < length and time.monotonic() < end and (part := self.rfile.read1(length - len(body))):
            body += part
        return body

    def _write(self, answer: _Answer) -> None:
        self.send_response(answer.status)
        headers = {**HEADERS, "Content-Type": answer.kind, "Content-Length": str(len(answer.body))}
        for name, value in (headers | ({"Retry-After": answer.retry_after} if answer.retry_after else {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
