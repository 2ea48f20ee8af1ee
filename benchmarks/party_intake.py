"""How many reports a second a party takes, with none stored and with five million.

A real `treetop party` with SQLite on this machine's disk; the load generator is this process, so that both share the
cores. Acknowledged means durable. Latencies are from sending a request to its answer, with all connections busy.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import uvloop
from tests.support.parties import honest_body, honest_entry
from tests.support.party_processes import PartyProcess, current_task

from benchmarks.measuring import Measured, Row
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import encoded_upload

TITLE = "A party's intake"
LIMITS = """A `treetop party` on loopback with SQLite, which acknowledges only what is on disk; the load generator
shares the two cores. Stored and new reports have tickets from the same range, in no particular order. Each is the best
of three tries, taken in turns."""
STORED, TRIES = 5_000_000, 3
LATENCY_SECONDS = 0.25


@dataclass(frozen=True)
class Load:
    """What is sent: reports in a request, connections, reports in all, and how many a second must be taken."""

    what: str
    batch: int
    connections: int
    reports: int
    goal: int


LOADS = (
    Load("batches of 100", 100, 8, 200_000, 20_000),
    Load("one by one", 1, 64, 30_000, 4_000),
)


class Connection(asyncio.Protocol):
    """Sends the next request when the last one was answered."""

    def __init__(self, requests: Iterator[bytes], seconds: list[float]) -> None:
        self._requests, self._seconds = requests, seconds
        self.ended = asyncio.get_running_loop().create_future()
        self._sent, self._answer = 0.0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, found, body = self._answer.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        assert head.startswith(b"HTTP/1.1 200"), self._answer
        assert b'"accepted"' in body, body[:200]
        self._seconds.append(time.perf_counter() - self._sent)
        self._answer = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the party hung up"))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.ended.set_result(None)
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)


def requests_of(of: DeviceTask, serials: Sequence[int], batch: int) -> list[bytes]:
    """Return whole HTTP requests, made before the clock starts."""
    made = []
    for start in range(0, len(serials), batch):
        body = encoded_upload(honest_entry(of, serial) for serial in serials[start : start + batch])
        head = f"POST /v1/tasks/{of.digest.hex()}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        made.append(head.encode() + body)
    return made


async def sent(port: int, requests: list[bytes], connections: int) -> tuple[float, list[float]]:
    """Return the seconds in all, and those of every request."""
    seconds: list[float] = []
    waiting, begin = iter(requests), time.perf_counter()
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(lambda: Connection(waiting, seconds), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(protocol.ended for _, protocol in opened))
    return time.perf_counter() - begin, seconds


@dataclass(frozen=True)
class Taken:
    """What a party did with a load."""

    per_second: float
    p99: float


def fill(path: Path, of: DeviceTask, serials: range) -> None:
    """Put reports into a store directly, as many as a party has after some days."""
    store, _ = open_stores(str(path))
    for start in range(0, len(serials), 20_000):
        store.submit([_stored(of, serial) for serial in serials[start : start + 20_000]])
    store.close()


def _stored(of: DeviceTask, serial: int) -> AdmittedReport:
    group = of.groups[serial % len(of.groups)].group
    face = of.unlisted_face
    return AdmittedReport(of.digest, serial, group, face.encode(honest_body(serial, face.slots)))


def prepared(folder: Path, of: DeviceTask, stored: int) -> PartyProcess:
    """Return a party that has every other ticket's report already, and does not run yet."""
    party = PartyProcess(folder)
    party.start()
    party.install(of, 1)
    party.stop()
    fill(folder / "party.db", of, range(0, 2 * stored, 2))
    return party


def taken(party: PartyProcess, requests: list[bytes], load: Load) -> Taken:
    seconds, each = uvloop.run(sent(party.port, requests, load.connections))
    return Taken(load.reports / seconds, sorted(each)[len(each) * 99 // 100])


def measure() -> Iterator[Row]:
    of = current_task()
    with TemporaryDirectory() as name:
        empty, full = (prepared(Path(name) / str(stored), of, stored) for stored in (0, STORED))
        begin = full.start()
        yield Measured("start of a party with 5 M reports / 2 s", begin / 2, 1, begin, 2)
        empty.start()
        fresh = random.Random(1).sample(range(1, 2 * STORED, 2), TRIES * sum(load.reports for load in LOADS))  # noqa: S311
        for load in LOADS:
            yield from compared(load, of, empty, full, fresh)
        empty.stop()
        full.stop()


def compared(load: Load, of: DeviceTask, empty: PartyProcess, full: PartyProcess, fresh: list[int]) -> Iterator[Row]:
    """Load both parties in turns, so that a slow moment of the machine hits both."""
    tries: list[tuple[Taken, Taken]] = []
    for _ in range(TRIES):
        serials, fresh[:] = fresh[: load.reports], fresh[load.reports :]
        requests = requests_of(of, serials, load.batch)
        tries.append((taken(empty, requests, load), taken(full, requests, load)))
    none, many = (max(found, key=lambda one: one.per_second) for found in zip(*tries, strict=True))
    yield _rate(load, none, "none stored")
    yield _rate(load, many, "5 M stored")
    yield Measured(
        f"{load.what}: reports/s with 5 M stored / with none", many.per_second / none.per_second, None, 0, 0, 0.7
    )
    for some, stored in ((none, "none stored"), (many, "5 M stored")):
        what = f"{load.what}, {stored}: p99 / 250 ms"
        yield Measured(what, some.p99 / LATENCY_SECONDS, 1, some.p99, LATENCY_SECONDS)


def _rate(load: Load, found: Taken, stored: str) -> Row:
    what = f"{load.what}, {stored}: reports/s ({found.per_second:,.0f}) / {load.goal:,}"
    return Measured(what, found.per_second / load.goal, None, 0, 0, at_least=1)
