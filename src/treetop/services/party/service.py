"""The whole of a party's service, plugged together from its settings and served until a signal ends it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from treetop.adapters.http.browser_rules import local_names
from treetop.adapters.http.endpoint_settings import AccessKeys
from treetop.adapters.http.serving import listening, serve, tls_context
from treetop.adapters.relational.commit_numbers import Opening, Share
from treetop.adapters.store_choice import open_stores
from treetop.adapters.system.host import SystemClock
from treetop.adapters.system.key_files import PinnedKeys
from treetop.adapters.system.telemetry import StructuredLog, begin_tracing
from treetop.errors import InvalidInput, TreetopError
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.party import Party
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.party.query import PartyQuery
from treetop.federation.service_ports import ServiceClock
from treetop.federation.wire.uploads import TicketKey
from treetop.services.party.app import party_app
from treetop.services.party.context import PartyContext
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.query_workers import CountingTurns, Following, QueryWorkers
from treetop.services.party.report_collection import DeviceReportCollection
from treetop.services.party.settings import PartySettings
from treetop.toml_files import read_toml

if TYPE_CHECKING:
    from treetop.adapters.report_files.collected import CollectedReports

PartyPages = Callable[[PartyContext, PartySettings], Sequence[BaseRoute]]
"""What the party's people look at, beside the endpoints."""


class PartyService:
    """Run by the party: everything opened and plugged together; `start` takes up the tasks.

    Alone, or as one of several processes over one store: then every one answers every request, and the coordinator
    alone works on the server's messages.
    """

    def __init__(
        self,
        settings: PartySettings,
        log: StructuredLog,
        clock: ServiceClock | None = None,
        *,
        share: Share = "alone",
        turns: CountingTurns | None = None,
    ) -> None:
        """`turns` are those of all parties of a process."""
        self._turns = turns or CountingTurns()
        self._settings = settings
        self._log = log
        self._clock = clock or SystemClock()
        verifier = PinnedKeys(settings.server_signing_keys)
        opening = Opening(
            f"party {settings.name!r}", settings.accept_older_store, settings.commit_file, self._log.say, share
        )
        self._store, self._journal = open_stores(settings.store_location.where, opening)
        self._writer = GroupCommit(self._store, settings.limits.queue)
        self._collected: CollectedReports | None = None
        self._loading = Lock()
        self._party = Party(
            settings.name,
            self._store,
            self._journal,
            clock=self._clock,
            verifier=verifier,
            key=TicketKey(settings.ticket_secret.reveal()),
            open_query=self._open_query,
            least_reports=settings.least_reports,
        )
        # Of several processes the coordinator alone answers the server's messages.
        work = self._party.work if share != "intake" else lambda _task: False
        self._workers = QueryWorkers(work, self._failed)
        self._following: Following | None = None
        if share != "alone":
            wake = self._workers.wake
            failed = self._look_failed
            self._following = Following(self._party, self._store, self._journal, wake, failed)
        keys = AccessKeys(settings, self._clock.now)
        self.context = PartyContext(
            self._party,
            self._store,
            self._writer,
            self._workers,
            keys,
            log,
            settings.limits,
            allowed_origins=settings.allowed_origins,
            hosts=local_names(settings.listen, settings.tls, settings.trusted_proxy),
            others=self._following,
        )

    def start(self) -> None:
        """Take up every task, and the messages that were not answered when the last process ended."""
        self._party.take_up()
        for task in self._party.tasks:
            self._workers.wake(task)
        if self._following is not None:
            self._following.start()

    def close(self) -> None:
        """Stop waiting, write what was handed over, close the store."""
        if self._following is not None:
            self._following.stop()
        self._workers.stop()
        self._writer.close()
        self._store.close()

    def renew(self, path: Path, environment: Mapping[str, str]) -> None:
        """Take keys from settings that were changed; everything else needs a restart."""
        try:
            settings = read_toml(path, PartySettings, environment)
            self._party.verifier = PinnedKeys(settings.server_signing_keys)
            self.context.keys.replace(settings)
        except TreetopError as problem:
            self._log.failure("settings_refused", problem)
        else:
            self._log.say("keys_renewed")

    def _open_query(self, admission: TaskAdmission, published: PublishedDocuments) -> PartyQuery:
        collection = DeviceReportCollection(
            admission,
            published,
            self._store,
            self._counter,
            clock=self._clock,
            verifier=lambda: self._party.verifier,
            stopping=self._workers.stopping,
            close_when_complete=self._settings.close_when_complete,
        )
        return PartyQuery(admission.task, self._settings.name, self._journal, collection, self._turns)

    def _counter(self) -> "CollectedReports":
        """Return what counts the closed groups of all tasks; loaded with the first, as Arrow takes 33 MB."""
        with self._loading:
            if self._collected is None:
                from treetop.adapters.report_files.collected import CollectedReports  # noqa: PLC0415  see above

                self._collected = CollectedReports(self._store, self._settings.reports.where)
            return self._collected

    def _look_failed(self, error: Exception) -> None:
        if isinstance(error, TreetopError):
            self.context.note(error)
        else:
            self._log.failure("internal_error", error)

    def _failed(self, task: bytes, error: Exception) -> None:
        if isinstance(error, TreetopError):
            self.context.note(error)
        self._log.failure("query_paused", error, task=task.hex())


def checked_settings(path: Path, environment: Mapping[str, str]) -> PartySettings:
    """Read settings and every file that they name, or refuse what a party cannot start with; nothing is opened."""
    settings = read_toml(path, PartySettings, environment)
    PinnedKeys(settings.server_signing_keys)
    TicketKey(settings.ticket_secret.reveal())
    if settings.tls is not None:
        tls_context(settings.tls)
    return settings


def serve_parties(
    paths: Sequence[Path],
    environment: Mapping[str, str],
    pages: PartyPages,
    share: Share = "alone",
) -> None:
    """Serve until a signal ends it; SIGHUP reads keys and certificate again.

    Several parties may share a process on one machine where a federation is tried out: each with its own port, store
    and keys, but the limits of the first.
    """
    several = [checked_settings(path, environment) for path in paths]
    log = StructuredLog()
    first = several[0]
    turns = CountingTurns()
    if len(several) > 1 and not (share == "alone" and all(each.listen.loopback and not each.tls for each in several)):
        raise InvalidInput("shared_process_listens")
    begin_tracing(f"treetop party {first.name}", environment)
    with ExitStack() as opened:
        listeners = [opened.enter_context(listening(settings.listen)) for settings in several]
        apps: dict[int, ASGIApp] = {}
        services = []
        for settings, listener in zip(several, listeners, strict=True):
            service = PartyService(settings, log, share=share, turns=turns)
            opened.callback(log.say, "ended", party=settings.name)
            opened.callback(service.close)
            services.append(service)
            service.start()
            host = settings.listen.host
            port = listener.getsockname()[1]
            log.say("listening", party=settings.name, role=share, scheme=settings.scheme, host=host, port=port)
            apps[port] = party_app(service.context, pages(service.context, settings))

        def renew() -> None:
            for service, path in zip(services, paths, strict=True):
                service.renew(path, environment)

        async def by_port(scope: Scope, receive: Receive, send: Send) -> None:
            await apps[scope["server"][1]](scope, receive, send)

        app = apps[port] if len(apps) == 1 else by_port
        serve(app, *listeners, tls=first.tls, log=log, renew=renew, limits=first.limits)
