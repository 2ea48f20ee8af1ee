"""The body of a request, within limits of size."""

from typing import Protocol

from starlette.types import Message, Receive, Scope

from treetop.adapters.http.problem_details import last_word


class RequestLimits(Protocol):
    """How much one request may bring, and how many are answered at once."""

    @property
    def most_body_bytes(self) -> int:
        """Return the size of the largest body."""
        ...

    @property
    def requests_at_once(self) -> int:
        """Return how many requests may be at work."""
        ...


class HungUp(Exception):
    """The client left in mid-request: counted, never logged."""


async def limited_body(scope: Scope, receive: Receive, limits: RequestLimits) -> bytes:
    """Return the whole body, or raise 413 or `HungUp`; how long it may take, the connection itself watches."""
    _check_announced(scope, limits.most_body_bytes)
    body, more = b"", True
    while more:
        message = await receive()
        body += _part(message)
        if len(body) > limits.most_body_bytes:
            raise _too_large(limits.most_body_bytes)
        more = message.get("more_body", False)
    return body


def _part(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise HungUp
    body: bytes = message.get("body", b"")
    return body


def _check_announced(scope: Scope, most: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or len(value) > 18 or int(value) > most):
            raise _too_large(most)


def _too_large(most: int) -> Exception:
    return last_word(413, f"a body has {most} bytes at most")
