"""Run at the server: calls that wait for a party's answer, and answers that wait for the server.

A round trip through Flower takes seconds, and the server asks again and again. The same call is the same exchange:
however often it is repeated, one message is under way, and its answer is given to whoever asks next. Nothing here
outlasts the process: what is lost with it the server asks for again.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from statistics import median
from threading import Condition

from treetop_flower.wire import Answer, Call

MAX_EXCHANGES = 1_000
MAX_KEPT_BYTES = 1 << 29
"""Of answers that wait for the server, and of calls that wait for a party: so much each."""
HEARD_SECONDS = 60.0
"""A party whose node answered within this time is said to be at work while the next answer is under way."""
AT_WORK = 202
FIRST_PAUSE = 1.0
_TIMED = 200


@dataclass(frozen=True)
class Patience:
    """How answers to an action are given, in seconds."""

    hold: float
    """How long a request waits for its answer: less than the server's own limit, 10 for messages and 3 for a look."""
    fresh: float
    """How long an answer is given again without asking the party."""
    stale: float
    """How long an answer is still given while the party is asked again."""


HANDED_OVER = Patience(hold=8.0, fresh=60.0, stale=60.0)
WAITED_FOR = Patience(hold=0.0, fresh=300.0, stale=HEARD_SECONDS)
LOOKED_AT = Patience(hold=2.5, fresh=5.0, stale=60.0)
_PATIENCE = {"outcome": WAITED_FOR, "progress": LOOKED_AT, "standing": LOOKED_AT}


@dataclass
class Exchange:
    """A call to a party, and what became of it."""

    party: str
    call: Call
    asked: float
    """When it was last handed to Flower, or is to be."""
    under_way: bool = True
    given_out: bool = False
    """Whether the carrier has taken it."""
    answer: Answer | None = None
    answered: float = 0.0
    ended: float = 0.0
    """When the last message of it got its answer, or failed."""
    pause: float = FIRST_PAUSE
    failure: str = ""

    @property
    def patience(self) -> Patience:
        """Return how answers to its action are given."""
        return _PATIENCE.get(self.call.action, HANDED_OVER)

    def ends(self, failure: str) -> None:
        """Note that no message of it is under way; whoever asks again brings the body again."""
        self.under_way, self.failure, self.call = False, failure, replace(self.call, body=b"")

    def fresh_until(self) -> float:
        """Return when the party must be asked again."""
        if self.answer is None or self.answer.status >= 300:
            return 0.0
        at_work = self.call.action == "outcome" and self.answer.status == AT_WORK
        return self.answered + (self.pause if at_work else self.patience.fresh)


class NoAnswer(Exception):
    """There is no answer yet: the server may ask again."""


@dataclass
class Times:
    """How long round trips took, for those who want to know."""

    carried: int = 0
    last: deque[float] = field(default_factory=lambda: deque(maxlen=_TIMED))

    def add(self, seconds: float) -> None:
        """Note one."""
        self.carried += 1
        self.last.append(seconds)

    def shown(self) -> dict[str, float]:
        """Return how many there were, and of the last ones the middle and the longest, in seconds."""
        if not self.last:
            return {"carried": 0}
        return {"carried": self.carried, "median": round(median(self.last), 2), "longest": round(max(self.last), 2)}


