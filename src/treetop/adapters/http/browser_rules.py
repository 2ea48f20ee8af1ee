"""What a service does about browsers: the names it answers to, the pages that may call it, the headers it sends.

Host names: a page of another site can have its name resolved to 127.0.0.1 after it was loaded (DNS rebinding): to the
browser, what listens here is then of the same origin. Its requests still carry the site's name in `Host`, and are
refused by it.

Origins (CORS): a browser sends a page's origin (`Origin`), and only pages of origins that the settings name get in.
Programs that are no browser send none and are not affected. Nothing that needs a key is for pages, and no cookie is
asked for or read.

Headers: every answer has them, be it of a route, a refusal, the framework or the connection itself.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from starlette.types import Message, Scope, Send

from treetop.adapters.http.endpoint_settings import Address, Tls
from treetop.adapters.http.problem_details import Problem
from treetop.public_text import shown_address

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
LOOPBACK = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
OWN_PAGES = "/page"
"""Where a service's own pages are: they check the origin of forms themselves, so these rules leave them out."""
PREFLIGHT_SECONDS = 600
"""How long a browser may cache the answer to a preflight."""
_VARY = (b"vary", b"Origin")


@dataclass(frozen=True)
class PageRoute:
    """One method of one address that pages may use."""

    method: str
    path: re.Pattern[str]


def origin_problem(origin: str) -> str | None:
    """Return why a text cannot be an allowed origin, or None if it can."""
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


LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HOST = re.compile(rb"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)


def names_of(address: Address) -> frozenset[str]:
    """Return the names under which people on this machine, or in its network, reach an address."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return LOCAL_NAMES | {host.lower()}


def local_names(listen: Address, tls: Tls | None, trusted_proxy: bool) -> frozenset[str] | None:
    """Return the names that a service answers to if only this machine can reach it; None: any name.

    With TLS a browser compares the name with the certificate. A proxy passes on the name by which it is known.
    """
    return names_of(listen) if listen.loopback and tls is None and not trusted_proxy else None


def check_host(scope: Scope, names: frozenset[str]) -> None:
    """Raise 421 unless a request names this machine, once."""
    given = [value for name, value in scope["headers"] if name == b"host"]
    match = _HOST.fullmatch(given[0]) if len(given) == 1 else None
    if match is None or match[1].decode("ascii").lower() not in names:
        raise Problem(421, "this service answers to this machine's own names; behind a proxy, set trusted_proxy = true")


HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""Of an answer that is not a page. A page allows itself a little more."""
Pairs = Sequence[tuple[bytes, bytes]]


def encoded_headers(headers: Mapping[str, str]) -> Pairs:
    """Return headers as they are sent."""
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


PAIRS = encoded_headers(HEADERS)


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
