"""What every request passes first: the name it was sent to, how many at once, size of its body, counters.

No exception goes unanswered, and every answer has the security headers.

A body is read when the routes ask for it, not before: who may call, and whether there is such a task, comes first.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treetop.adapters.http.browser_rules import WithHeaders, check_host
from treetop.adapters.http.endpoint_settings import ServiceLimits
from treetop.adapters.http.metrics import RequestMetrics
from treetop.adapters.http.problem_details import Problem, come_back, last_word, response_of
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import TreetopError

_OTHER_ROUTE = "other"


class ServiceContext(Protocol):
    """The service behind the guard."""

    @property
    def limits(self) -> ServiceLimits:
        """Return what a client may ask."""
        ...

    @property
    def hosts(self) -> frozenset[str] | None:
        """Return the names that the service answers to; None: to any."""
        ...

    @property
    def metrics(self) -> RequestMetrics:
        """Return the counters."""
        ...

    @property
    def log(self) -> StructuredLog:
        """Return where failures are logged."""
        ...

    def note(self, error: TreetopError) -> None:
        """Remember what the operator must know."""
        ...


@dataclass(frozen=True, eq=False)
class LocalService:
    """A page on this machine, with no store and nobody who reads its metrics."""

    log: StructuredLog
    hosts: frozenset[str]
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    metrics: RequestMetrics = field(default_factory=RequestMetrics)

    def note(self, error: TreetopError) -> None:
        """Remember nothing: there is no store that could fail."""


class HungUp(Exception):
    """The client left in mid-request: counted, never logged."""


class RequestGuard:
    """The ASGI application around the routes of a service."""

    def __init__(
        self,
        context: ServiceContext,
        routes: ASGIApp,
        problem_of: Callable[[TreetopError], Problem],
        lists: re.Pattern[str] | None = None,
    ) -> None:
        """Take the routes, and the paths to which lists of items are put: they are larger than other bodies."""
        self._context = context
        self._routes = routes
        self._problem_of = problem_of
        self._lists = lists
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass on the start and the end of the service."""
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        self._in_progress += 1
        send = WithHeaders(send)
        try:
            if self._context.hosts is not None:
                check_host(scope, self._context.hosts)
            await self._serve(scope, receive, send)
        except Problem as problem:
            self._context.metrics.request(_OTHER_ROUTE, await self._refuse(problem, scope, receive, send))
        except HungUp:
            self._context.metrics.hang_ups += 1
        finally:
            self._in_progress -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request through the routes."""
        watched = _Watched(send)
        try:
            await self._routes(scope, self._body(scope, receive), watched)
        except HungUp:
            raise
        except Exception as error:
            if watched.status:
                self._context.log.failure("internal_error", error)
            else:
                await self._refuse(error, scope, receive, watched)
        route = getattr(scope.get("route"), "path", _OTHER_ROUTE)
        self._context.metrics.request(route, watched.status)

    def _body(self, scope: Scope, receive: Receive) -> "LimitedBody":
        """Return a body that was not read yet, or raise 503 or 413; the connection itself watches the time."""
        limits = self._context.limits
        is_list = scope["method"] == "PUT" and self._lists is not None and bool(self._lists.fullmatch(scope["path"]))
        most_bytes = limits.most_list_bytes if is_list else limits.most_body_bytes
        if self._in_progress > limits.requests_at_once:
            raise come_back(503, "too many requests at once")
        for name, value in scope["headers"]:
            if name == b"content-length":
                known = len(value) <= 18 and value.isdigit()
                check_length(int(value) if known else most_bytes + 1, most_bytes)
        return LimitedBody(receive, most_bytes)

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer with what was wrong, and return the status."""
        if isinstance(error, TreetopError):
            self._context.note(error)
            problem = self._problem_of(error)
        else:
            problem = error if isinstance(error, Problem) else Problem(500, "internal error")
        if problem.status == 500:
            self._context.log.failure("internal_error", error)
        await response_of(problem)(scope, receive, send)
        return problem.status


def check_length(found: int, most: int) -> None:
    """Refuse a body that is too long, and the rest of it."""
    if found > most:
        raise last_word(413, f"a body has {most} bytes at most")


class LimitedBody:
    """Receives the pieces of a body up to its greatest length; raises 413, or `HungUp` if the client leaves before."""

    def __init__(self, receive: Receive, most_bytes: int) -> None:
        self._receive = receive
        self._most_bytes = most_bytes
        self._read = 0
        self._more = True

    async def __call__(self) -> Message:
        """Receive the next piece, or what comes after the last one."""
        message = await self._receive()
        if self._more:
            self._count(message)
        return message

    async def whole(self) -> bytes:
        """Return all of it."""
        pieces = []
        while self._more:
            pieces.append(self._count(await self._receive()))
        return b"".join(pieces)

    def _count(self, message: Message) -> bytes:
        if message["type"] == "http.disconnect":
            raise HungUp
        piece: bytes = message.get("body", b"")
        self._read += len(piece)
        check_length(self._read, self._most_bytes)
        self._more = message.get("more_body", False)
        return piece


class _Watched:
    """Sends, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)
