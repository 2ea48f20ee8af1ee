"""What a report over TLS costs a party, against a bare loop of the same server: `python -m benchmarks.tls_intake`.

A real `treetop party` with SQLite on this machine's disk and an ECDSA certificate; the load generator is this process,
so that all share the cores. Acknowledged means durable.
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

from benchmarks.bare_server import BareServer
from benchmarks.measuring import Measured, Row, cpu_seconds_of
from benchmarks.party_intake import Connection, requests_of
from treetop.adapters.http.retrying_connection import Request, RetryingConnection

TITLE = "Reports over TLS"
LIMITS = """
CPU times of the serving process, each the least of five tries in turns with a bare loop of the same server that has the
same certificate; TLS 1.3, ECDSA P-256. "Kept" are 64 connections with one report in a request unless the line says a
hundred; "fresh" is a handshake for every report, 16 at a time, without resumption. Reports a second are wall times of
the best try, with client and party on the same two cores; they carry no verdict. The limits are what a first run took
on a machine with four times as much to do as it has cores, and about 40 % more.
"""
CONNECTIONS, FRESH_AT_ONCE, TRIES = 64, 16, 5


@dataclass(frozen=True)
class Load:
    """Reports in a request, reports in all, how many times a bare loop's CPU they may take."""

    what: str
    batch: int
    reports: int
    times_bare: float
    fresh: bool = False


LOADS = (
    Load("kept connections, one by one", 1, 10_000, 6),
    Load("kept connections, a hundred in a request", 100, 100_000, 28),
    Load("a fresh handshake for every report", 1, 1_000, 2.5, fresh=True),
)


@dataclass(frozen=True)
class Taken:
    """CPU time of the server, and wall time."""

    cpu_seconds: float
    seconds: float


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


def taken(server: SecureParty | BareServer, requests: list[bytes], load: Load, context: ssl.SSLContext) -> Taken:
    """Return what one try took."""
    begin = cpu_seconds_of(server.pid)
    seconds = uvloop.run((fresh if load.fresh else kept)(server.port, requests, context))
    return Taken(cpu_seconds_of(server.pid) - begin, seconds)


def measure() -> Iterator[Row]:
    """Yield a row for each way."""
    with tempfile.TemporaryDirectory() as place:
        party, of, serial = SecureParty(Path(place) / "party"), current_task(), 10**7
        context = ssl.create_default_context(cafile=str(party.ca))
        party.start()
        party.install(of, 1)
        with BareServer(party.folder) as bare:
            for load in LOADS:
                tries = []
                for _ in range(TRIES):
                    requests = requests_of(of, range(serial, serial + load.reports), load.batch)
                    tries.append([taken(server, requests, load, context) for server in (bare, party)])
                    serial += load.reports
                yield compared(load, tries)
        party.stop()


def compared(load: Load, tries: list[list[Taken]]) -> Row:
    bare, ours = (min(one.cpu_seconds for one in found) for found in zip(*tries, strict=True))
    rates = [load.reports / min(one.seconds for one in found) for found in zip(*tries, strict=True)]
    what = f"{load.what} ({rates[1]:,.0f} reports/s) / a bare loop ({rates[0]:,.0f})"
    return Measured(what, ours / bare, load.times_bare, ours, bare)


if __name__ == "__main__":
    for row in measure():
        print(row)
