"""R6: strangers who send without end, or leave a request half sent, cost a party and a server bounded memory."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.running_federation import RunningFederation

MORE_MEMORY = 150 << 20
USERS = 10
SEND_SECONDS, HOLD_SECONDS = 8.0, 0.3


@dataclass(frozen=True)
class Attack:
    """So many connections, each of which sends these bytes and then nothing more; no answer is read."""

    connections: int
    head: bytes
    """Up to the first header; what is asked stands before it."""
    rest: bytes


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
ATTACKS = {
    "short trailers": Attack(4, CHUNKED + b"0\r\n", b"a:b\r\n" * (3 << 20)),
    "one long trailer": Attack(8, CHUNKED + b"0\r\na: ", b"b" * (32 << 20)),
    "a long extension of a chunk": Attack(8, CHUNKED + b"1;a=", b"b" * (32 << 20)),
    "chunks of one byte": Attack(50, CHUNKED, b"1\r\ny\r\n" * (1 << 19)),
    "parked bodies": Attack(500, b"Content-Length: 1048576\r\n\r\n", bytes((1 << 20) - 1)),
    "slow heads of short lines": Attack(500, b"", b"a:b\r\n" * (63 << 10 >> 2)),
    "slow heads of one line": Attack(500, b"", b"a: " + b"b" * (63 << 10)),
    "a long head in one packet": Attack(500, b"", b"a: " + b"b" * (200 << 10)),
    "requests behind each other": Attack(100, b"\r\n", b"GET /v1/health HTTP/1.1\r\n\r\n" * 9_000),
    "kept connections after long heads": Attack(500, b"a: ", b"b" * (60 << 10) + b"\r\n\r\n"),
    "silent connections": Attack(500, b"", b""),
}


@dataclass(frozen=True)
class Target:
    """A process, and a request with a body that it would take."""

    pid: int
    port: int
    request: bytes
    idle: int

    @property
    def memory(self) -> int:
        return resident(self.pid)


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def watched(target: Target) -> Iterator[list[int]]:
    """Yield a list of one number: the most memory that was held meanwhile."""
    most, over = [target.memory], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            most[0] = max(most[0], target.memory)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        over.set()
        watcher.join()


async def attacked(target: Target, attack: Attack, hold: float) -> None:
    """Open all connections, send as much as is taken within some seconds, and stay."""
    loop, opened = asyncio.get_running_loop(), list[socket.socket]()
    sent = target.request + attack.head + attack.rest

    async def one() -> None:
        connection = socket.socket()
        connection.setblocking(False)
        opened.append(connection)
        try:
            await loop.sock_connect(connection, ("127.0.0.1", target.port))
            await asyncio.wait_for(loop.sock_sendall(connection, sent), SEND_SECONDS)
        except (OSError, TimeoutError):
            pass  # sent away, or nobody reads any more

    await asyncio.gather(*(one() for _ in range(attack.connections)))
    await asyncio.sleep(hold)
    for connection in opened:
        connection.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningFederation, str]]:
    federation = RunningFederation(tmp_path_factory.mktemp("federation"), {"north": USERS})
    with federation.processes:
        federation.start()
        task = federation.order()
        federation.tickets("north", task)
        yield federation, task


@pytest.fixture(scope="module")
def targets(running: tuple[RunningFederation, str]) -> dict[str, Target]:
    federation, task = running
    asked = {"north": f"/v1/tasks/{task}/reports", "server": "/v1/queries"}
    pids = {"north": federation.parties["north"].process.pid, "server": federation.server.process.pid}
    for name in asked:
        federation.ask(name, "/v1/health")
    return {
        name: Target(
            pid, federation.ports[name], f"POST {asked[name]} HTTP/1.1\r\nHost: localhost\r\n".encode(), resident(pid)
        )
        for name, pid in pids.items()
    }


def stays_small(running: RunningFederation, name: str, target: Target, attack: Attack, hold: float) -> None:
    with watched(target) as most:
        asyncio.run(attacked(target, attack, hold))
    assert most[0] - target.idle <= MORE_MEMORY, f"{(most[0] - target.idle) >> 20} MiB more than idle"
    assert running.ask(name, "/v1/health").startswith(b'{"status":"ok"')


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", ["north", "server"])
def test_what_strangers_send_costs_little_memory(
    running: tuple[RunningFederation, str], targets: dict[str, Target], name: str, attack: str
) -> None:
    stays_small(running[0], name, targets[name], ATTACKS[attack], HOLD_SECONDS)


@pytest.mark.slow
def test_ten_minutes_of_everything(running: tuple[RunningFederation, str], targets: dict[str, Target]) -> None:
    federation, task = running
    end = time.monotonic() + 600
    while time.monotonic() < end:
        for attack in ATTACKS.values():
            for name, target in targets.items():
                stays_small(federation, name, target, attack, 10)
    assert federation.play("north", task).verdicts == {"accepted": USERS}
