"""An HTTP connection that is kept open and tries again, always with the same bytes."""

import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from treetop.adapters.system.host import SystemEntropy
from treetop.errors import InvalidInput, PartyUnreachable, PeerViolation
from treetop.privacy.randomness import uniform_below
from treetop.public_text import shown_address

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
AGAIN = frozenset({408, 429, 502, 503, 504})
"""Answers after which the same request may be taken later."""
_GRAIN = 1 << 16
"""Steps of the jitter, which is drawn as an integer."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long a request is tried again, in seconds."""

    in_all: float = 120.0
    first_pause: float = 0.1
    longest_pause: float = 10.0
    answer_within: float = 60.0
    """Of one attempt."""


@dataclass(frozen=True)
class Reply:
    """What the other side answered."""

    status: int
    body: bytes
    retry_after: float | None
    """Seconds that the other side asks to wait."""


@dataclass(frozen=True)
class _Away:
    """Why there is no answer yet."""

    reason: str
    retry_after: float | None


@dataclass(frozen=True)
class Request:
    """What is sent, as often as it takes."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] | None = None
    max_bytes: int = 1 << 22
    """Of the answer: a longer one is refused."""


class _Incoming(RawIOBase):
    """Bytes that arrive on a socket before a deadline; a peer that sends one now and then gains no time by it."""

    def __init__(self, connected: socket.socket, end: float) -> None:
        self._socket = connected
        self._end = end
        self._bytes = connected.makefile("rb", buffering=0)  # it also keeps a socket open that is closed meanwhile

    def readable(self) -> bool:
        """Return that this is read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Wait for the next bytes, no longer than is left for all of them."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._bytes.readinto(buffer)

    def close(self) -> None:
        """Read no more."""
        self._bytes.close()
        super().close()


def _answer_until(end: float) -> type[HTTPResponse]:
    """Return a kind of answer whose head, body and trailers together have until then."""

    class Answer(HTTPResponse):
        def __init__(self, sock: socket.socket, *others: Any, **named: Any) -> None:
            super().__init__(sock, *others, **named)
            self.fp.close()
            self.fp = BufferedReader(_Incoming(sock, end))

    return Answer


class RetryingConnection:
    """A connection to one HTTP service; not to be shared by threads."""

    def __init__(
        self,
        url: str,
        ca_file: Path | None = None,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url
        self._parts = checked_url(url)
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._context = _tls_context(ca_file) if self._parts.scheme == "https" else None
        self._connection: HTTPConnection | None = None
        self._entropy = SystemEntropy()

    def ask(self, request: Request) -> Reply:
        """Return the answer to a request; try again where the other side is away or busy, as the policy says."""
        pause = self._retry.first_pause
        end = time.monotonic() + self._retry.in_all
        while True:
            found = self._attempt(request)
            if isinstance(found, Reply):
                return found
            wait = self._jittered(pause if found.retry_after is None else found.retry_after)
            if time.monotonic() + wait > end:
                self.close()
                raise PartyUnreachable(self.url, found.reason)
            self._sleep(wait)
            pause = min(2 * pause, self._retry.longest_pause)

    def _attempt(self, request: Request) -> "Reply | _Away":
        try:
            reply = self._ask_once(request)
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise PartyUnreachable(self.url, f"its certificate is not trusted: {error.verify_message}") from None
        except (OSError, HTTPException) as error:
            self.close()
            return _Away(type(error).__name__, None)
        return _Away(f"status {reply.status}", reply.retry_after) if reply.status in AGAIN else reply

    @property
    def certificate_end(self) -> int | None:
        """Return when the other side's certificate ends, in seconds since 1970; None without TLS or a connection."""
        socket = self._connection.sock if self._connection else None
        shown = socket.getpeercert() if isinstance(socket, ssl.SSLSocket) else None
        return int(ssl.cert_time_to_seconds(str(shown["notAfter"]))) if shown else None

    def close(self) -> None:
        """Hang up; the next request opens a new connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask_once(self, request: Request) -> Reply:
        connection = self._connection = self._connection or self._opened()
        if connection.sock is not None:
            connection.sock.settimeout(self._retry.answer_within)
        path = self._parts.path.rstrip("/") + request.path
        connection.request(request.method, path, request.body, dict(request.headers or {}))
        connection.response_class = _answer_until(time.monotonic() + self._retry.answer_within)
        answer = connection.getresponse()
        body = self._body(answer, request.max_bytes)
        return Reply(answer.status, body, self._wanted_pause(answer.getheader("Retry-After")))

    def _body(self, answer: HTTPResponse, max_bytes: int) -> bytes:
        """Return the whole body: one that was cut off, or trickles in for too long, is no answer."""
        body = bytearray()
        if answer.length is None and not answer.chunked:
            raise IncompleteRead(b"")  # it does not say how long it is: its head may have been cut off
        while part := answer.read1(max_bytes + 1 - len(body)):
            body += part
            if len(body) > max_bytes:
                self.close()
                raise PeerViolation("bytes of an answer", f"{max_bytes} at most", "more")
        if answer.length:  # http.client itself takes a short body for a whole one
            raise IncompleteRead(bytes(body), answer.length)
        answer.close()  # so that the connection may be used again
        return bytes(body)

    def _opened(self) -> HTTPConnection:
        host = self._parts.hostname or ""
        port = self._parts.port
        within = self._retry.answer_within
        if self._context is None:
            return HTTPConnection(host, port, timeout=within)
        return HTTPSConnection(host, port, timeout=within, context=self._context)

    def _wanted_pause(self, text: str | None) -> float | None:
        known = text is not None and text.isascii() and text.isdigit()
        return min(float(text or 0), self._retry.longest_pause) if known else None

    def _jittered(self, pause: float) -> float:
        """Return a pause and up to half of it more, so that many devices do not come back at once."""
        return pause * (1 + uniform_below(_GRAIN, self._entropy) / (2 * _GRAIN))


def checked_url(url: str) -> SplitResult:
    """Return the parts of an address; plain http is for this machine alone."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise InvalidInput("address_malformed", url=shown_address(url))
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InvalidInput("address_not_https", url=shown_address(url))
    return parts


def _tls_context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise InvalidInput("certificates_unreadable", ca_file=ca_file, reason=error.strerror or error) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
