"""What a service answered, for tests to look at."""

import json
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
