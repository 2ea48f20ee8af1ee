"""Whole federations in one process, for tests to watch and to break."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha512
from typing import Any

import numpy as np
from tests.support.clocks import HandClock
from tests.support.fixed_entropy import FixedEntropy
from tests.support.journals import ScriptedJournal
from tests.support.orders import query_order

from treetop.adapters.memory.ports import MemoryChannel
from treetop.adapters.memory.report_collection import MemoryReportCollection
from treetop.encoding.device_items import device_codes
from treetop.federation.party.query import PartyQuery
from treetop.federation.server.party_poller import AskAll, MissingPolicy
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.server.query import ServerQuery
from treetop.federation.service_ports import Journal, ReportCollection
from treetop.federation.task import DeviceTask, LeastReports
from treetop.federation.task_codec import codec_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import checked_campaign, checked_task
from treetop.privacy.randomness import Entropy

Codes = Mapping[str, Sequence[int | None]]


class FixedSigner:
    """A signature that everybody could make: enough where nobody forges."""

    def sign(self, message: bytes) -> bytes:
        return sha512(message).digest()

    def verifies(self, message: bytes, signature: bytes) -> bool:
        return signature == sha512(message).digest()


class InMemoryParty:
    """A party whose devices outlive its crashes, as a store does."""

    def __init__(self, name: str, codes: Sequence[int | None], entropy: FixedEntropy, journal: Journal) -> None:
        self.name, self.codes, self.entropy, self.journal = name, list(codes), entropy, journal
        self.collection: dict[bytes, ReportCollection] = {}
        self.queries: dict[bytes, PartyQuery] = {}
        self.tasks: dict[bytes, DeviceTask] = {}
        self.lists: dict[str, bytes] = {}
        self.dressed: Callable[[ReportCollection], ReportCollection] = lambda work: work

    def install(self, document: bytes) -> None:
        task = checked_task(document, FixedSigner())
        self.tasks[task.digest] = task
        if task.digest not in self.collection:
            self.collection[task.digest] = self.dressed(
                MemoryReportCollection(task, self.name, self.codes, self.entropy, self.lists)
            )

    def give_list(self, task: bytes, document: bytes) -> None:
        digest = self.tasks[task].item_list
        ItemList.from_document(document, digest)
        self.lists[digest] = document

    def give_campaign(self, task: bytes, document: bytes) -> None:
        checked_campaign(document, FixedSigner()).check_task(self.tasks[task])

    def query(self, task: bytes) -> PartyQuery:
        if task not in self.queries:
            self.queries[task] = PartyQuery(self.tasks[task], self.name, self.journal, self.collection[task])
        return self.queries[task]

    def restart(self) -> None:
        self.queries.clear()


@dataclass
class Federation:
    """A server and its parties; every call of `query` is a server process of its own."""

    order: QueryOrder
    parties: dict[str, InMemoryParty]
    journal: ScriptedJournal = field(default_factory=ScriptedJournal)
    clock: HandClock = field(default_factory=lambda: HandClock(0))
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    seed: int = 0
    channels: dict[str, Any] = field(default_factory=dict)
    entropy: Entropy | None = None
    ask_all: AskAll = map

    @classmethod
    def of(cls, order: QueryOrder, codes: Codes, seed: int = 1, **more: Any) -> "Federation":
        parties = {
            name: InMemoryParty(name, codes[name], FixedEntropy(1000 * seed + place), ScriptedJournal())
            for place, name in enumerate(order.parties)
        }
        channels = {name: MemoryChannel(name, party) for name, party in parties.items()}
        return cls(order, parties, seed=seed, channels=channels, **more)

    def query(self) -> ServerQuery:
        return ServerQuery(
            self.order, FixedSigner(), self.journal, self.channels,
            clock=self.clock, entropy=self.entropy or FixedEntropy(self.seed), policy=self.policy,
            ask_all=self.ask_all,
        )  # fmt: skip

    @property
    def task(self) -> DeviceTask:
        return planned_task(self.order)


FEW = LeastReports(1, 1)


def order(mechanism: str, mode: str, parties: Sequence[str], **more: Any) -> QueryOrder:
    """A query over eight bits in four levels, that takes any number of reports."""
    own = {"canopy": {"step_bits": 4}, "panorama": {}}.get(mechanism, {"levels": 4})
    settings = {"bits": 8, **own, **more.pop("settings", {})}
    wanted = {"epsilon": "8", "k": 3, "encoding": "ids", "least": FEW, **more}
    return query_order("fruit", tuple(parties), mechanism=mechanism, mode=mode, settings=settings, **wanted)


Holders = Mapping[str, Mapping[str, int]]


def naming(holders: Holders, seed: int = 1, **more: Any) -> Federation:
    """A federation whose devices report names: who holds which item, and what is known of the items."""
    wanted = {"settings": {"bits": 10, "text_chunks": 2}, "epsilon": "4", "k": 3, "least": FEW, **more}
    asked = query_order("fruit", tuple(holders), **wanted)
    codec = codec_of(planned_task(asked), asked.listed.items if asked.listed else ())
    codes = {
        name: np.repeat(np.array(device_codes(codec, list(held)), dtype=object), list(held.values())).tolist()
        for name, held in holders.items()
    }
    return Federation.of(asked, codes, seed)


def crowd(sizes: Mapping[str, int], favourites: Sequence[int] = (200, 77, 9), seed: int = 5) -> dict[str, list[int]]:
    """Nine of ten users hold a favourite, the first one most often; the others anything."""
    random = np.random.default_rng(seed)
    shares = np.array([0.45, 0.27, 0.18][: len(favourites)])
    return {
        name: [
            *np.repeat(favourites, np.round(shares * size).astype(int)).tolist(),
            *random.integers(256, size=size - int(np.round(shares * size).sum())).tolist(),
        ]
        for name, size in sizes.items()
    }


def items(content: Mapping[str, Any]) -> list[str]:
    return [row["item"] for row in content["items"]]
