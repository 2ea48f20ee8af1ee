"""Serves a party's endpoint until it is told to end: SIGTERM finishes what is in flight, SIGHUP reads keys again."""

import asyncio
import signal
import socket
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path

import uvicorn

from treetop.adapters.http.guarded_protocol import guarded
from treetop.adapters.http.party_app import party_app
from treetop.adapters.http.party_service import MakeQuery, PartyService
from treetop.adapters.http.party_settings import Address, PartySettings
from treetop.adapters.system.settings_file import read_settings
from treetop.adapters.system.structured_log import StructuredLog, take_over
from treetop.errors import InvalidInput

IDLE_SECONDS, FINISH_SECONDS = 75, 20
_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class PartyServer(uvicorn.Server):
    """uvicorn that reads keys and certificate again on SIGHUP."""

    def __init__(self, config: uvicorn.Config, renew: "Renewal") -> None:
        super().__init__(config)
        self._renew = renew

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and heed SIGHUP from then on."""
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._renew)


class Renewal:
    """Reads settings again, and the certificate that they name."""

    def __init__(self, service: PartyService, path: Path, environment: Mapping[str, str]) -> None:
        self._service, self._path, self._environment = service, path, environment
        self.context: ssl.SSLContext | None = None
        self.certificate: tuple[Path, Path] | None = None

    def __call__(self) -> None:
        """Run on SIGHUP; what cannot be read is told, and the old keys stay."""
        self._service.renew(self._path, self._environment)
        if self.context is not None and self.certificate is not None:
            try:
                self.context.load_cert_chain(*self.certificate)
            except (OSError, ssl.SSLError) as problem:
                self._service.host.log.failure("certificate_refused", problem)


def serve_party(path: Path, environment: Mapping[str, str], make_query: MakeQuery) -> None:
    """Serve until a signal ends it."""
    settings = read_settings(path, PartySettings, environment)
    log = StructuredLog()
    take_over(log, "uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "fastapi")
    with _listening(settings.listen) as listener:
        service = PartyService(settings, make_query, log)
        try:
            service.start()
            server = _server(settings, service, Renewal(service, path, environment))
            port = listener.getsockname()[1]
            log.say("listening", party=settings.name, scheme=settings.scheme, host=settings.listen.host, port=port)
            _quiet_after_the_end()
            server.run([listener])
        finally:
            service.close()
            log.say("ended", party=settings.name)


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=2048)
    except OSError as reason:
        raise InvalidInput(f"cannot listen on {address}: {reason.strerror or reason}") from None


def _server(settings: PartySettings, service: PartyService, renew: Renewal) -> PartyServer:
    config = uvicorn.Config(
        party_app(service.host), http=guarded(settings.limits.body_seconds), ws="none", lifespan="off",
        loop="auto" if sys.platform == "win32" else "uvloop", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=IDLE_SECONDS, timeout_graceful_shutdown=FINISH_SECONDS, backlog=2048,
    )  # fmt: skip
    config.load()
    if settings.tls is not None:
        certificate = (settings.tls.certificate, settings.tls.key)
        config.ssl = _tls_context(*certificate, settings.tls.minimum)
        renew.context, renew.certificate = config.ssl, certificate
    return PartyServer(config, renew)


def _tls_context(certificate: Path, key: Path, minimum: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[minimum]
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as reason:
        raise InvalidInput(f"the certificate {certificate} with the key {key} cannot be used: {reason}") from None
    return context


def _quiet_after_the_end() -> None:
    """uvicorn raises the signal that ended it once more when it is done: then nothing is left to end but us."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
