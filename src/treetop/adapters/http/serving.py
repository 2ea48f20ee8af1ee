"""Serves an application until a signal ends it: SIGTERM finishes what is in flight, SIGHUP renews secrets.

Or from a thread, beside other work. Whatever listens in Treetop is served here, behind the same guard.
"""

import asyncio
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

from treetop.adapters.http.endpoint_settings import Address, ServiceLimits, Tls
from treetop.adapters.http.guarded_connection import guarded
from treetop.adapters.system.telemetry import StructuredLog, take_over
from treetop.errors import InvalidInput
from treetop.secret_files import check_private

IDLE_SECONDS = 75
"""How long a connection is kept open between two requests."""
FINISH_SECONDS = 20
"""How long SIGTERM waits for requests in flight."""
FINISH_IN_THREAD_SECONDS = 2
"""The same where the service is a part of another command."""
BACKLOG = 2048
"""Connections that the kernel holds until they are accepted."""
RECEIVE_BUFFER_BYTES = 64 << 10
"""Of a connection, in the kernel: it would grow to megabytes on its own, and over TLS uvloop keeps what it reads."""
_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class _Server(uvicorn.Server):
    """uvicorn that heeds SIGHUP, and calls back when it begins to end."""

    def __init__(self, config: uvicorn.Config, renew: Callable[[], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._renew = renew
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and heed SIGHUP from then on."""
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._renew)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Have answers that go on for ever end, then wait for those in flight."""
        self._ending()
        await super().shutdown(sockets)


def listening(address: Address) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
    except OSError as reason:
        raise InvalidInput("cannot_listen", address=address, reason=reason.strerror or reason) from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)  # connections inherit it
    return listener


def serve(
    app: ASGIApp,
    *listeners: socket.socket,
    tls: Tls | None,
    log: StructuredLog,
    renew: Callable[[], None],
    limits: ServiceLimits,
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until a signal ends it; `ending` is called before those in flight are waited for."""
    _allow_many_files()
    config = _guarded_config(app, tls, log, limits, FINISH_SECONDS)
    _quiet_after_the_end()
    _Server(config, lambda: _renewed(renew, config.ssl, tls, log), ending).run(list(listeners))


@contextmanager
def serving(
    app: ASGIApp, listener: socket.socket, *, tls: Tls | None, log: StructuredLog, limits: ServiceLimits
) -> Iterator[None]:
    """Answer requests from a thread while the block lasts; connections wait in the listener until it is ready."""
    server = uvicorn.Server(_guarded_config(app, tls, log, limits, FINISH_IN_THREAD_SECONDS))
    thread = Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _guarded_config(
    app: ASGIApp, tls: Tls | None, log: StructuredLog, limits: ServiceLimits, finish_seconds: int
) -> uvicorn.Config:
    """Return how uvicorn serves: every connection guarded, nothing logged of who asks."""
    take_over(log, "uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "fastapi")
    config = uvicorn.Config(
        app,
        http=guarded(limits),
        ws="none",
        lifespan="off",
        loop="auto" if sys.platform == "win32" else "uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=finish_seconds,
        backlog=BACKLOG,
    )
    config.load()
    if tls is not None:
        config.ssl = tls_context(tls)
    return config


def _allow_many_files() -> None:
    """Raise the limit of open files to the highest allowed: it often starts at 1,024.

    A server has a connection to every party of every query that runs.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  Unix alone

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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
        raise InvalidInput("certificate_unusable", certificate=tls.certificate, key=tls.key, reason=reason) from None
    return context


def _quiet_after_the_end() -> None:
    """Ignore the signal that uvicorn raises again when it is done: nothing is left to end but this process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
