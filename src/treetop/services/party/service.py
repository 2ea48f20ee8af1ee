"""The whole of a party's service, plugged together from its settings."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import cast

from treetop.adapters.http.access_keys import AccessKeys
from treetop.adapters.store_choice import open_stores
from treetop.adapters.system.clock import SystemClock
from treetop.adapters.system.ed25519 import PinnedKeys
from treetop.adapters.system.settings_file import read_settings
from treetop.adapters.system.structured_log import StructuredLog
from treetop.errors import PeerViolation, TreetopError
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.party.party import Party, Query, ends
from treetop.federation.party.published_documents import PublishedDocuments
from treetop.federation.service_ports import Counting, Journal, ReportCollection, ReportStore, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.federation.wire.tickets import TicketKey
from treetop.oracles.tallies import Tally
from treetop.privacy.epsilon import Epsilon
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.host import PartyHost
from treetop.services.party.query_workers import QueryWorkers
from treetop.services.party.report_collection import DeviceReportCollection, ReportCounter
from treetop.services.party.settings import PartySettings
from treetop.trie.user_groups import Group

MakeQuery = Callable[[DeviceTask, str, Journal, ReportCollection], Query]
"""`PartyQuery`, or whatever answers a server in its place."""


class LateCounter:
    """Counts collected reports; the compiler of its loops is loaded when there is something to count."""

    def __init__(self, store: ReportStore, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._turn, self._counter = Lock(), None

    def tally(self, task: bytes, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of closed groups together."""
        return self._loaded().tally(task, groups, counting)

    def implausible(self, task: bytes, group: Group, counting: Counting, epsilon: Epsilon) -> int:
        """Return how many reports of a closed group no honest device sends."""
        return self._loaded().implausible(task, group, counting, epsilon)

    def _loaded(self) -> ReportCounter:
        with self._turn:
            if self._counter is None:
                collected = import_module("treetop.adapters.report_files.collected")
                self._counter = collected.CollectedReports(self._store, self._folder)
        return cast(ReportCounter, self._counter)


class TaskQuery:
    """The query of one task with the devices that it asks: both go on together after a start."""

    def __init__(self, query: Query, field_work: DeviceReportCollection, bulletin: PublishedDocuments) -> None:
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
        self._look_for_the_end()
        return worked

    def _look_for_the_end(self) -> None:
        with suppress(PeerViolation):  # a number that the server has not used yet
            while (outcome := self._query.outcome(self._next)) is not None:
                self._next += 1
                if ends(outcome):
                    self._bulletin.note_over()


class PartyService:
    """Run by the party: everything opened and plugged together; `start` takes up the tasks."""

    def __init__(
        self, settings: PartySettings, make_query: MakeQuery, log: StructuredLog, clock: ServiceClock | None = None
    ) -> None:
        self._settings, self._make_query, self._log, self._clock = settings, make_query, log, clock or SystemClock()
        verifier = PinnedKeys(settings.server_signing_keys)
        self._store, self._journal = open_stores(settings.store_place.where, settings.accept_older_store)
        self._writer = GroupCommit(self._store, settings.limits.queue)
        self._counter = LateCounter(self._store, settings.reports)
        self._workers = QueryWorkers(self._work, self._failed)
        self._party = Party(
            settings.name, self._store, self._journal, clock=self._clock, verifier=verifier,
            key=TicketKey(settings.ticket_secret.reveal()), open_query=self._open_query,
        )  # fmt: skip
        keys = AccessKeys(settings, self._clock.now)
        self.host = PartyHost(self._party, self._store, self._writer, self._workers, keys, log, settings.limits)

    def start(self) -> None:
        """Take up every task, and the messages that were not answered when the last process ended."""
        self._party.take_up()
        for task in self._party.tasks:
            self._workers.wake(task)

    def close(self) -> None:
        """Stop waiting, write what was handed over, let go of the store."""
        self._workers.stop()
        self._writer.close()
        self._store.close()

    def renew(self, path: Path, environment: Mapping[str, str]) -> None:
        """Take keys from settings that were changed; everything else needs a new start."""
        try:
            settings = read_settings(path, PartySettings, environment)
            self._party.verifier = PinnedKeys(settings.server_signing_keys)
            self.host.keys.replace(settings)
        except TreetopError as problem:
            self._log.failure("settings_refused", problem)
        else:
            self._log.say("keys_renewed")

    def _open_query(self, admission: TaskAdmission, bulletin: PublishedDocuments) -> TaskQuery:
        field_work = DeviceReportCollection(
            admission, bulletin, self._store, self._counter, clock=self._clock, verifier=lambda: self._party.verifier,
            stopping=self._workers.stopping, close_when_complete=self._settings.close_when_complete,
        )  # fmt: skip
        query = self._make_query(admission.task, self._settings.name, self._journal, field_work)
        return TaskQuery(query, field_work, bulletin)

    def _work(self, task: bytes) -> bool:
        return self._party.work(task)

    def _failed(self, task: bytes, error: Exception) -> None:
        if isinstance(error, TreetopError):
            self.host.note(error)
        self._log.failure("query_paused", error, task=task.hex())
