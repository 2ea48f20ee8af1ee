"""A TCP proxy between two HTTP speakers that cuts, resets, loses, delays and trickles, by a seeded deck of fates."""

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Literal, Self

HOST = "127.0.0.1"
PIECES = 20
Fate = Literal["fine", "reset request", "trickle", "lose response", "cut response", "reset response"]
DECK: tuple[Fate, ...] = (
    "reset request", "trickle", "lose response", "lose response", "cut response", "reset response", *14 * ("fine",)
)  # fmt: skip
"""One round of fates: the response of every tenth request is lost after it was processed."""


@dataclass(frozen=True)
class Weather:
    """How bad the network is."""

    latency: float = 0.0
    trickle_seconds: float = 0.5
    deck: tuple[Fate, ...] = DECK


class HungUp(Exception):
    """One of both sides left."""


class FaultProxy:
    """Listens on a port of its own; whatever connects there reaches the target, as far as the weather allows."""

    def __init__(self, target: int, weather: Weather, seed: int) -> None:
        self._target, self._weather, self._random = target, weather, Random(seed)  # noqa: S311
        self._lock, self._open, self._cut_until = threading.Lock(), set[socket.socket](), 0.0
        self._fates: list[Fate] = []
        self.happened: Counter[str] = Counter()
        self.requests: list[tuple[str, bytes]] = []
        """First line and body of everything that clients sent whole to the proxy."""
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, _failure: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(30)
        self._listener.close()
        self._reset_all()
        for thread in self._threads:
            thread.join(30)

    def cut(self, seconds: float) -> None:
        """Reset everything, and everything that comes within so many seconds."""
        self._cut_until = time.monotonic() + seconds
        self.happened["cut"] += 1
        self._reset_all()

    @property
    def _is_cut(self) -> bool:
        return time.monotonic() < self._cut_until

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._carry, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _carry(self, client: socket.socket) -> None:
        """Carry requests one way and responses the other, until somebody leaves or fate strikes."""
        with client, socket.socket() as server:
            with self._lock:
                self._open |= {client, server}
            try:
                server.connect((HOST, self._target))
                while not self._is_cut:
                    self._exchange(client, server)
            except (HungUp, OSError):
                pass
            finally:
                with self._lock:
                    self._open -= {client, server}
                if self._is_cut:
                    _reset(client)

    def _exchange(self, client: socket.socket, server: socket.socket) -> None:
        request = _message(client)
        fate = self._note(request)
        time.sleep(self._weather.latency / 2)
        self._send_request(server, request, fate, client)
        response = _message(server)
        time.sleep(self._weather.latency / 2)
        self._send_response(client, response, fate)

    def _note(self, request: bytes) -> Fate:
        head, _, body = request.partition(b"\r\n\r\n")
        with self._lock:
            self.requests.append((head.split(b"\r\n")[0].decode("latin-1"), body))
            if not self._fates:
                self._fates = self._random.sample(self._weather.deck, len(self._weather.deck))
            fate = self._fates.pop()
            self.happened[fate] += 1
        return fate

    def _send_request(self, server: socket.socket, request: bytes, fate: Fate, client: socket.socket) -> None:
        if fate == "reset request":
            server.sendall(request[: len(request) // 2])
            _reset(server)
            _reset(client)
            raise HungUp
        for piece in _pieces(request) if fate == "trickle" else [request]:
            server.sendall(piece)
            time.sleep(self._weather.trickle_seconds / PIECES if fate == "trickle" else 0)

    def _send_response(self, client: socket.socket, response: bytes, fate: Fate) -> None:
        if fate in {"lose response", "reset response", "cut response"}:
            if fate != "lose response":
                client.sendall(response[:-1])
            if fate != "cut response":
                _reset(client)
            raise HungUp
        client.sendall(response)

    def _reset_all(self) -> None:
        with self._lock:
            for each in self._open:
                with suppress(OSError):  # the thread that holds it wakes up and closes it, or has closed it
                    _lingerless(each)
                    each.shutdown(socket.SHUT_RDWR)


def _message(source: socket.socket) -> bytes:
    """Return a whole request or response."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _received(source)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += _received(source)
    return head + b"\r\n\r\n" + body


def _received(source: socket.socket) -> bytes:
    data = source.recv(1 << 16)
    if not data:
        raise HungUp
    return data


def _pieces(data: bytes) -> Iterator[bytes]:
    size = -(-len(data) // PIECES)
    return (data[start : start + size] for start in range(0, len(data), size))


def _lingerless(end: socket.socket) -> None:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _reset(end: socket.socket) -> None:
    """Close so that the other side gets a reset."""
    with suppress(OSError):
        _lingerless(end)
    end.close()
