"""The body of a request, within limits of size and time."""

import asyncio

from starlette.types import Message, Receive, Scope

from treetop.adapters.http.party_settings import Limits
from treetop.adapters.http.problem_details import last_word


class HungUp(Exception):
    """The client left in mid-request: counted, never logged."""


async def limited_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """Return the whole body, or raise 413, 408 or `HungUp`."""
    _check_announced(scope, limits.most_body_bytes)
    message = await _first(receive, limits)
    body = _part(message)
    if len(body) > limits.most_body_bytes:
        raise _too_large(limits.most_body_bytes)
    return await _rest(body, receive, limits) if message.get("more_body") else body


async def _first(receive: Receive, limits: Limits) -> Message:
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await receive()
    except TimeoutError:
        raise _too_slow(limits) from None


async def _rest(first: bytes, receive: Receive, limits: Limits) -> bytes:
    parts, size, more = [first], len(first), True
    try:
        async with asyncio.timeout(limits.body_seconds):
            while more:
                message = await receive()
                parts.append(_part(message))
                size += len(parts[-1])
                if size > limits.most_body_bytes:
                    raise _too_large(limits.most_body_bytes)
                more = message.get("more_body", False)
    except TimeoutError:
        raise _too_slow(limits) from None
    return b"".join(parts)


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


def _too_slow(limits: Limits) -> Exception:
    return last_word(408, f"a body must arrive within {limits.body_seconds} s")
