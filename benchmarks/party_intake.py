"""What a report costs a party, with none stored and with five million, against a bare loop of the same server.

A real `treetop party` with SQLite on this machine's disk; the load generator is this process, so that all share the
cores. Acknowledged means durable. Limits are on CPU times of the serving process, as ratios to the bare loop or to each
other: reports a second depend on what else the machine does.
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

from benchmarks.bare_server import BareServer
from benchmarks.measuring import Measured, Row, cpu_seconds_of
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.task import DeviceTask
from treetop.federation.wire.uploads import encoded_upload

TITLE = "A party's intake"
LIMITS = """
CPU times of the serving process: a `treetop party` on loopback with SQLite, which acknowledges only what is on disk,
and uvicorn as it comes, which reads the same requests and answers at once ("a bare loop", `benchmarks/bare_server.py`).
Each is the least of five tries, taken in turns. Reports a second and the 99th percentile of the time to an answer are
wall times of the best try, with the load generator on the same two cores and whatever else the machine did; they carry
no verdict. Stored and new reports have tickets from the same range, in no particular order. The limits are what a first
run took on a machine with four times as much to do as it has cores, and about 40 % more.
"""
STORED, TRIES = 5_000_000, 5


@dataclass(frozen=True)
class Load:
    """What is sent: reports in a request, connections, reports in all; how many times a bare loop's CPU they may take.

    Of a batch, the bare loop only reads the bytes.
    """

    what: str
    batch: int
    connections: int
    reports: int
    times_bare: float
    times_empty: float
    """With five million stored, times with none."""


LOADS = (
    Load("batches of 100", 100, 8, 100_000, 100, 2.3),
    Load("one by one", 1, 64, 15_000, 8, 2.3),
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
    """What a server did with a load."""

    cpu_seconds: float
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


def taken(server: PartyProcess | BareServer, requests: list[bytes], load: Load) -> Taken:
    begin = cpu_seconds_of(server.pid)
    seconds, each = uvloop.run(sent(server.port, requests, load.connections))
    cpu = cpu_seconds_of(server.pid) - begin
    return Taken(cpu, load.reports / seconds, sorted(each)[len(each) * 99 // 100])


def measure() -> Iterator[Row]:
    of = current_task()
    with TemporaryDirectory() as name, BareServer() as bare:
        empty, full = (prepared(Path(name) / str(stored), of, stored) for stored in (0, STORED))
        yield starts(empty, full)
        fresh = random.Random(1).sample(range(1, 2 * STORED, 2), TRIES * sum(load.reports for load in LOADS))  # noqa: S311
        for load in LOADS:
            yield from compared(load, of, (bare, empty, full), fresh)
        empty.stop()
        full.stop()


def starts(empty: PartyProcess, full: PartyProcess) -> Row:
    """Start both in turns, and leave them running."""
    tries: list[tuple[float, float]] = []
    for number in range(TRIES):
        if number:
            empty.stop()
            full.stop()
        tries.append((empty.start(), full.start()))
    none, many = (min(seconds) for seconds in zip(*tries, strict=True))
    return Measured("start of a party with 5 M reports / with none, wall", many / none, 1.5, many, none)


def compared(
    load: Load, of: DeviceTask, servers: tuple[BareServer, PartyProcess, PartyProcess], fresh: list[int]
) -> Iterator[Row]:
    """Load all three in turns."""
    tries: list[list[Taken]] = []
    for _ in range(TRIES):
        serials, fresh[:] = fresh[: load.reports], fresh[load.reports :]
        requests = requests_of(of, serials, load.batch)
        tries.append([taken(server, requests, load) for server in servers])
    bare, none, many = (min(one.cpu_seconds for one in found) for found in zip(*tries, strict=True))
    best = [max(found, key=lambda one: one.per_second) for found in zip(*tries, strict=True)]
    told = [f"{one.per_second:,.0f} reports/s, p99 {one.p99 * 1000:,.0f} ms" for one in best]
    what = f"{load.what}, none stored ({told[1]}) / a bare loop ({told[0]})"
    yield Measured(what, none / bare, load.times_bare, none, bare)
    yield Measured(f"{load.what}, 5 M stored ({told[2]}) / none", many / none, load.times_empty, many, none)
