"""What a service answered, for tests to look at."""

import json
import socket
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


def answer_of(connection: HTTPConnection) -> Answer:
    """Return the answer to the request that was sent last."""
    reply = connection.getresponse()
    return Answer(reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()})


def is_problem(answer: Answer, status: int) -> bool:
    told = answer.json
    return (
        answer.status == status == told["status"]
        and answer.headers["content-type"] == "application/problem+json"
        and set(told) == {"type", "title", "status", "detail"}
    )


def hangs_up(peer: socket.socket, seconds: float, pause: float = 0.02) -> bool:
    """Send a byte now and then; return whether the other side ends the connection in time."""
    peer.settimeout(pause)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            peer.sendall(b"x")
            if peer.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except ConnectionError:  # it had not read what came last
            return True
    return False
