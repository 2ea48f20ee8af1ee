"""What one report weighs: on the wire of a device that speaks TLS, in a store while a task is open, and afterwards.

`python -m benchmarks.report_weight`. Bytes do not depend on what else the machine does; closing is CPU time.
"""

import os
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time

import psycopg
from tests.support.databases import PostgresServer
from tests.support.parties import honest_entry
from tests.support.party_processes import current_task

from benchmarks.measuring import Failed, Measured, Row
from benchmarks.tls_intake import SecureParty
from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.report_files.collected import CollectedReports
from treetop.adapters.report_files.locations import Location
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope
from treetop.oracles.walsh import WalshHashing
from treetop.services.device.party_client import PartyClient
from treetop.trie.user_groups import Group

TITLE = "What a report weighs"
LIMITS = """
Walsh reports of 5 bytes; the ratio is to these. In a store, tickets come in random order, as devices do; "open" is
while the task is open, "closed" after the reports have moved to their file and the store remembers the tickets alone.
SQLite gives the space of bodies back to itself, so that its file keeps its size: what is counted are the pages in use.
PostgreSQL's are tables and indexes after a vacuum, without its log. On the wire is a device that asks for the task and
sends one report over one TLS 1.3 connection, all bytes of the connection counted but for the heads of packets; a page
in a browser sends more headers. Closing is sorting the reports into their file, checking it and forgetting the bodies.
"""
REPORTS, BODY, SLOTS = 100_000, 5, 32
TASK, GROUP = bytes(32), Group(1)
ENVELOPE = Envelope(TASK, GROUP, NO_DOMAIN, WalshHashing(), SLOTS)


@dataclass(frozen=True)
class Weighed:
    """Bytes of a report, and the seconds that closing took."""

    opened: float
    closed: float
    file: float
    closing_seconds: float


def weighed(where: str, folder: Path, size: Callable[[], int]) -> Weighed:
    """Fill a store, look at its size, close the group, and look again."""
    store, _ = open_stores(where)
    store.add_task(TASK, b"")
    draw = Random(1)  # noqa: S311
    empty = size()
    serials = draw.sample(range(1 << 23), REPORTS)
    for start in range(0, REPORTS, 1_000):
        some = serials[start : start + 1_000]
        store.submit([
            AdmittedReport(TASK, serial, GROUP, draw.randbytes(4) + bytes([draw.randrange(SLOTS)])) for serial in some
        ])  # fmt: skip
    opened = size() - empty
    place: Location = folder / "reports"
    begin = process_time()
    store.close_group(TASK, GROUP)
    CollectedReports(store, place).unlink(ENVELOPE)
    seconds = process_time() - begin
    (file,) = (folder / "reports").iterdir()
    closed = size() - empty
    store.close()
    return Weighed(opened / REPORTS, closed / REPORTS, file.stat().st_size / REPORTS, seconds / REPORTS)


def sqlite_bytes(path: Path) -> int:
    """Return the bytes of the pages in use, those in the log that were not moved yet included."""
    with sqlite3.connect(path) as connection:
        pages, free, page = (
            connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * page)


def postgres_bytes(address: str) -> int:
    """Return the bytes of all tables and indexes, after a vacuum."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        found = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        ).fetchone()
    return int(found[0]) if found else 0


class CountingProxy:
    """Carries one connection, and counts its bytes both ways."""

    def __init__(self, port: int) -> None:
        self._port, self.up, self.down = port, 0, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def _carry(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            back = threading.Thread(target=self._pour, args=(server, client, False), daemon=True)
            back.start()
            self._pour(client, server, True)
            server.shutdown(socket.SHUT_WR)
            back.join(10)

    def _pour(self, source: socket.socket, target: socket.socket, up: bool) -> None:
        while data := source.recv(1 << 16):
            if up:
                self.up += len(data)
            else:
                self.down += len(data)
            target.sendall(data)

    def ended(self) -> tuple[int, int]:
        """Return the bytes to the party and from it, once the device has hung up."""
        self._thread.join(20)
        self._listener.close()
        return self.up, self.down


def on_the_wire(folder: Path) -> tuple[int, int]:
    """Return the bytes that a device sends and is sent."""
    party, of = SecureParty(folder), current_task()
    party.start()
    try:
        party.install(of, 1)
        proxy = CountingProxy(party.port)
        client = PartyClient(RetryingConnection(f"https://localhost:{proxy.port}", party.ca))
        client.task(of.digest)
        client.submit(of.digest, [honest_entry(of, 5)])
        client.close()
        return proxy.ended()
    finally:
        party.stop()


def rows(name: str, found: Weighed) -> Iterator[Row]:
    """Write what a store weighs."""
    for what, size in (("open", found.opened), ("closed", found.closed)):
        yield Measured(f"{name}, {what}: {size:.1f} bytes a report / its body", size / BODY, None, 0, 0)


def measure() -> Iterator[Row]:
    os.umask(0o077)  # secrets in open files are refused
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "reports.sqlite"
        found = weighed(str(path), folder / "sqlite", lambda: sqlite_bytes(path))
        yield from rows("SQLite", found)
        yield Measured(f"a report file: {found.file:.2f} bytes a report / its body", found.file / BODY, None, 0, 0)
        told = f"closing a group with SQLite: {found.closing_seconds * 1e6:.2f} µs of CPU a report / a microsecond"
        yield Measured(told, found.closing_seconds * 1e6, None, found.closing_seconds, 1e-6)
        server = PostgresServer.started(folder / "database")
        if isinstance(server, str):
            yield Failed("PostgreSQL", server)
        else:
            try:
                address = server.new_address()
                yield from rows("PostgreSQL", weighed(address, folder / "postgres", lambda: postgres_bytes(address)))
            finally:
                server.stop()
        up, down = on_the_wire(folder / "party")
        yield Measured(f"from a device over TLS: {up:,} bytes a report / its body", up / BODY, None, 0, 0)
        yield Measured(f"to a device over TLS: {down:,} bytes a report / its body", down / BODY, None, 0, 0)


if __name__ == "__main__":
    for row in measure():
        print(row)
