"""Serves an application until a signal ends it, over connections that do not wait for ever.

SIGTERM finishes what is in flight, SIGHUP renews secrets; the head of a request must arrive in time and be of a decent
size.
"""

import asyncio
import signal
import socket
import ssl
import sys
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from http import HTTPStatus

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treetop.adapters.http.endpoint_settings import Address, Tls
from treetop.adapters.http.problem_details import Problem, last_word, response_of
from treetop.adapters.system.structured_log import StructuredLog, take_over
from treetop.errors import InvalidInput
from treetop.secret_files import check_private

MAX_HEAD_BYTES = 64 << 10


def _answer(problem: Problem) -> bytes:
    """Return a whole answer for a connection whose application is not asked."""
    response = response_of(problem)
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n".encode()
    return (
        head
        + b"".join(name + b": " + value + b"\r\n" for name, value in response.raw_headers)
        + b"\r\n"
        + bytes(response.body)
    )


_TOO_SLOW = _answer(last_word(408, "the body did not arrive in time"))
_TOO_LONG = _answer(last_word(431, f"the head of a request has {MAX_HEAD_BYTES} bytes at most"))


def guarded(seconds: float) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with a limit of seconds for the head of a request, and again for its body."""

    class GuardedProtocol(HttpToolsProtocol):
        """One connection."""

        _timer: TimerHandle | None = None
        _in_head = False
        _in_body = False
        _arrived = 0
        _arriving = 0

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            """Begin to wait for the first head."""
            super().connection_made(transport)
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer."""
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Let uvicorn parse; end a connection whose head is too long."""
            self._arriving = len(data)
            self._arrived += self._arriving
            if self._idle():
                self._start_timer()
            super().data_received(data)
            if self._in_head and self._arrived > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

        def on_message_begin(self) -> None:
            """Begin to count the bytes of a head, with those it came with."""
            super().on_message_begin()
            self._in_head, self._arrived = True, self._arriving
            self._start_timer()

        def on_headers_complete(self) -> None:
            """Begin to wait for the body."""
            self._in_head, self._in_body = False, True
            self._stop_timer()
            self._start_timer()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            """Stop the clock: how long the answer takes is not the client's fault."""
            self._in_body = False
            self._stop_timer()
            super().on_message_complete()

        def _idle(self) -> bool:
            return not self._in_head and not self._in_body and (self.cycle is None or self.cycle.response_complete)

        def _start_timer(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(seconds, self._give_up)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            if self.transport.is_closing():
                return
            if self._in_body and not self.cycle.response_started:
                self.transport.write(_TOO_SLOW)
            self.transport.close()

    return GuardedProtocol


IDLE_SECONDS, FINISH_SECONDS, HEAD_SECONDS = 75, 20, 15.0
BACKLOG = 2048
_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class _Server(uvicorn.Server):
    """uvicorn that heeds SIGHUP."""

    def __init__(self, config: uvicorn.Config, renew: Callable[[], None]) -> None:
        super().__init__(config)
        self._renew = renew

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and heed SIGHUP from then on."""
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._renew)


def listening(address: Address) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
    except OSError as reason:
        raise InvalidInput(f"cannot listen on {address}: {reason.strerror or reason}") from None


def serve(
    app: ASGIApp,
    listener: socket.socket,
    *,
    tls: Tls | None,
    log: StructuredLog,
    renew: Callable[[], None],
    head_seconds: float = HEAD_SECONDS,
) -> None:
    """Answer requests until a signal ends it."""
    take_over(log, "uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "fastapi")
    config = uvicorn.Config(
        app, http=guarded(head_seconds), ws="none", lifespan="off",
        loop="auto" if sys.platform == "win32" else "uvloop", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=IDLE_SECONDS, timeout_graceful_shutdown=FINISH_SECONDS, backlog=BACKLOG,
    )  # fmt: skip
    config.load()
    if tls is not None:
        config.ssl = tls_context(tls)
    _quiet_after_the_end()
    _Server(config, lambda: _renewed(renew, config.ssl, tls, log)).run([listener])


def _renewed(renew: Callable[[], None], context: ssl.SSLContext | None, tls: Tls | None, log: StructuredLog) -> None:
    renew()
    if context is not None and tls is not None:
        try:
            check_private(tls.key)
            context.load_cert_chain(tls.certificate, tls.key)
        except (OSError, InvalidInput) as problem:
            log.failure("certificate_refused", problem)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return what a certificate and its key, which only its owner can read, make of a connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls.minimum]
    try:
        check_private(tls.key)
        context.load_cert_chain(tls.certificate, tls.key)
    except OSError as reason:
        raise InvalidInput(
            f"the certificate {tls.certificate} with the key {tls.key} cannot be used: {reason}"
        ) from None
    return context


def _quiet_after_the_end() -> None:
    """uvicorn raises the signal that ended it once more when it is done: then nothing is left to end but us."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
