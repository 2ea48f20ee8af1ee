"""Which web pages may talk to a service (CORS): those of origins that its settings name, about what they need, no more.

A browser says where a page is from (`Origin`); programs that are no browser say nothing and are not affected. Nothing
that needs a key is for pages, and no cookie is asked for or read.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from starlette.types import Message, Scope, Send

from treetop.adapters.http.problem_details import Problem
from treetop.public_text import shown_address

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
LOOPBACK = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
OWN_PAGES = "/page"
"""Where a service's own pages are: they take no form of another origin, and this is not about them."""
PREFLIGHT_SECONDS = 600
"""How long a browser may remember what it was allowed."""
_VARY = (b"vary", b"Origin")


@dataclass(frozen=True)
class PageRoute:
    """One method of one address that pages may use."""

    method: str
    path: re.Pattern[str]


def origin_problem(origin: str) -> str | None:
    """Say why a text cannot be an origin that is allowed; None: it can."""
    if origin == "*":
        return "allowed_origins must name every origin, found '*', which is all of them"
    shown = shown_address(origin)
    if not _ORIGIN.fullmatch(origin):
        return f"allowed_origins must be origins such as https://survey.example, without a path, found {shown!r}"
    if origin.startswith("http:") and not LOOPBACK.fullmatch(origin):
        return f"allowed_origins must be https: plain http is for this machine alone, found {shown!r}"
    return None


class AllowedOrigins:
    """Decides about requests that pages make."""

    def __init__(self, origins: Collection[str], routes: Sequence[PageRoute]) -> None:
        self._origins = frozenset(origin.encode("ascii") for origin in origins)
        self._routes = routes

    def admitted(self, scope: Scope, send: Send) -> Send:
        """Return how a request is answered: as it is, or so that the page may read it; raise 403 for other pages."""
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None:
            return send
        method = scope["method"]
        asked = headers.get(b"access-control-request-method", b"").decode("latin-1") if method == "OPTIONS" else method
        served = any(route.method == asked and route.path.fullmatch(scope["path"]) for route in self._routes)
        if origin not in self._origins or not served:
            raise Problem(403, "pages of this origin may not do that here", {"Vary": "Origin"})
        return _Readable(send, origin)

    @staticmethod
    def is_preflight(scope: Scope) -> bool:
        """Return whether a browser asks what a page may do."""
        return scope["method"] == "OPTIONS" and any(name == b"origin" for name, _ in scope["headers"])

    @staticmethod
    async def allow(scope: Scope, send: Send) -> None:
        """Answer a preflight that was admitted: the method that it asks about, and the type of a body."""
        method = dict(scope["headers"])[b"access-control-request-method"]
        headers = [
            (b"access-control-allow-methods", method),
            (b"access-control-allow-headers", b"content-type"),
            (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
        ]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body"})


class _Readable:
    """Sends an answer that pages of one origin may read, and when to come back."""

    def __init__(self, send: Send, origin: bytes) -> None:
        self._send = send
        self._origin = origin

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            readable = [
                (b"access-control-allow-origin", self._origin),
                (b"access-control-expose-headers", b"Retry-After"),
                _VARY,
            ]
            message = {**message, "headers": [*message.get("headers", []), *readable]}
        await self._send(message)