class Gateway:
    """All exchanges; any thread may ask, one carries."""

    def __init__(
        self, parties: frozenset[str], longest_pause: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._parties, self._longest_pause, self._clock = parties, longest_pause, clock
        self._changed = Condition()
        self._exchanges: dict[tuple[str, ...], Exchange] = {}
        self._heard: dict[str, float] = {}
        self._connected: frozenset[str] = frozenset()
        self.times = Times()

    def knows(self, party: str) -> bool:
        """Return whether the settings name a party."""
        return party in self._parties

    def ask(self, party: str, call: Call) -> Answer:
        """Run by the server's request: return the party's answer, or raise `NoAnswer`."""
        with self._changed:
            exchange = self._exchange(party, call)
            end = self._clock() + exchange.patience.hold
            while True:
                found = self._given(exchange)
                if found is not None:
                    return found
                if exchange.failure or not exchange.under_way:
                    raise NoAnswer(exchange.failure or "it is asked again")
                if party not in self._connected:
                    raise NoAnswer("its node is not connected")
                left = end - self._clock()
                if left <= 0:
                    raise NoAnswer("its answer is under way")
                self._changed.wait(left)

    def _exchange(self, party: str, call: Call) -> Exchange:
        """Return the exchange that a call is, with a message under way if the last answer is too old."""
        now = self._clock()
        self._forget(now)
        name = (party, call.action, call.task, str(call.number), _digest(call.key.encode()), _digest(call.body))
        found = self._exchanges.get(name)
        if found is None:
            self._check_room(len(self._exchanges) + 1, call)
            found = self._exchanges[name] = Exchange(party, call, now)
        elif not found.under_way and (found.failure or now >= found.fresh_until()):
            self._check_room(len(self._exchanges), call)
            at_work = found.answer is not None and found.answer.status == AT_WORK
            found.pause = min(2 * found.pause, self._longest_pause) if at_work else FIRST_PAUSE
            found.call, found.asked, found.under_way, found.given_out, found.failure = call, now, True, False, ""
        return found

    def _check_room(self, exchanges: int, call: Call) -> None:
        kept = sum(len(each.call.body) for each in self._exchanges.values())
        if exchanges > MAX_EXCHANGES or kept + len(call.body) > MAX_KEPT_BYTES:
            raise NoAnswer("too many calls are under way")

    def _given(self, exchange: Exchange) -> Answer | None:
        """Return what may be said of an exchange now, if anything."""
        now, answer = self._clock(), exchange.answer
        if answer is not None and answer.status >= 300:
            exchange.answer = None  # told once: whoever asks again, asks the party again
            return answer
        if answer is not None and now < max(exchange.fresh_until(), exchange.answered + exchange.patience.stale):
            return answer
        heard = now - self._heard.get(exchange.party, -HEARD_SECONDS) < HEARD_SECONDS
        return Answer(AT_WORK) if exchange.call.action == "outcome" and heard and not exchange.failure else None

    def _forget(self, now: float) -> None:
        """Drop answers that nobody asks for, and the oldest where they take too much memory."""
        kept, size = {}, 0
        for name, exchange in sorted(self._exchanges.items(), key=lambda each: -each[1].ended):
            size += len(exchange.answer.body) if exchange.answer else 0
            idle = not exchange.under_way and now > exchange.ended + 2 * exchange.patience.fresh
            if exchange.under_way or not (idle or size > MAX_KEPT_BYTES):
                kept[name] = exchange
        self._exchanges = kept

    def take(self) -> list[Exchange]:
        """Run by the carrier: return the calls that are to be sent; each is returned once."""
        with self._changed:
            new = [each for each in self._exchanges.values() if each.under_way and not each.given_out]
            for exchange in new:
                exchange.given_out = True
            return sorted(new, key=lambda each: each.asked)

    def arrived(self, exchange: Exchange, answer: Answer) -> None:
        """Run by the carrier: a party answered."""
        with self._changed:
            now = self._clock()
            exchange.answer, exchange.answered, exchange.ended = answer, now, now
            exchange.ends("")
            self._heard[exchange.party] = now
            self.times.add(now - exchange.asked)
            self._changed.notify_all()

    def failed(self, exchange: Exchange, reason: str) -> None:
        """Run by the carrier: a message got no answer; the next call sends another."""
        with self._changed:
            exchange.ended = self._clock()
            exchange.ends(reason)
            self._changed.notify_all()

    def connected(self, parties: frozenset[str]) -> None:
        """Run by the carrier: these parties' nodes are connected."""
        with self._changed:
            self._connected = parties
            self._changed.notify_all()

    @property
    def now_connected(self) -> frozenset[str]:
        """Return the parties whose nodes were connected when the carrier last looked."""
        return self._connected


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
