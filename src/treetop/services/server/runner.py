"""Serves a server's endpoint until it is told to end."""

from collections.abc import Callable, Mapping
from pathlib import Path

from treetop.adapters.http.access_keys import AccessKeys
from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.http.serving import listening, serve
from treetop.adapters.store_choice import open_stores
from treetop.adapters.system.clock import SystemClock
from treetop.adapters.system.ed25519 import SigningKey
from treetop.adapters.system.entropy import SystemEntropy
from treetop.adapters.system.settings_file import read_settings
from treetop.adapters.system.structured_log import StructuredLog
from treetop.errors import TreetopError
from treetop.services.server.app import server_app
from treetop.services.server.host import ServerHost
from treetop.services.server.party_channel import POLLING, HttpChannel
from treetop.services.server.query_manager import QueryManager
from treetop.services.server.settings import KnownParty, ServerSettings


def serve_server(path: Path, environment: Mapping[str, str]) -> None:
    """Serve until a signal ends it; queries go on from the journal."""
    settings = read_settings(path, ServerSettings, environment)
    signing_key, log, clock = SigningKey.load(settings.signing_key), StructuredLog(), SystemClock()
    keys = AccessKeys(settings, clock.now)
    with listening(settings.listen) as listener:
        store, journal = open_stores(settings.journal_place.where, settings.accept_older_journal)
        channels = {party.name: _opener(party) for party in settings.parties}
        desk = QueryManager(journal, signing_key, channels, clock=clock, entropy=SystemEntropy(), log=log)
        try:
            desk.resume()
            host = ServerHost(desk, signing_key.public, keys, log, settings.limits)
            log.say("listening", role="server", scheme=settings.scheme, port=listener.getsockname()[1])
            serve(
                server_app(host), listener, tls=settings.tls, log=log, head_seconds=settings.limits.body_seconds,
                renew=lambda: _renew(keys, path, environment, log),
            )  # fmt: skip
        finally:
            desk.stop()
            store.close()
            log.say("ended", role="server")


def _opener(party: KnownParty) -> Callable[[], HttpChannel]:
    """Return what opens a way to a party: every query has one of its own."""
    return lambda: HttpChannel(party.name, RetryingConnection(party.url, party.ca, POLLING), party.key)


def _renew(keys: AccessKeys, path: Path, environment: Mapping[str, str], log: StructuredLog) -> None:
    """Take admin keys from settings that were changed; everything else needs a new start."""
    try:
        keys.replace(read_settings(path, ServerSettings, environment))
        log.say("keys_renewed")
    except TreetopError as problem:
        log.say("settings_refused", kind=type(problem).__name__)
