"""The front door of a party: reports go the short way, everything else through the routes."""

from starlette.types import ASGIApp, Receive, Scope, Send

from treetop.adapters.http.problem_details import problem_of
from treetop.adapters.http.request_body import HungUp
from treetop.adapters.http.request_guard import RequestGuard
from treetop.services.party.host import PartyHost
from treetop.services.party.report_intake import ReportIntake, task_of

REPORTS_ROUTE = "/v1/tasks/{digest}/reports"


class PartyDoor(RequestGuard):
    """The ASGI application of a party."""

    def __init__(self, host: PartyHost, routes: ASGIApp) -> None:
        super().__init__(host, routes, problem_of)
        self._metrics, self._intake = host.metrics, ReportIntake(host)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = task_of(scope)
        await (super()._serve(scope, receive, send) if task is None else self._take(task, scope, receive, send))

    async def _take(self, task: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Take reports: the short way, with nothing in it that a request can do without."""
        status = 200
        try:
            answer = await self._intake.answer(task, await self._let_in(scope, receive))
        except HungUp:
            raise
        except Exception as error:
            status = await self._refuse(error, scope, receive, send)
        else:
            length = b"%d" % len(answer)
            headers = [(b"content-type", b"application/json"), (b"content-length", length)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": answer})
        self._metrics.request(REPORTS_ROUTE, status)
