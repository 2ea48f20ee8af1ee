"""What every request passes first: how many at once, size and time of its body, counters; no exception unanswered."""

from collections.abc import Callable
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treetop.adapters.http.metrics import RequestMetrics
from treetop.adapters.http.problem_details import Problem, come_back, response_of
from treetop.adapters.http.request_body import HungUp, RequestLimits, limited_body
from treetop.adapters.system.structured_log import StructuredLog
from treetop.errors import TreetopError

_OTHER_ROUTE = "other"


class ServiceContext(Protocol):
    """Whose door it is: a party's service, or a server's."""

    @property
    def limits(self) -> RequestLimits:
        """Return what a client may ask."""
        ...

    @property
    def metrics(self) -> RequestMetrics:
        """Return the counters."""
        ...

    @property
    def log(self) -> StructuredLog:
        """Return where failures are told."""
        ...

    def note(self, error: TreetopError) -> None:
        """Remember what the operator must know."""
        ...


class RequestGuard:
    """The ASGI application around the routes of a service."""

    def __init__(self, host: ServiceContext, routes: ASGIApp, told: Callable[[TreetopError], Problem]) -> None:
        self._house, self._routes, self._told = host, routes, told
        self._at_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or carry start and end of the service."""
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        self._at_work += 1
        try:
            await self._serve(scope, receive, send)
        except HungUp:
            self._house.metrics.hang_ups += 1
        finally:
            self._at_work -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request through the routes."""
        watched = _Watched(send)
        try:
            body = await self._let_in(scope, receive)
            await self._routes(scope, _Replayed(body, receive), watched)
        except HungUp:
            raise
        except Exception as error:
            if watched.status:
                self._house.log.failure("internal_error", error)
            else:
                await self._refuse(error, scope, receive, watched)
        route = getattr(scope.get("route"), "path", _OTHER_ROUTE)
        self._house.metrics.request(route, watched.status)

    async def _let_in(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request that there is room for."""
        if self._at_work > self._house.limits.requests_at_once:
            raise come_back(503, "too many requests at once")
        return await limited_body(scope, receive, self._house.limits)

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> int:
        """Tell a client what was wrong, and return the status."""
        if isinstance(error, TreetopError):
            self._house.note(error)
        problem = error if isinstance(error, Problem) else self._problem(error)
        if problem.status == 500:
            self._house.log.failure("internal_error", error)
        await response_of(problem)(scope, receive, send)
        return problem.status

    def _problem(self, error: Exception) -> Problem:
        return self._told(error) if isinstance(error, TreetopError) else Problem(500, "internal error")


class _Watched:
    """Sends, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


class _Replayed:
    """A body that was read already, for those who read it again."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
