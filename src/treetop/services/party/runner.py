"""Serves a party's endpoint until it is told to end."""

from collections.abc import Mapping
from pathlib import Path

from treetop.adapters.http.serving import listening, serve
from treetop.adapters.system.settings_file import read_settings
from treetop.adapters.system.structured_log import StructuredLog
from treetop.services.party.app import party_app
from treetop.services.party.service import MakeQuery, PartyService
from treetop.services.party.settings import PartySettings


def serve_party(path: Path, environment: Mapping[str, str], make_query: MakeQuery) -> None:
    """Serve until a signal ends it; SIGHUP reads keys and certificate again."""
    settings, log = read_settings(path, PartySettings, environment), StructuredLog()
    with listening(settings.listen) as listener:
        service = PartyService(settings, make_query, log)
        try:
            service.start()
            port = listener.getsockname()[1]
            log.say("listening", party=settings.name, scheme=settings.scheme, host=settings.listen.host, port=port)
            serve(
                party_app(service.host), listener, tls=settings.tls, log=log,
                renew=lambda: service.renew(path, environment), head_seconds=settings.limits.body_seconds,
            )  # fmt: skip
        finally:
            service.close()
            log.say("ended", party=settings.name)
