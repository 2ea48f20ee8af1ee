"""How many reports a second a party takes: `python -m benchmarks.party_intake [--stored N]`.

A real `treetop party` with SQLite on this machine's disk; the load generator is this process, so that both share the
cores. Acknowledged means durable. Latencies are from sending a request to its answer, with all connections busy.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvloop
from tests.parties import honest_entry
from tests.party_processes import PartyProcess, current_task

from treetop.adapters.store_choice import open_stores
from treetop.federation.admission import HEAD_BYTES
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.task import DeviceTask
from treetop.federation.uploads import encoded_upload


@dataclass(frozen=True)
class Load:
    """What is sent: reports in a request, connections, seconds."""

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


def fill(path: Path, of: DeviceTask, serials: range) -> None:
    """Put reports into a store directly, as many as a party has after some days."""
    store, _ = open_stores(str(path))
    for start in range(serials.start, serials.stop, 20_000):
        store.submit([_stored(of, serial) for serial in range(start, min(start + 20_000, serials.stop))])
    store.close()


def _stored(of: DeviceTask, serial: int) -> AdmittedReport:
    entry = honest_entry(of, serial)
    return AdmittedReport(of.digest, serial, of.groups[serial % len(of.groups)].group, entry.batch[HEAD_BYTES:])


def measure(folder: Path, stored: int) -> None:
    """Print one line for each load."""
    party, of = PartyProcess(folder), current_task()
    party.start()
    party.install(of, 1)
    party.stop()
    begin = time.perf_counter()
    fill(folder / "party.db", of, range(10**6, 10**6 + stored))
    if stored:
        print(f"{stored:,} reports stored in {time.perf_counter() - begin:.0f} s")
    print(f"listening after {party.start():.2f} s")
    serial = 10**7
    for load in LOADS:
        requests = requests_of(of, range(serial, serial + load.reports), load.batch)
        serial += load.reports
        seconds, each = uvloop.run(sent(party.port, requests, load.connections))
        each.sort()
        print(
            f"{load.what} at {stored:,} stored: {load.reports / seconds:,.0f} reports/s (goal {load.goal:,}), "
            f"p50 {1000 * each[len(each) // 2]:.0f} ms, p99 {1000 * each[len(each) * 99 // 100]:.0f} ms"
        )
    print(f"memory {party.memory >> 20} MiB; ended with {party.stop()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stored", type=int, default=0)
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place) / "party", parser.parse_args().stored)
