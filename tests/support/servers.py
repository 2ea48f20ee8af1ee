"""Servers for tests: queries over parties in memory, everything around it, keys to look for afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from tests.support.clocks import NOW
from tests.support.federations import InMemoryParty, crowd
from tests.support.fixed_entropy import FixedEntropy
from tests.support.journals import ScriptedJournal
from tests.support.parties import SIGNING

from treetop.adapters.http.endpoint_settings import AccessKey, AccessKeys, Address, ServiceLimits
from treetop.adapters.memory.ports import MemoryChannel
from treetop.adapters.memory.report_collection import MemoryReportCollection
from treetop.adapters.store_choice import StoreLocation
from treetop.adapters.system.host import SystemClock
from treetop.adapters.system.key_files import PinnedKeys
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import PartyUnreachable
from treetop.federation.service_ports import Channel, Journal, ServiceClock
from treetop.federation.wire.signed_documents import checked_campaign, checked_task
from treetop.services.server.app import ServerContext
from treetop.services.server.campaign_manager import CampaignManager
from treetop.services.server.query_manager import QueryManager
from treetop.services.server.schemas import CampaignWanted, OrderWanted
from treetop.services.server.settings import KnownParty, ServerSettings
from treetop.toml_files import Secret

ADMIN_KEY, PARTY_KEY = "canary-admin-key-0123456789abcdef", "canary-party-key-0123456789abcdef"
METRICS_KEY = "canary-metrics-key-0123456789abcdef"
PARTY_URL = "https://canary-address.example:8443"
SIZES = {"north": 900, "south": 600}
ORDER: dict[str, Any] = {
    "name": "fruit", "k": 3, "epsilon": "8", "mechanism": "canopy", "encoding": "ids",
    "settings": {"bits": "8", "step_bits": "4"}, "least": {"estimate": 1, "validation": 1},
}  # fmt: skip


class Signed(InMemoryParty):
    """A party that checks real signatures."""

    def install(self, document: bytes) -> None:
        task = checked_task(document, PinnedKeys([SIGNING.public]))
        self.tasks[task.digest] = task
        devices = MemoryReportCollection(task, self.name, self.codes, self.entropy, self.lists)
        self.collection.setdefault(task.digest, devices)

    def give_campaign(self, task: bytes, document: bytes) -> None:
        checked_campaign(document, PinnedKeys([SIGNING.public])).check_task(self.tasks[task])


class Away:
    """A party that does not answer until it is told to."""

    def __init__(self, behind: Channel) -> None:
        self._behind, self.away = behind, True

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if self.away:
            raise PartyUnreachable("north", "nobody listens")
        found: Callable[..., Any] = getattr(self._behind, name)
        return found


def channels(sizes: Mapping[str, int] = SIZES) -> dict[str, Any]:
    codes = crowd(sizes)
    made = {name: Signed(name, codes[name], FixedEntropy(place), ScriptedJournal()) for place, name in enumerate(sizes)}
    return {name: MemoryChannel(name, party) for name, party in made.items()}


def wanted(**changes: Any) -> OrderWanted:
    """Return the order of these tests, with changes."""
    return OrderWanted.model_validate({**ORDER, **changes})


CAMPAIGN: dict[str, Any] = {
    **ORDER, "epsilon": "4", "mechanism": None, "encoding": None, "starts": NOW,
    "settings": {"bits": "8", "text_chunks": "1"},
}  # fmt: skip


def wanted_campaign(**changes: Any) -> CampaignWanted:
    """Return the campaign of these tests, with changes."""
    return CampaignWanted.model_validate({**CAMPAIGN, **changes})


def manager_over(
    journal: Journal,
    of: dict[str, Any],
    log: StructuredLog | None = None,
    expected: dict[str, int] | None = None,
    clock: ServiceClock | None = None,
) -> QueryManager:
    openers = {name: (lambda _most, found=channel: found) for name, channel in of.items()}
    return QueryManager(
        journal, SIGNING, openers, clock=clock or SystemClock(), entropy=FixedEntropy(9),
        log=log or StructuredLog(StringIO()), expected=expected,
    )  # fmt: skip


def server_settings(*more: AccessKey) -> ServerSettings:
    known = tuple(KnownParty(name, PARTY_URL, Secret(PARTY_KEY.encode())) for name in SIZES)
    keys = (AccessKey(Secret(ADMIN_KEY.encode())), *more)
    metrics = (AccessKey(Secret(METRICS_KEY.encode())),)
    return ServerSettings(
        Address("127.0.0.1", 0), Path("key"), keys, known, StoreLocation("journal"), metrics_access=metrics
    )


@dataclass
class HostedServer:
    """A server in memory with everything around it."""

    channels: dict[str, Any] = field(default_factory=channels)
    journal: ScriptedJournal = field(default_factory=ScriptedJournal)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    settings: ServerSettings = field(default_factory=server_settings)
    log: StringIO = field(default_factory=StringIO)
    clock: ServiceClock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        log = StructuredLog(self.log)
        self.queries = manager_over(self.journal, self.channels, log, clock=self.clock)
        self.campaigns = CampaignManager(self.journal, SIGNING, self.queries, clock=self.clock, log=log)
        self.keys = AccessKeys(self.settings, SystemClock().now)
        self.context = ServerContext(self.queries, self.campaigns, SIGNING.public, self.keys, log, self.limits)
