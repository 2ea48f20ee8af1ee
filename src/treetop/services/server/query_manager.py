"""Run by the server: orders in, every query in a thread of its own, results out; a new start takes all of them up."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Any

from pydantic import ValidationError

from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import InvalidInput, QueryFailed, UnknownName
from treetop.federation.documents import canonical_json
from treetop.federation.ports import Signer
from treetop.federation.server.order_json import order_to_json
from treetop.federation.server.party_poller import Progress
from treetop.federation.server.planning import QueryOrder, longest_reply, planned_task
from treetop.federation.server.query import SEEDS, ListLog, ServerQuery
from treetop.federation.server.query_history import GrownLevel, QueryEvent, events_behind, grown_prefixes
from treetop.federation.service_ports import Channel, Journal, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mode_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import signed_task
from treetop.metrics.answer_quality import fakes_needed
from treetop.privacy.randomness import Entropy
from treetop.public_text import visible
from treetop.services.server.party_channel import several_at_a_time
from treetop.services.server.schemas import OrderWanted, QueryShown, QuestionWanted

ORDERS = "orders"
QUERY = "query"
CAMPAIGN = "campaign"
LEFT_OUT = "left out"
DOCUMENT = "document"
RETRY_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class WeeklyOrder:
    """A week of a campaign as a query of its own."""

    campaign: str
    number: int
    """Counted from 0 through all cycles."""
    order: QueryOrder
    document: bytes
    """The signed campaign, which parties get with the task."""


@dataclass(frozen=True, eq=False)
class _Query:
    order: QueryOrder
    task: DeviceTask
    thread: Thread
    campaign: bytes | None


class QueryManager:
    """All queries of one server."""

    def __init__(
        self,
        journal: Journal,
        signer: Signer,
        channels: Mapping[str, Callable[[int], Channel]],
        *,
        clock: ServiceClock,
        entropy: Entropy,
        log: StructuredLog,
        expected: Mapping[str, int] | None = None,
    ) -> None:
        """`channels` open one to a party that takes replies of so many bytes at most."""
        self._journal = journal
        self._signer = signer
        self._channels = channels
        self._clock = clock
        self._entropy = entropy
        self._log = log
        self._expected = expected or {}
        self._queries: dict[str, _Query] = {}
        self._states: dict[str, QueryShown] = {}
        self._weeks: dict[tuple[str, int], str] = {}
        """The tasks of campaigns' weeks."""
        self._events: dict[str, list[QueryEvent]] = {}
        self._grown: dict[str, tuple[int, list[GrownLevel]]] = {}
        self._lock = Lock()
        self._reading = Lock()
        self._stop = Event()
        self.left_out = 0
        """How often a query of this process went on without a party."""

    @property
    def parties(self) -> tuple[str, ...]:
        """Return the parties that the settings name, in their order."""
        return tuple(self._channels)

    def resume(self, week: Callable[[str, int], WeeklyOrder | None] = lambda *_: None) -> None:
        """Take up every query that was ordered before, but for those whose parties the settings no longer name.

        `week` says what a campaign asks in a week.
        """
        for digest, content in self._journal.read(ORDERS).items():
            try:
                kept = json.loads(content)
                if CAMPAIGN not in kept:
                    self._begin(OrderWanted.model_validate_json(content).order(self.parties, self.item_list))
                elif (weekly := week(kept[CAMPAIGN], kept["number"])) is None:
                    self._log.say("order_not_taken_up", task=digest, kind=CAMPAIGN)
                else:
                    self.take_week(weekly)
            except (InvalidInput, ValidationError) as refusal:
                self._log.say("order_not_taken_up", task=digest, kind=type(refusal).__name__)

    def keep_list(self, digest: str, document: bytes) -> None:
        """Keep a list of items that orders may name by its digest; again, it does nothing."""
        ItemList.from_document(document, digest)
        self._journal.write(f"item list:{digest}", DOCUMENT, document)

    def item_list(self, digest: str) -> ItemList:
        """Return a list that was put before, or refuse."""
        document = self._journal.get(f"item list:{digest}", DOCUMENT)
        if document is None:
            raise InvalidInput("list_unknown", digest=digest)
        return ItemList.from_document(document, digest)

    def ordered(self, wanted: QuestionWanted) -> QueryOrder:
        """Return the order with the parties named and what is expected of them, whatever settings say some day."""
        order = wanted.order(self.parties, self.item_list)
        expected = {party: users for party, users in self._expected.items() if party in order.parties}
        return replace(order, expected=expected | wanted.expected)

    def take(self, wanted: OrderWanted) -> QueryShown:
        """Keep an order and begin with it; the same order again is the same query, and goes on if it had failed."""
        order = self.ordered(wanted)
        order = order.reporting(order.local_epsilon)  # kept, so that the task stays the same however it is found
        task = planned_task(order)
        digest = task.digest.hex()
        self._journal.write(ORDERS, digest, canonical_json(order_to_json(order)))
        self._begin(order)
        return self.state(digest)

    def take_week(self, weekly: WeeklyOrder) -> None:
        """Begin with a week of a campaign; again, it does nothing. A week that has a task gets no other."""
        digest = planned_task(weekly.order).digest.hex()
        place = (weekly.campaign, weekly.number)
        entry = canonical_json({CAMPAIGN: weekly.campaign, "number": weekly.number})
        other = {content: task for task, content in self._journal.read(ORDERS).items()}.get(entry, digest)
        if other != digest:
            raise InvalidInput("week_ordered_before", other=other, digest=digest)
        self._journal.write(ORDERS, digest, entry)
        self._begin(weekly.order, weekly.document)
        self._weeks[place] = digest  # last: whoever sees it finds the query

    def task_of_week(self, campaign: str, number: int) -> str | None:
        """Return the task of a week that was begun."""
        return self._weeks.get((campaign, number))

    def seeds(self, task: str) -> str:
        """Return what an answered week of a campaign gives to the next one."""
        return (self._journal.get(f"server:{task}", SEEDS) or b"").decode("ascii")

    def answer(self, task: str) -> Mapping[str, Any] | None:
        """Return the content of the document of an answered query."""
        document = self._result(task)
        return None if document is None else json.loads(document)

    def states(self) -> list[QueryShown]:
        """Return all queries, the oldest one first."""
        return list(self._states.values())

    def state(self, task: str) -> QueryShown:
        """Return how far a query is."""
        if task not in self._states:
            raise UnknownName(QUERY, task, ())
        return self._states[task]

    def result(self, task: str) -> bytes | None:
        """Return the document of an answered query."""
        self.state(task)
        return self._result(task)

    def document(self, task: str) -> bytes:
        """Return the signed task of a query."""
        self.state(task)
        return signed_task(self._queries[task].task, self._signer)

    def log(self, task: str) -> list[bytes]:
        """Return the signed candidate lists of a task, in the order they were signed."""
        self.state(task)
        book = ListLog(self._queries[task].task, self._signer, self._journal).book
        return [document for entry, document in self._journal.read(book).items() if entry.startswith("list:")]

    def order(self, task: str) -> QueryOrder:
        """Return what was ordered."""
        self.state(task)
        return self._queries[task].order

    def task(self, task: str) -> DeviceTask:
        """Return the task of a query."""
        self.state(task)
        return self._queries[task].task

    def grown(self, task: str) -> list[GrownLevel]:
        """Return the trie of a query so far; it is computed again when more has happened."""
        events = len(self.events(task))
        if self._grown.get(task, (-1, []))[0] != events:
            found = grown_prefixes(
                self._queries[task].order, self._signer, self._journal, clock=self._clock, entropy=self._entropy
            )
            self._grown[task] = events, found
        return self._grown[task][1]

    def events(self, task: str) -> Sequence[QueryEvent]:
        """Return what has happened in a query: facts of the journal, whose numbers stay."""
        self.state(task)
        if task not in self._events:
            self._read_events(task)
        return self._events[task]

    def known_events(self, task: str) -> Sequence[QueryEvent]:
        """Return the events as far as this process has read them, without looking into the journal."""
        return self._events.get(task, ())

    def _read_events(self, task: str) -> None:
        with self._reading:
            known = self._events.setdefault(task, [])
            known += events_behind(self._queries[task].task, self._journal.read(f"server:{task}"), len(known))

    def stop(self) -> None:
        """Begin nothing more; what is under way goes on from the journal after the next start."""
        self._stop.set()

    def _begin(self, order: QueryOrder, campaign: bytes | None = None) -> None:
        task = planned_task(order)
        digest = task.digest.hex()
        answered = self._result(digest) is not None
        with self._lock:
            if digest in self._queries and self._states[digest].state != "failed":
                return
            thread = Thread(target=self._run, args=(digest,), name=f"query {digest[:8]}", daemon=True)
            self._states[digest] = QueryShown(
                task=digest,
                name=visible(task.name),
                mode=mode_of(task),
                state="running",
                doing="waiting for devices",
                steps=0,
            )
            self._queries[digest] = _Query(order, task, thread, campaign)
        if answered:
            self._change(digest, state="answered", doing="answered")
            return
        self._log.say("query_begun", task=digest, mode=mode_of(task), parties=len(task.parties))
        thread.start()

    def _result(self, task: str) -> bytes | None:
        return self._journal.get(f"server:{task}", "result")

    def _run(self, digest: str) -> None:
        """Run a query to its end; whatever else comes between, it goes on from the journal."""
        while not self._stop.is_set():
            try:
                self._ask(digest)
                self._read_events(digest)
                self._change(digest, state="answered", doing="answered")
                self._log.say("query_answered", task=digest)
                return
            except QueryFailed as failure:
                self._change(digest, state="failed", doing=str(failure))
                self._log.say("query_failed", task=digest)
                return
            except Exception as error:  # the store may be away: the journal has not moved
                self._log.failure("query_paused", error, task=digest)
                self._stop.wait(RETRY_SECONDS)

    def _ask(self, digest: str) -> None:
        """Open a channel to every party, run the query over them, and close them whatever came of it."""
        order = self._queries[digest].order
        task = self._queries[digest].task
        with ExitStack() as opened:
            most = longest_reply(task, order.listed)
            channels = {party: opened.enter_context(closing(self._channels[party](most))) for party in task.parties}
            ServerQuery(
                order,
                self._signer,
                self._journal,
                channels,
                clock=self._clock,
                entropy=self._entropy,
                ask_all=several_at_a_time,
                fakes_needed=fakes_needed,
                campaign=self._queries[digest].campaign,
            ).run(lambda progress: self._note(digest, progress))

    def _note(self, digest: str, progress: Progress) -> None:
        if progress.step == LEFT_OUT:
            # What follows the colon is the party's own words.
            self._log.say("party_left_out", task=digest, party=progress.party, why=progress.reason.partition(":")[0])
            self.left_out += 1
        self._read_events(digest)
        doing = visible(f"{progress.party}: {progress.reason or progress.step}")
        self._change(digest, doing=doing, steps=self._states[digest].steps + 1)

    def _change(self, digest: str, **changes: Any) -> None:
        self._states[digest] = self._states[digest].model_copy(update=changes)
