"""How many reports a second a party takes over TLS: `python -m benchmarks.tls_intake`.

A real `treetop party` with SQLite on this machine's disk and an ECDSA certificate; the load generator is this process,
so that both share the cores. Acknowledged means durable. Every figure is held against what is promised.
"""

import asyncio
import ssl
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop
from tests.support.certificates import TLS_TABLE, Authority
from tests.support.party_processes import PartyProcess, current_task

from benchmarks.measuring import Measured, Row
from benchmarks.party_intake import Connection, requests_of
from treetop.adapters.http.retrying_connection import Request, RetryingConnection
from treetop.federation.task import DeviceTask

TITLE = "Reports over TLS"
LIMITS = """
Wall times; TLS 1.3, ECDSA P-256, client and party on the same two cores. "Kept" are 64 connections with one report in a
request unless the line says a hundred; "fresh" is a handshake for every report, 16 at a time, without resumption.
"""
CONNECTIONS, FRESH_AT_ONCE, TRIES = 64, 16, 3


@dataclass(frozen=True)
class Load:
    """Reports in a request, reports in all, reports a second that are promised."""

    what: str
    batch: int
    reports: int
    promised: int
    fresh: bool = False


LOADS = (
    Load("kept connections, one by one", 1, 20_000, 6_000),
    Load("kept connections, a hundred in a request", 100, 100_000, 6_000),
    Load("a fresh handshake for every report", 1, 2_000, 300, fresh=True),
)


class SecureParty(PartyProcess):
    """A party with a certificate that a test's authority has signed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        authority = Authority()
        authority.issue(folder)
        self.ca = authority.save(folder / "ca.pem")
        self.settings.write_text(self.settings.read_text() + TLS_TABLE)

    def ask(self, method: str, path: str, body: bytes | None = None, key: str = "") -> tuple[int, bytes]:
        connection = RetryingConnection(f"https://localhost:{self.port}", self.ca)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} if key else {}
        reply = connection.ask(Request(method, path, body, headers))
        connection.close()
        return reply.status, reply.body


async def kept(port: int, requests: list[bytes], context: ssl.SSLContext) -> float:
    """Return the seconds that all requests take over connections that are opened before."""
    loop, waiting, ended = asyncio.get_running_loop(), iter(requests), list[float]()
    begin = time.perf_counter()
    opened = [
        await loop.create_connection(
            lambda: Connection(waiting, ended), "127.0.0.1", port, ssl=context, server_hostname="localhost"
        )
        for _ in range(CONNECTIONS)
    ]
    await asyncio.gather(*(protocol.ended for _, protocol in opened))
    return time.perf_counter() - begin


async def fresh(port: int, requests: list[bytes], context: ssl.SSLContext) -> float:
    """Return the seconds that all requests take with a handshake for each."""
    loop, waiting = asyncio.get_running_loop(), iter(requests)

    async def one_after_the_other() -> None:
        for request in waiting:
            made = partial(Connection, iter([request]), list[float]())
            _, protocol = await loop.create_connection(
                made, "127.0.0.1", port, ssl=context, server_hostname="localhost"
            )
            await protocol.ended

    begin = time.perf_counter()
    await asyncio.gather(*(one_after_the_other() for _ in range(FRESH_AT_ONCE)))
    return time.perf_counter() - begin


def taken(party: SecureParty, of: DeviceTask, load: Load, serial: int) -> float:
    """Return the seconds of one try."""
    requests = requests_of(of, range(serial, serial + load.reports), load.batch)
    context = ssl.create_default_context(cafile=str(party.ca))
    return uvloop.run((fresh if load.fresh else kept)(party.port, requests, context))


def measure() -> Iterator[Row]:
    """Yield a row for each way."""
    with tempfile.TemporaryDirectory() as place:
        party, of, serial = SecureParty(Path(place) / "party"), current_task(), 10**7
        party.start()
        party.install(of, 1)
        for load in LOADS:
            tries = []
            for _ in range(TRIES):
                tries.append(taken(party, of, load, serial))
                serial += load.reports
            seconds, allowed = min(tries), load.reports / load.promised
            what = f"{load.what}: {load.reports / seconds:,.0f} reports/s / {load.promised:,} promised"
            yield Measured(what, allowed / seconds, None, seconds, allowed, 1)
        party.stop()


if __name__ == "__main__":
    for row in measure():
        print(row)
