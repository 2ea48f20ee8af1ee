"""The site of `treetop up --survey`: its page, tickets for those who answer, and a way to the party.

It hands out tickets, as the back end of a real site does, and passes on to the party what devices ask, as a proxy does:
so a phone has to trust one address only. It listens on this machine in plain http, and for phones in the same network
in https. It answers to the names of those addresses alone, and behind the guard of every other service.
"""

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Lock
from typing import Self

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from treetop.adapters.http.browser_rules import names_of
from treetop.adapters.http.endpoint_settings import Address, ServiceLimits, Tls
from treetop.adapters.http.problem_details import Problem, come_back
from treetop.adapters.http.request_guard import LocalService, RequestGuard
from treetop.adapters.http.serving import listening, serving
from treetop.adapters.system.key_files import issue_self_signed
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import TreetopError
from treetop.services.local.survey import SCRIPTS, SurveyPlan, SurveyTask, page_file, survey_page

MAX_PEOPLE = 1_000
"""Tickets that the page hands out: the others are the simulated users'."""
LIMITS = ServiceLimits(most_body_bytes=64 << 10)
PARTY_SECONDS = 15.0
DEVICE_PATHS = {
    "GET": re.compile(r"/v1/tasks(/[0-9a-f]{64}(/beacon|/items|/lists(/[0-9]{1,3}/[0-2])?)?)?"),
    "POST": re.compile(r"/v1/tasks/[0-9a-f]{64}/(reports|enrolments|ticket-checks|refusals)"),
}
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


class SurveySite:
    """Serves the page while the block lasts."""

    def __init__(
        self, plan: SurveyPlan, task: SurveyTask, ticket: Callable[[], str], folder: Path, log: StructuredLog
    ) -> None:
        """`ticket` asks the party for one; the certificate for phones is kept in the folder."""
        self._plan = plan
        self._task = task
        self._ticket = ticket
        self._folder = folder
        self._log = log
        self._served = ExitStack()
        self._counting = Lock()
        self.handed_out = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._served.close()

    def listen(self, host: str, port: int = 0, tls: Tls | None = None) -> str:
        """Serve on an address as well; return where."""
        address = Address(host, port)
        listener = self._served.enter_context(listening(address))
        app = RequestGuard(LocalService(self._log, names_of(address), LIMITS), self._routes(), _refused)
        self._served.enter_context(serving(app, listener, tls=tls, log=self._log, limits=LIMITS))
        return f"{'https' if tls else 'http'}://{Address(host, listener.getsockname()[1])}/"

    def listen_to_phones(self, host: str, port: int = 0) -> tuple[str, str]:
        """Serve in https with a certificate made here; return where, and the certificate's fingerprint."""
        tls = Tls(self._folder / "certificate.pem", self._folder / "key.pem")
        fingerprint = issue_self_signed(host, tls.certificate, tls.key)
        return self.listen(host, port, tls), fingerprint

    def _routes(self) -> Router:
        routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/ticket", self._hand_out, methods=["POST"]),
            Route("/v1/{path:path}", self._forward, methods=["GET", "POST"]),
            Route("/{name}", self._script, methods=["GET"]),
        ]
        return Router(routes, redirect_slashes=False)

    def _page(self, _: Request) -> Response:
        return Response(survey_page(self._plan, self._task), headers=PAGE_HEADERS, media_type="text/html")

    def _script(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SCRIPTS:
            raise _not_here()
        return Response(page_file(name), media_type="text/javascript")

    def _hand_out(self, request: Request) -> Response:
        """Give somebody who has opened the page a ticket, as long as there are any."""
        if not from_own_page(request):
            raise Problem(403, "tickets are for the page of this site")
        with self._counting:
            if self.handed_out >= MAX_PEOPLE:
                raise Problem(404, "all tickets are handed out")
            self.handed_out += 1
        return Response(json.dumps({"ticket": self._ticket()}), media_type="application/json")

    async def _forward(self, request: Request) -> Response:
        """Return the party's answer; the page is this site's own, so where it is from is not passed on."""
        asked = DEVICE_PATHS.get(request.method)
        if asked is None or not asked.fullmatch(request.url.path):
            raise _not_here()
        body = await request.body() if request.method == "POST" else b""
        return await run_in_threadpool(self._answer_of_party, request.method, request.url.path, body)

    def _answer_of_party(self, method: str, path: str, body: bytes) -> Response:
        connection = HTTPConnection(self._task.party_url.partition("//")[2], timeout=PARTY_SECONDS)
        try:
            connection.request(method, path, body or None, {"Content-Type": "application/octet-stream"} if body else {})
            answer = connection.getresponse()
            kept = {name: value for name in ("Content-Type", "Retry-After") if (value := answer.getheader(name))}
            return Response(answer.read(), answer.status, kept)
        except (OSError, HTTPException):
            raise _party_away() from None
        finally:
            connection.close()


def from_own_page(request: Request) -> bool:
    """Return whether a page of this site asks: another site's page has another origin."""
    return request.headers.get("origin", "").partition("//")[2] == request.headers.get("host", "-")


def _not_here() -> Problem:
    return Problem(404, "not here")


def _party_away() -> Problem:
    return come_back(503, "the party does not answer")


def _refused(_: TreetopError) -> Problem:
    return _party_away()
