"""Parties for tests: their tasks, honest reports, a query that answers at once, a live server."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from tests.support import tasks
from tests.support.clocks import NOW, HandClock

from treetop.adapters.http.endpoint_settings import AccessKey, AccessKeys, Address, ServiceLimits
from treetop.adapters.http.guarded_connection import guarded
from treetop.adapters.memory.ports import MemoryJournal
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.report_files.locations import ReportFolder
from treetop.adapters.store_choice import StoreLocation
from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import PeerViolation
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.party import Party
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.party.query import PartyQuery
from treetop.federation.protocol import PartyReply
from treetop.federation.service_ports import AdmittedReport, Journal, ReportStore, ServiceClock
from treetop.federation.task import Deadlines, DeviceTask, WeightedGroup
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, encoded_batch
from treetop.federation.wire.signed_documents import signed_task
from treetop.federation.wire.uploads import ReportStatus, TicketedReport, TicketKey
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.services.party.app import party_app
from treetop.services.party.context import PartyContext
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.query_workers import QueryWorkers
from treetop.services.party.settings import Limits, PartySettings
from treetop.toml_files import Secret
from treetop.trie.user_groups import Group, Role

NAME = "north"
SECRET = b"canary-ticket-secret-0123456789abcdef"
SERVER_KEY, BACK_END_KEY = "canary-server-key-0123456789abcdef", "canary-back-end-key-0123456789abcdef"
METRICS_KEY = "canary-metrics-key-0123456789abcdef"
SIGNING = SigningKey(bytes(range(32)))
KEY = TicketKey(SECRET)
GROUPS = (
    WeightedGroup(Group(1), 2),
    WeightedGroup(Group(2), 3),
    WeightedGroup(Group(2, Role.VALIDATE_INFREQUENT), 1),
    WeightedGroup(Group(2, Role.VALIDATE_FREQUENT), 1),
)
DEADLINES = Deadlines(NOW - 1000, NOW + 1000, NOW + 10_000, 60)


def task(oracle: str = "olh", name: str = "fruit", deadlines: Deadlines = DEADLINES) -> DeviceTask:
    """A task that this party takes part in, open now."""
    return tasks.task(oracle, name=name, lengths=(0, 2, 4), groups=GROUPS, parties=("south", NAME), deadlines=deadlines)


def document(of: DeviceTask) -> bytes:
    return signed_task(of, SIGNING)


@dataclass
class AtOnce:
    """A writer that does not wait for others."""

    store: ReportStore

    def submit(self, reports: Sequence[AdmittedReport]) -> "Future[list[ReportStatus]]":
        future: Future[list[ReportStatus]] = Future()
        try:
            future.set_result(self.store.submit(reports))
        except Exception as error:
            future.set_exception(error)
        return future


class NotingCounter:
    """Counts nothing; notes which groups were unlinked, and leaves their reports in the store."""

    def __init__(self) -> None:
        self.unlinked: list[Group] = []

    def unlink(self, envelope: Envelope) -> None:
        self.unlinked.append(envelope.group)


class EchoQuery:
    """Answers every message with how long it was."""

    def __init__(self) -> None:
        self.messages: dict[int, bytes] = {}
        self.outcomes: dict[int, bytes] = {}
        self.finished = False

    def tell(self, number: int, message: bytes) -> None:
        if self.messages.setdefault(number, message) != message:
            raise PeerViolation(f"message {number}", "the same bytes as before", "others")

    def outcome(self, number: int) -> bytes | None:
        return self.outcomes.get(number)

    def work(self) -> bool:
        for number in sorted(self.messages.keys() - self.outcomes.keys()):
            self.outcomes[number] = PartyReply("upload", len(self.messages[number])).to_bytes()
            return True
        return False


@dataclass
class Inline:
    """Workers that work at once."""

    party: Party | None = None

    def wake(self, task: bytes) -> None:
        while self.party is not None and self.party.work(task):
            pass


def settings(**changes: object) -> PartySettings:
    whole = PartySettings(
        NAME, Address("127.0.0.1", 0), ReportFolder(Path("nowhere")), (SIGNING.public,), Secret(SECRET),
        (AccessKey(Secret(SERVER_KEY.encode())),), (AccessKey(Secret(BACK_END_KEY.encode())),),
        StoreLocation("nowhere.db"), metrics_access=(AccessKey(Secret(METRICS_KEY.encode())),),
    )  # fmt: skip
    return replace(whole, **changes)  # type: ignore[arg-type]


def party_of(
    store: ReportStore,
    journal: Journal | None = None,
    clock: ServiceClock | None = None,
    query: EchoQuery | None = None,
    least_reports: int = 1,
) -> Party:
    def open_query(_admission: TaskAdmission, _published: PublishedDocuments) -> PartyQuery:
        return cast(PartyQuery, query or EchoQuery())

    return Party(
        NAME, store, journal or MemoryJournal(), clock=clock or HandClock(), key=KEY,
        verifier=PinnedKeys([SIGNING.public]), open_query=open_query, least_reports=least_reports,
    )  # fmt: skip


@dataclass
class Hosted:
    """A party in memory with everything around it."""

    store: ReportStore = field(default_factory=MemoryReportStore)
    clock: HandClock = field(default_factory=HandClock)
    limits: Limits = field(default_factory=Limits)
    journal: Journal = field(default_factory=MemoryJournal)
    writer: object | None = None
    log: StringIO = field(default_factory=StringIO)
    allowed_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.party = party_of(self.store, self.journal, self.clock)
        self.keys = AccessKeys(settings(), self.clock.now)
        writer = cast(GroupCommit, self.writer or AtOnce(self.store))
        workers = cast(QueryWorkers, Inline(self.party))
        self.context = PartyContext(
            self.party, self.store, writer, workers, self.keys, StructuredLog(self.log), self.limits,
            allowed_origins=self.allowed_origins,
        )  # fmt: skip


def honest_body(serial: int, slots: int) -> HashedReport:
    return HashedReport(serial * 2654435761 % (1 << 32), serial % slots)


def honest_entry(of: DeviceTask, serial: int, group: Group | None = None, key: TicketKey = KEY) -> TicketedReport:
    """What device `serial` of a one-shot task sends; always the same."""
    chosen = group or of.groups[serial % len(of.groups)].group
    slots = of.unlisted_face.slots
    batch = encoded_batch(
        Envelope(of.digest, chosen, NO_DOMAIN, OptimizedLocalHashing(), slots), [honest_body(serial, slots)]
    )
    return TicketedReport(key.write(of.digest, serial).to_bytes(), batch)


@contextmanager
def live(context: PartyContext) -> Iterator[int]:
    """Serve a party from a thread; yield its port."""
    with served(party_app(context), context.limits) as port:
        yield port


@contextmanager
def served(app: ASGIApp, limits: ServiceLimits | None = None) -> Iterator[int]:
    """Serve an application from a thread; yield its port."""
    config = uvicorn.Config(
        app, http=guarded(limits or Limits()), ws="none", lifespan="off", log_config=None,
        access_log=False, host="127.0.0.1", port=0, timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server._serve()), daemon=True)
    thread.start()
    limit = time.monotonic() + 30
    while not server.started and time.monotonic() < limit and thread.is_alive():
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
