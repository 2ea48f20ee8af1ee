"""Many simulated users of one party, each with the real device code, a ledger and a ticket of its own."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.adapters.sqlite.fleet_ledger import FleetLedger
from treetop.adapters.system.entropy import SystemEntropy
from treetop.datasets.party_users import HeldItems
from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput
from treetop.federation.device.ledger import Caps
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.ports import Verifier
from treetop.services.device.party_client import PartyClient
from treetop.services.fleet.delivery import FleetDelivery
from treetop.services.fleet.devices import FleetDevices
from treetop.services.fleet.runs import FleetProgress, OneShotRun, RoundsRun


@dataclass(frozen=True)
class FleetPlan:
    """Who plays which devices, and for whom."""

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
    patience: RetryPolicy = field(default_factory=RetryPolicy)


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


class Fleet:
    """Run by simulated devices; it may be killed at any moment and started again on its state."""

    def __init__(self, plan: FleetPlan, held: HeldItems, population: str) -> None:
        if len(plan.tickets) < len(held):
            raise InvalidInput(f"{len(held):,} devices need a ticket each, found {len(plan.tickets):,} tickets")
        self._plan, self._held = plan, held
        plan.state.mkdir(parents=True, exist_ok=True)
        self._ledgers = FleetLedger(plan.state / "fleet.sqlite")
        self._ledgers.claim("population", population)
        connections = [RetryingConnection(plan.url, plan.ca_file, plan.patience) for _ in range(plan.connections)]
        self._delivery = FleetDelivery(list(map(PartyClient, connections)), plan.batch)

    def close(self) -> None:
        """Let go of connections and ledgers."""
        self._delivery.close()
        self._ledgers.close()

    def run(self, progress: Callable[[FleetProgress], None] = lambda _: None) -> FleetTotals:
        """Answer the task with every device, as far as the party lets them; return what became of it."""
        started, task = time.monotonic(), self._plan.task
        document = self._delivery.ask(lambda client: client.task(task))
        membership = TrustedTask.of(document, task, self._plan.party, self._plan.verifier)
        kind = OneShotRun if membership.task.one_shot else RoundsRun
        journey = kind(membership, self._crew(membership), progress)
        journey.run()
        return self._totals(journey.refused_lists, time.monotonic() - started)

    def _crew(self, membership: TrustedTask) -> FleetDevices:
        task, plan = membership.task, self._plan
        codes = self._held.codes(codec_named(task.encoding.name, task.bits, task.encoding.hash_key))
        return FleetDevices(task, codes, plan.tickets, self._ledgers, self._delivery, plan.caps, SystemEntropy())

    def _totals(self, refused_lists: list[str], seconds: float) -> FleetTotals:
        task, devices = self._plan.task, len(self._held)
        verdicts = {verdict.value: count for verdict, count in self._ledgers.verdicts(task).items()}
        enrolled = sum(verdict.counts for verdict in self._ledgers.enrolments(task).values())
        unanswered = devices - sum(verdicts.values())
        return FleetTotals(task.hex(), devices, enrolled, verdicts, unanswered, refused_lists, round(seconds, 3))
