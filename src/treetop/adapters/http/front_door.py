"""What every request passes first: how many at once, size and time of its body, counters; no exception unanswered."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treetop.adapters.http.party_host import PartyHost
from treetop.adapters.http.problem_details import Problem, come_back, problem_of, response_of
from treetop.adapters.http.report_intake import ReportIntake, task_of
from treetop.adapters.http.request_body import HungUp, limited_body
from treetop.errors import TreetopError

REPORTS_ROUTE = "/v1/tasks/{digest}/reports"
_OTHER_ROUTE = "other"


class FrontDoor:
    """The ASGI application: reports by the short way, everything else through the routes."""

    def __init__(self, host: PartyHost, routes: ASGIApp) -> None:
        self._host, self._routes, self._intake = host, routes, ReportIntake(host)
        self._at_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or carry start and end of the service."""
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        self._at_work += 1
        task = task_of(scope)
        try:
            await (self._answer(scope, receive, send) if task is None else self._take(task, scope, receive, send))
        except HungUp:
            self._host.metrics.hang_ups += 1
        finally:
            self._at_work -= 1

    async def _take(self, task: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Take reports: the short way, with nothing in it that a request can do without."""
        status = 200
        try:
            self._check_room()
            body = await limited_body(scope, receive, self._host.limits)
            answer = await self._intake.answer(task, body)
        except HungUp:
            raise
        except Exception as error:
            status = await self._refuse(error, scope, receive, send)
        else:
            length = b"%d" % len(answer)
            headers = [(b"content-type", b"application/json"), (b"content-length", length)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": answer})
        self._host.metrics.request(REPORTS_ROUTE, status)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        watched = _Watched(send)
        try:
            self._check_room()
            body = await limited_body(scope, receive, self._host.limits)
            await self._routes(scope, _Replayed(body, receive), watched)
        except HungUp:
            raise
        except Exception as error:
            if watched.status:
                self._host.log.failure("internal_error", error)
            else:
                await self._refuse(error, scope, receive, watched)
        route = getattr(scope.get("route"), "path", _OTHER_ROUTE)
        self._host.metrics.request(route, watched.status)

    def _check_room(self) -> None:
        if self._at_work > self._host.limits.requests_at_once:
            raise come_back(503, "too many requests at once")

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> int:
        """Tell a client what was wrong, and return the status."""
        if isinstance(error, TreetopError):
            self._host.note(error)
        problem = error if isinstance(error, Problem) else _problem(error)
        if problem.status == 500:
            self._host.log.failure("internal_error", error)
        await response_of(problem)(scope, receive, send)
        return problem.status


def _problem(error: Exception) -> Problem:
    return problem_of(error) if isinstance(error, TreetopError) else Problem(500, "internal error")


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
