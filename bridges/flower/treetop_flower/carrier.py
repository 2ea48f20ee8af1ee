"""Run at the server: takes calls from the gateway, sends them to the parties' nodes and brings the answers back.

Which node is a party's is what Flower's SuperLink says of the public key that the settings name; a node's own claim
counts for nothing. An answer is believed only from the node that was asked.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from treetop_flower.gateway import Exchange, Gateway
from treetop_flower.wire import Answer, Call

LOOK_SECONDS = 5.0
TURN_SECONDS, IDLE_TURN_SECONDS = 0.25, 0.1
STANDS_STILL_SECONDS = 30.0


@dataclass(frozen=True)
class Returned:
    """What came back for a message: an answer, or why there is none."""

    message: str
    node: int
    answer: Answer | None
    problem: str = ""


class Link(Protocol):
    """What the carrier needs of Flower."""

    def nodes(self) -> Mapping[bytes, int]:
        """Return the nodes that are connected, by public key."""
        ...

    def send(self, node: int, call: Call, seconds: float) -> str | None:
        """Hand over a message that lives so long; return its identifier, or None if it was not taken."""
        ...

    def returned(self, messages: Collection[str]) -> Sequence[Returned]:
        """Return what has come back for these messages; each is returned once."""
        ...


@dataclass(frozen=True)
class _Sent:
    exchange: Exchange
    node: int
    until: float


class Carrier:
    """One thread turns it for as long as the run lasts."""

    def __init__(
        self,
        gateway: Gateway,
        link: Link,
        keys: Mapping[str, bytes],
        message_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gateway, self._link, self._keys, self._seconds, self._clock = gateway, link, keys, message_seconds, clock
        self._sent: dict[str, _Sent] = {}
        self._nodes: dict[str, int] = {}
        self._looked = -LOOK_SECONDS
        self._turned = clock()

    def turn(self) -> float:
        """Do what is to be done now; return the seconds to wait before the next turn."""
        self._look()
        for exchange in self._gateway.take():
            self._send(exchange)
        self._bring_back()
        self._turned = self._clock()
        return TURN_SECONDS if self._sent else IDLE_TURN_SECONDS

    @property
    def stands_still(self) -> bool:
        """Return whether Flower has kept it waiting for long."""
        return self._clock() - self._turned > STANDS_STILL_SECONDS

    def _look(self) -> None:
        now = self._clock()
        if now >= self._looked + LOOK_SECONDS:
            nodes, self._looked = self._link.nodes(), now
            self._nodes = {party: nodes[key] for party, key in self._keys.items() if key in nodes}
            self._gateway.connected(frozenset(self._nodes))

    def _send(self, exchange: Exchange) -> None:
        node = self._nodes.get(exchange.party)
        message = None if node is None else self._link.send(node, exchange.call, self._seconds)
        if node is None or message is None:
            self._gateway.failed(exchange, "its node is not connected")
        else:
            self._sent[message] = _Sent(exchange, node, self._clock() + self._seconds)

    def _bring_back(self) -> None:
        for found in self._link.returned(tuple(self._sent)) if self._sent else ():
            sent = self._sent.pop(found.message, None)
            if sent is None:
                continue
            if found.answer is None:
                self._gateway.failed(sent.exchange, found.problem or "its node did not answer")
            elif found.node != sent.node:
                self._gateway.failed(sent.exchange, "another node answered")
            else:
                self._gateway.arrived(sent.exchange, found.answer)
        now = self._clock()
        for message, sent in list(self._sent.items()):
            if now > sent.until:
                del self._sent[message]
                self._gateway.failed(sent.exchange, "its node did not answer in time")
