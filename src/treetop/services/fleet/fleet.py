"""Many simulated users of one party, each with the real device code, a ledger and a ticket of its own."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.adapters.sqlite.fleet_ledger import FleetLedger
from treetop.adapters.system.host import SystemEntropy
from treetop.datasets.party_split import HeldItems, HeldSets
from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, QuestionRefused, TreetopError
from treetop.federation.device.device import OwnItems
from treetop.federation.device.ledger import Caps
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.ports import Verifier
from treetop.federation.task import DeviceTask
from treetop.federation.task_codec import codec_of, needs_list, steps_of
from treetop.federation.wire.item_lists import ItemList
from treetop.secret_files import private_folder
from treetop.services.device.party_client import PartyClient
from treetop.services.fleet.devices import FleetDelivery, FleetDevices
from treetop.services.fleet.runs import FleetProgress, OneShotRun, RoundsRun

LIST_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class FleetPlan:
    """Which devices are simulated, and for which party."""

    url: str
    task: bytes
    party: str
    tickets: Sequence[bytes] = field(repr=False)
    """Device i uses ticket i."""
    state: Path
    verifier: Verifier
    ca_file: Path | None = None
    batch: int = 100
    connections: int = 2
    caps: Caps = field(default_factory=Caps)
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True)
class FleetTotals:
    """What became of a fleet's reports, those of earlier runs included."""

    task: str
    devices: int
    enrolled: int
    """In rounds; 0 in one-shot mode, where nobody enrols."""
    verdicts: dict[str, int]
    unanswered: int
    """Devices that were never asked, or have no verdict."""
    refused_lists: list[str]
    """Why devices did not answer a list (rounds)."""
    seconds: float
    refused: dict[str, int] = field(default_factory=dict)
    """How many devices may not answer, by public code: it is not their week, a budget is spent, a ticket is forged."""


class Fleet:
    """Run by simulated devices; it may be killed at any moment and started again on its state."""

    def __init__(self, plan: FleetPlan, held: HeldItems | HeldSets, population: str) -> None:
        if len(plan.tickets) < len(held):
            raise InvalidInput("tickets_too_few", devices=len(held), tickets=len(plan.tickets))
        self._plan = plan
        self._held = held
        private_folder(plan.state)
        self._ledgers = FleetLedger(plan.state / "fleet.sqlite")
        self._ledgers.claim("population", population)
        connections = [RetryingConnection(plan.url, plan.ca_file, plan.retry) for _ in range(plan.connections)]
        self._delivery = FleetDelivery(list(map(PartyClient, connections)), plan.batch)

    def close(self) -> None:
        """Close connections and ledgers."""
        self._delivery.close()
        self._ledgers.close()

    def run(self, progress: Callable[[FleetProgress], None] = lambda _: None) -> FleetTotals:
        """Answer the task with every device, as far as the party lets them; return what became of it."""
        started = time.monotonic()
        task = self._plan.task
        document = self._delivery.ask(lambda client: client.task(task))
        trusted = TrustedTask.of(document, task, self._plan.party, self._plan.verifier)
        items: Sequence[str] = ()
        if needs_list(trusted.task):
            document = self._published("list", lambda client: client.item_list(task))
            items = ItemList.from_document(document, trusted.task.item_list).items
        codes = self._codes(trusted.task, codec_of(trusted.task, items))
        place = trusted.task.campaign
        campaign = None
        if place is not None:
            campaign = trusted.campaign(self._published("campaign", lambda client: client.campaign(place.campaign)))
        devices = FleetDevices(
            trusted.task,
            codes,
            self._plan.tickets,
            self._ledgers,
            self._delivery,
            self._plan.caps,
            SystemEntropy(),
            campaign,
        )
        run = (OneShotRun if trusted.task.one_shot else RoundsRun)(trusted, devices, progress)
        run.run()
        verdicts = {verdict.value: count for verdict, count in self._ledgers.verdicts(task).items()}
        enrolled = sum(verdict.counts for verdict in self._ledgers.enrolments(task).values())
        answered = self._ledgers.answered(task)
        refused = Counter(code for index, code in self._ledgers.refused(task).items() if index not in answered)
        refused += run.refused_tickets
        unanswered = len(self._held) - sum(verdicts.values())
        seconds = round(time.monotonic() - started, 3)
        return FleetTotals(
            task.hex(), len(self._held), enrolled, verdicts, unanswered, run.refused_lists, seconds, dict(refused)
        )

    def _codes(self, task: DeviceTask, codec: ItemCodec) -> Sequence[int | None] | Sequence[OwnItems]:
        """Return what every device holds: a code, or its set; a user with one item is asked about it as about a set."""
        held = self._held
        steps = steps_of(task)
        if task.sets is not None:
            return (held.as_sets if isinstance(held, HeldItems) else held).codes(codec, steps, task.sets)
        if isinstance(held, HeldSets):
            raise InvalidInput("task_not_about_sets")
        return held.codes(codec, steps)

    def _published(self, what: str, ask: Callable[[PartyClient], bytes | None]) -> bytes:
        """Return a document that the task names, once the party has it; without it nobody answers."""
        task = self._plan.task
        while (document := self._delivery.ask(ask)) is None:
            offered = self._delivery.ask(lambda client: client.tasks())
            if not any(each.open for each in offered if each.digest == task):
                raise QuestionRefused(f"{what} of the task", "there while the task is open", "none")
            time.sleep(LIST_POLL_SECONDS)
        return document


LOOK_SECONDS = 0.2


def tickets_of(folder: Path, task: bytes) -> Path:
    """Return the file in a folder that has the tickets of a task."""
    return folder / f"{task.hex()}.txt"


def follow(url: str, ca_file: Path | None, tickets: Path, play: Callable[[bytes, Path], None]) -> None:
    """Run by simulated devices, until a signal ends it: play every open task that the folder has tickets for, once.

    A task that could not be played to its end is tried again while it is open.
    """
    client = PartyClient(RetryingConnection(url, ca_file))
    played = set[bytes]()
    while True:
        for offered in client.tasks():
            file = tickets_of(tickets, offered.digest)
            if offered.open and offered.digest not in played and file.exists():
                try:
                    play(offered.digest, file)
                    played.add(offered.digest)
                except InvalidInput:
                    raise
                except TreetopError as problem:
                    print(f"task {offered.digest.hex()}: {problem}", file=sys.stderr, flush=True)
        time.sleep(LOOK_SECONDS)
