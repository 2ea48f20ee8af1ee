"""Headers that every answer has, whoever makes it: a route, a refusal, the framework or the connection itself."""

from collections.abc import Mapping, Sequence

from starlette.types import Message, Send

HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""Of an answer that is not a page. A page allows itself a little more."""
Pairs = Sequence[tuple[bytes, bytes]]


def encoded(headers: Mapping[str, str]) -> Pairs:
    """Return headers as they are sent."""
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


PAIRS = encoded(HEADERS)


class WithHeaders:
    """Sends an answer with headers that it does not have yet."""

    def __init__(self, send: Send, pairs: Pairs = PAIRS) -> None:
        self._send = send
        self._pairs = pairs

    async def __call__(self, message: Message) -> None:
        """Send the next part of an answer."""
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            message = {**message, "headers": given + [pair for pair in self._pairs if pair[0] not in names]}
        await self._send(message)
