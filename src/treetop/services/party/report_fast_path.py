"""The one endpoint that must be fast: reports go through admission to the store, and are answered when durable.

Everything else goes through the routes.
"""

import asyncio
import re
from time import perf_counter

from starlette.types import ASGIApp, Receive, Scope, Send

from treetop.adapters.http.browser_rules import OWN_PAGES, AllowedOrigins
from treetop.adapters.http.problem_details import Problem, problem_of
from treetop.adapters.http.request_guard import HungUp, RequestGuard
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.context import PartyContext

REPORTS_ROUTE = "/v1/tasks/{digest}/reports"
PAGES_REFUSED = "page of another origin"
_LISTS_PATH = re.compile(r"/v1/tasks/[0-9a-f]{64}/items")
_TASK_PATH = re.compile(r"/v1/tasks/([0-9a-f]{64})(?:/.*)?")
_REPORTS_PATH = re.compile(r"/v1/tasks/([0-9a-f]{64})/reports")


class ReportFastPath(RequestGuard):
    """The ASGI application of a party."""

    def __init__(self, context: PartyContext, routes: ASGIApp, origins: AllowedOrigins) -> None:
        super().__init__(context, routes, problem_of, _LISTS_PATH)
        self._origins = origins
        self._others = context.others
        self._party = context.party
        self._writer = context.writer
        self._metrics = context.metrics
        self._max_reports = context.limits.most_reports_per_request

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if not scope["path"].startswith(OWN_PAGES):
                send = self._origins.admitted(scope, send)
        except Problem as problem:
            self._metrics.request(PAGES_REFUSED, await self._refuse(problem, scope, receive, send))
            return
        if self._origins.is_preflight(scope):
            await self._origins.allow(scope, send)
            return
        path: str = scope["path"]
        asked = _TASK_PATH.fullmatch(path) if self._others is not None else None
        if self._others is not None and asked is not None and bytes.fromhex(asked[1]) not in self._party.tasks:
            await self._others.next_look()  # another process may have taken the task on a moment ago
        posted = path.endswith("/reports") and scope["method"] == "POST"
        match = _REPORTS_PATH.fullmatch(path) if posted else None
        if match is None:
            await super()._serve(scope, receive, send)
            return
        status = 200
        try:
            body = self._body(scope, receive)
            task = bytes.fromhex(match[1])
            self._party.task(task)  # a body about nothing we know is not read
            answer = verdicts_json(await self._take(task, await body.whole()))
        except HungUp:
            raise
        except Exception as error:
            status = await self._refuse(error, scope, receive, send)
        else:
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": answer})
        self._metrics.request(REPORTS_ROUTE, status)

    async def _take(self, task: bytes, upload: bytes) -> list[ReportStatus]:
        """Admit the reports of an upload, have them stored, and return a verdict for each."""
        screened = self._party.screened(task, upload, self._max_reports)
        stored: list[ReportStatus] = []
        if reports := len(screened.admitted):
            future = self._writer.submit(screened.admitted)
            self._metrics.handed_over(reports)
            begin = perf_counter()
            try:
                stored = await asyncio.wrap_future(future)
            finally:
                self._metrics.taken_back(reports, perf_counter() - begin)
        verdicts = screened.answered(stored)
        self._metrics.verdicts(task, verdicts)
        if accepted := stored.count(ReportStatus.ACCEPTED):
            self._metrics.accepted(accepted)
        return verdicts


def verdicts_json(verdicts: list[ReportStatus]) -> bytes:
    """Return the answer to reports or enrolments; verdicts are plain words, so joining them is enough."""
    return ('{"verdicts":["' + '","'.join(verdicts) + '"]}').encode()
