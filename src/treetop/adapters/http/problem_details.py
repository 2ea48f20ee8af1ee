"""Errors as every client gets them: application/problem+json with type, title, status and detail."""

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from treetop.errors import (
    InvalidInput,
    PeerViolation,
    StoreBusy,
    StoreDamaged,
    StoreUnavailable,
    TreetopError,
    UnknownName,
)
from treetop.federation.party.party import TaskClosed
from treetop.public_text import visible

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 2
"""What `Retry-After` names where nothing better is known."""
_NO_HEADERS: Mapping[str, str] = {}


class Problem(Exception):
    """A refusal with its status."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


def come_back(status: int, detail: str, seconds: int = RETRY_SECONDS) -> Problem:
    """Return a refusal that passes: the client should try again."""
    return Problem(status, detail, {"Retry-After": str(seconds)})


def last_word(status: int, detail: str) -> Problem:
    """Return a refusal after which the connection ends: the rest of the request is not read."""
    return Problem(status, detail, {"Connection": "close"})


def response_of(problem: Problem) -> Response:
    """Return the HTTP response for a problem."""
    title = HTTPStatus(problem.status).phrase
    kind = f"urn:treetop:problem:{title.lower().replace(' ', '-')}"
    content = {"type": kind, "title": title, "status": problem.status, "detail": visible(problem.detail)}
    return Response(json.dumps(content), problem.status, dict(problem.headers), MEDIA_TYPE)


def problem_of(error: TreetopError) -> Problem:
    """Return what a client may know of an error of ours."""
    if isinstance(error, StoreBusy):
        return come_back(429, str(error), error.retry_after)
    if isinstance(error, StoreUnavailable | StoreDamaged):
        return come_back(503, str(error) if isinstance(error, StoreDamaged) else "the store cannot write at the moment")
    if isinstance(error, UnknownName):
        return Problem(404, f"this party has no such {error.kind}")
    if isinstance(error, TaskClosed):
        return Problem(409, str(error))
    return (
        Problem(400, str(error)) if isinstance(error, InvalidInput | PeerViolation) else Problem(500, "internal error")
    )
