"""The whole of a server's service, plugged together from its settings and served until a signal ends it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from starlette.routing import BaseRoute

from treetop.adapters.http.browser_rules import local_names
from treetop.adapters.http.endpoint_settings import AccessKeys
from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.http.serving import listening, serve, tls_context
from treetop.adapters.relational.commit_numbers import Opening
from treetop.adapters.store_choice import open_stores
from treetop.adapters.system.host import SystemClock, SystemEntropy
from treetop.adapters.system.key_files import SigningKey
from treetop.adapters.system.telemetry import StructuredLog, begin_tracing
from treetop.errors import TreetopError
from treetop.services.server.app import ServerContext, server_app
from treetop.services.server.campaign_manager import CampaignManager
from treetop.services.server.party_channel import POLLING, HttpChannel
from treetop.services.server.party_watch import GLANCE, PartyWatch, WatchedParty
from treetop.services.server.query_manager import QueryManager
from treetop.services.server.settings import KnownParty, ServerSettings
from treetop.toml_files import read_toml

ServerPages = Callable[[ServerContext, ServerSettings], Sequence[BaseRoute]]
"""What people look at, beside the endpoints."""


def checked_settings(path: Path, environment: Mapping[str, str]) -> tuple[ServerSettings, SigningKey]:
    """Read settings and every file that they name, or refuse what a server cannot start with; nothing is opened."""
    settings = read_toml(path, ServerSettings, environment)
    if settings.tls is not None:
        tls_context(settings.tls)
    for party in settings.parties:
        if party.ca is not None:
            _watched(party).open()
    return settings, SigningKey.load(settings.signing_key)


def serve_server(path: Path, environment: Mapping[str, str], pages: ServerPages) -> None:
    """Serve endpoints and pages until a signal ends it; queries go on from the journal."""
    settings, signing_key = checked_settings(path, environment)
    begin_tracing("treetop server", environment)
    log = StructuredLog()
    clock = SystemClock()
    keys = AccessKeys(settings, clock.now)
    with listening(settings.listen) as listener:
        opening = Opening("a server", settings.accept_older_journal, settings.commit_file, log.say)
        store, journal = open_stores(settings.journal_location.where, opening)
        channels = {party.name: _opener(party) for party in settings.parties}
        expected = {party.name: party.expected_users for party in settings.parties if party.expected_users}
        queries = QueryManager(
            journal, signing_key, channels, clock=clock, entropy=SystemEntropy(), log=log, expected=expected
        )
        campaigns = CampaignManager(journal, signing_key, queries, clock=clock, log=log)
        try:
            campaigns.resume()
            campaigns.start()
            watch = PartyWatch({party.name: _watched(party) for party in settings.parties})
            hosts = local_names(settings.listen, settings.tls, settings.trusted_proxy)
            context = ServerContext(
                queries, campaigns, signing_key.public, keys, log, settings.limits, watch=watch, hosts=hosts
            )
            log.say("listening", role="server", scheme=settings.scheme, port=listener.getsockname()[1])
            app = server_app(context, pages(context, settings))
            serve(
                app,
                listener,
                tls=settings.tls,
                log=log,
                limits=settings.limits,
                renew=lambda: _renew(keys, path, environment, log),
                ending=context.streams.end,
            )
        finally:
            campaigns.stop()
            queries.stop()
            store.close()
            log.say("ended", role="server")


def _opener(party: KnownParty) -> Callable[[int], HttpChannel]:
    """Return what opens a channel to a party for replies up to a length: every query has one of its own."""
    return lambda most: HttpChannel(party.name, RetryingConnection(party.url, party.ca, POLLING), party.key, most)


def _watched(party: KnownParty) -> WatchedParty:
    return WatchedParty(lambda: RetryingConnection(party.url, party.ca, GLANCE), party.key, party.expected_users)


def _renew(keys: AccessKeys, path: Path, environment: Mapping[str, str], log: StructuredLog) -> None:
    """Take admin keys from settings that were changed; everything else needs a restart."""
    try:
        keys.replace(read_toml(path, ServerSettings, environment))
        log.say("keys_renewed")
    except TreetopError as problem:
        log.say("settings_refused", kind=type(problem).__name__)
