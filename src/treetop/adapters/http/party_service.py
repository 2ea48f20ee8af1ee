"""The whole of a party's service, plugged together from its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from treetop.adapters.http.access_keys import AccessKeys
from treetop.adapters.http.party_host import PartyHost
from treetop.adapters.http.party_settings import PartySettings
from treetop.adapters.report_files.collected import CollectedReports
from treetop.adapters.store_choice import open_stores
from treetop.adapters.system.clock import SystemClock
from treetop.adapters.system.ed25519 import PinnedKeys
from treetop.adapters.system.field_work import DeviceFieldWork
from treetop.adapters.system.group_commit import GroupCommit
from treetop.adapters.system.query_workers import QueryWorkers
from treetop.adapters.system.settings_file import read_settings
from treetop.adapters.system.structured_log import StructuredLog
from treetop.errors import TreetopError
from treetop.federation.admission import TaskAdmission
from treetop.federation.bulletin import Bulletin
from treetop.federation.party import Party, Query, ends
from treetop.federation.service_ports import FieldWork, Journal, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.federation.tickets import TicketKey

MakeQuery = Callable[[DeviceTask, str, Journal, FieldWork], Query]
"""`PartyQuery`, or whatever answers a server in its place."""


class TaskQuery:
    """The query of one task with the devices that it asks: both go on together after a start."""

    def __init__(self, query: Query, field_work: DeviceFieldWork, bulletin: Bulletin) -> None:
        self._query, self._field_work, self._bulletin = query, field_work, bulletin
        self._next = 1

    def tell(self, number: int, message: bytes) -> None:
        """Keep a message of the server."""
        self._query.tell(number, message)

    def outcome(self, number: int) -> bytes | None:
        """Return the answer to a message, once there is one."""
        return self._query.outcome(number)

    def work(self) -> bool:
        """Answer the next message, and notice when it was the last."""
        self._field_work.restore()
        worked = self._query.work()
        while (outcome := self._query.outcome(self._next)) is not None:
            self._next += 1
            if ends(outcome):
                self._bulletin.note_over()
        return worked


@dataclass(frozen=True, eq=False)
class PartyService:
    """Run by the party: what was opened, and how it is closed again."""

    host: PartyHost
    writer: GroupCommit
    workers: QueryWorkers

    def start(self) -> None:
        """Take up every task, and the messages that were not answered when the last process ended."""
        self.host.party.take_up()
        for task in self.host.party.tasks:
            self.workers.wake(task)

    def close(self) -> None:
        """Stop waiting, write what was handed over, let go of the store."""
        self.workers.stop()
        self.writer.close()
        self.host.store.close()

    def renew(self, path: Path, environment: Mapping[str, str]) -> None:
        """Take keys from settings that were changed; everything else needs a new start."""
        try:
            settings = read_settings(path, PartySettings, environment)
            self.host.party.verifier = PinnedKeys(settings.server_signing_keys)
            self.host.keys.replace(settings)
        except TreetopError as problem:
            self.host.log.say("settings_refused", kind=type(problem).__name__)
        else:
            self.host.log.say("keys_renewed")


def opened_service(
    settings: PartySettings, make_query: MakeQuery, log: StructuredLog, clock: ServiceClock | None = None
) -> PartyService:
    """Open store and journal and plug everything together; `start` takes up the tasks."""
    clock = clock or SystemClock()
    store, journal = open_stores(settings.store_place.where, settings.accept_older_store)
    writer = GroupCommit(store, settings.limits.queue)
    counter = CollectedReports(store, settings.reports)
    workers = QueryWorkers(lambda task: party.work(task), lambda task, error: failed(task, error))

    def open_query(admission: TaskAdmission, bulletin: Bulletin) -> TaskQuery:
        field_work = DeviceFieldWork(
            admission, bulletin, store, counter, clock=clock, verifier=lambda: party.verifier,
            stopping=workers.stopping, close_when_complete=settings.close_when_complete,
        )  # fmt: skip
        query = make_query(admission.task, settings.name, journal, field_work)
        return TaskQuery(query, field_work, bulletin)

    def failed(task: bytes, error: Exception) -> None:
        if isinstance(error, TreetopError):
            host.note(error)
        log.failure("query_paused", error, task=task.hex())

    party = Party(
        settings.name, store, journal, clock=clock, key=TicketKey(settings.ticket_secret.reveal()),
        verifier=PinnedKeys(settings.server_signing_keys), open_query=open_query,
    )  # fmt: skip
    host = PartyHost(party, store, writer, workers, AccessKeys(settings, clock.now), log, settings.limits)
    return PartyService(host, writer, workers)
