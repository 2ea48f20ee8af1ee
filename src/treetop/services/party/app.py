"""The party's HTTP API: for devices, for the party's own back end, for the server.

Reports are the one endpoint that must be fast: they go straight through admission to the store, and are answered when
durable. Everything else goes through the routes.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Request, Security
from fastapi import Path as InPath
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from treetop.adapters.http.browser_rules import OWN_PAGES, AllowedOrigins, PageRoute
from treetop.adapters.http.described_app import OCTETS, Body, DescribedApp, StrictModel, checked_first
from treetop.adapters.http.endpoint_settings import Caller
from treetop.adapters.http.metrics import metrics_response
from treetop.adapters.http.problem_details import Problem, come_back, problem_of
from treetop.adapters.http.request_guard import HungUp, RequestGuard
from treetop.federation.party.party import OpenTask, Party, TaskState
from treetop.federation.wire.uploads import ReportStatus
from treetop.public_text import visible
from treetop.services.party import schemas
from treetop.services.party.context import PartyContext
from treetop.trie.user_groups import Group, Role

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


_ROLES = tuple(Role)
_BEARER = HTTPBearer(auto_error=False, description="A key of the server, of the party's back end, or for metrics.")

_DIGEST = re.compile("[0-9a-f]{64}")
Digest = Annotated[str, InPath(pattern=f"^{_DIGEST.pattern}$", description="Digest of the task in hexadecimal.")]
Campaign = Annotated[str, InPath(pattern=f"^{_DIGEST.pattern}$", description="Digest of the campaign in hexadecimal.")]
Level = Annotated[int, InPath(ge=1, le=256)]
RoleIndex = Annotated[int, InPath(ge=0, le=2, description="0 estimate, 1 validate infrequent, 2 validate frequent.")]
Number = Annotated[int, InPath(ge=1, le=1_000_000)]


class PartyRoutes:
    """Run by the party: every endpoint but the one for reports."""

    def __init__(self, context: PartyContext) -> None:
        self._context = context

    @property
    def _party(self) -> Party:
        return self._context.party

    def health(self) -> Response:
        """Report whether the service can do its work."""
        if self._context.damaged:
            tasks = ", ".join(self._context.damaged)
            raise Problem(503, f"the store is damaged: task {tasks}; restore a backup")
        if self._context.others is not None and not self._context.others.seen:
            raise Problem(503, "the database has not answered for a while")
        return _json(schemas.Health(status="ok", party=self._party.name))

    def metrics(self) -> Response:
        """Return the counters for Prometheus."""
        return metrics_response(self._context)

    def tasks(self) -> Response:
        """List the tasks that this party takes part in."""
        listed = []
        for opened in list(self._party.tasks.values()):
            task = opened.task
            mode: Literal["one-shot", "rounds"] = "one-shot" if task.one_shot else "rounds"
            listed.append(
                schemas.ListedTask(digest=task.digest.hex(), name=visible(task.name), mode=mode, state=opened.state)
            )
        return _json(schemas.Tasks(tasks=listed))

    def task(self, digest: Digest) -> Response:
        """Return the signed task, as the server wrote it."""
        return Response(self._opened(digest).document, media_type="application/json")

    def enrol(self, digest: Digest, tickets: Body) -> Response:
        """Enrol devices in rounds mode by their tickets; a verdict for each."""
        verdicts = self._party.enrol(bytes.fromhex(digest), tickets)
        self._context.metrics.verdicts(bytes.fromhex(digest), verdicts)
        return Response(verdicts_json(verdicts), media_type="application/json")

    def check_tickets(self, digest: Digest, tickets: Body) -> Response:
        """Check that tickets are this party's, so that no device spends its budget on another's; nothing is kept."""
        verdicts = self._party.check_tickets(bytes.fromhex(digest), tickets)
        return Response(verdicts_json(verdicts), media_type="application/json")

    def refuse(self, digest: Digest, refusals: Body) -> Response:
        """Count devices that may not answer, each by the code that it sends with its ticket; a verdict for each."""
        verdicts = self._party.count_refusals(bytes.fromhex(digest), refusals)
        return Response(verdicts_json(verdicts), media_type="application/json")

    def beacon(self, digest: Digest) -> Response:
        """Return the signed beacon that fixes every device's group."""
        document = self._opened(digest).published.beacon
        if document is None:
            raise come_back(404, "there is no beacon yet")
        return Response(document, media_type="application/json")

    def lists(self, digest: Digest) -> Response:
        """List the candidate lists that were published."""
        published = self._opened(digest).published
        shown = []
        for group in published.lists:
            state: TaskState = "closed" if published.is_closed(group) else "open"
            found = published.read_list(group).question.digest.hex()
            shown.append(schemas.ShownList(level=group.level, role=_ROLES.index(group.role), state=state, digest=found))
        return _json(schemas.Lists(lists=shown))

    def list_of(self, digest: Digest, level: Level, role: RoleIndex) -> Response:
        """Return the signed candidate list of one group."""
        document = self._opened(digest).published.lists.get(Group(level, _ROLES[role]))
        if document is None:
            raise come_back(404, "this list is not published yet")
        return Response(document, media_type="application/json")

    def tickets(self, digest: Digest, wanted: schemas.TicketsWanted) -> Response:
        """Give out tickets for the party's own users."""
        return _json(schemas.Tickets(tickets=self._party.issue(bytes.fromhex(digest), wanted.count)))

    def standing(self) -> Response:
        """Return the party's standing: numbers alone."""
        return _json(self._context.standing.of_party())

    def task_standing(self, digest: Digest) -> Response:
        """Return the progress of a task: numbers alone."""
        return _json(self._context.standing.of_task(self._opened(digest)))

    def install(self, digest: Digest, document: Body) -> Response:
        """Take on a signed task."""
        if self._party.install(document).hex() != digest:
            raise Problem(400, "the task has another digest than the address says")
        return Response(status_code=204)

    def item_list(self, digest: Digest) -> Response:
        """Return the list of items that the task names, compressed as the server gave it."""
        document = self._opened(digest).published.item_list
        if document is None:
            raise come_back(404, "this task has no list, or it was not given yet")
        return Response(document, media_type=OCTETS)

    def give_list(self, digest: Digest, document: Body) -> Response:
        """Take the list of items that the task names by its digest."""
        self._party.give_list(bytes.fromhex(digest), document)
        return Response(status_code=204)

    def campaign(self, campaign: Campaign) -> Response:
        """Return the signed campaign, as the server wrote it."""
        document = self._party.campaign(campaign)
        if document is None:
            raise come_back(404, "no task of this party is a week of this campaign, or it was not given yet")
        return Response(document, media_type="application/json")

    def give_campaign(self, digest: Digest, document: Body) -> Response:
        """Take the signed campaign that the task is a week of."""
        self._party.give_campaign(bytes.fromhex(digest), document)
        return Response(status_code=204)

    def tell(self, digest: Digest, number: Number, message: Body) -> Response:
        """Take a message of the server; it is kept before this is answered."""
        self._opened(digest).query.tell(number, message)
        self._context.workers.wake(bytes.fromhex(digest))
        return Response(status_code=202)

    def outcome(self, digest: Digest, number: Number) -> Response:
        """Return the answer to a message, once there is one."""
        outcome = self._opened(digest).query.outcome(number)
        if outcome is None:
            return Response(status_code=202, headers={"Retry-After": "1"})
        return Response(outcome, media_type=OCTETS)

    def check_task(self, digest: str) -> None:
        """Refuse what is about no task of this party."""
        if not _DIGEST.fullmatch(digest):
            raise Problem(422, "path.digest: expected 64 hexadecimal digits in lower case")
        self._opened(digest)

    def _opened(self, digest: str) -> OpenTask:
        return self._party.task(bytes.fromhex(digest))


def party_app(context: PartyContext, pages: Sequence[BaseRoute] = ()) -> ReportFastPath:
    """Return the ASGI application of a party."""
    # Pages may ask for what is described as being for devices, and nothing else.
    for_devices = [
        route for route in _router(context).routes if isinstance(route, APIRoute) and schemas.DEVICES in route.tags
    ]
    for_pages = [PageRoute(method, route.path_regex) for route in for_devices for method in route.methods or ()]
    origins = AllowedOrigins(context.allowed_origins, for_pages)
    routes = described_routes(context)
    routes.router.routes.extend(pages)
    return ReportFastPath(context, routes, origins)


def described_routes(context: PartyContext) -> DescribedApp:
    """Return all endpoints with their description; reports are described here and answered by the fast path."""
    app = DescribedApp("Treetop party", schemas.ABOUT, schemas.REFERRED)
    app.include_router(_router(context))
    app.answer_problems(context, problem_of)
    return app


def description() -> dict[str, Any]:
    """Return the OpenAPI description; no request is answered, so no context is needed."""
    return described_routes(cast(PartyContext, None)).openapi()


def _router(context: PartyContext) -> APIRouter:
    routes = PartyRoutes(context)
    router = APIRouter()
    task = "/v1/tasks/{digest}"

    def add(
        method: str, path: str, endpoint: Callable[..., Any], says: dict[str, Any], caller: Caller | None = None
    ) -> None:
        """Add a route; who calls, and whether a body is about a known task, is checked before the body is read."""

        def check(request: Request) -> None:
            if caller is not None:
                context.keys.check(caller, request.headers.get("authorization"))
            if method != "GET" and path.startswith(task + "/"):
                routes.check_task(request.path_params["digest"])

        router.add_api_route(
            path,
            endpoint,
            methods=[method],
            route_class_override=checked_first(check),
            dependencies=[Security(_BEARER)] if caller else [],
            **says,
        )

    add("GET", "/v1/health", routes.health, schemas.HEALTH)
    add("GET", "/metrics", routes.metrics, schemas.METRICS, "monitor")
    add("GET", "/v1/tasks", routes.tasks, schemas.TASKS)
    add("GET", task, routes.task, schemas.TASK)
    add("POST", task + "/enrolments", routes.enrol, schemas.ENROLMENTS)
    add("POST", task + "/ticket-checks", routes.check_tickets, schemas.TICKET_CHECKS)
    add("POST", task + "/refusals", routes.refuse, schemas.REFUSALS)
    add("GET", task + "/beacon", routes.beacon, schemas.BEACON)
    add("GET", task + "/lists", routes.lists, schemas.LISTS)
    add("GET", task + "/lists/{level}/{role}", routes.list_of, schemas.LIST)
    add("GET", task + "/items", routes.item_list, schemas.ITEMS)
    add("GET", "/v1/campaigns/{campaign}", routes.campaign, schemas.CAMPAIGN)
    add("POST", task + "/reports", _reports, schemas.REPORTS)
    add("POST", task + "/tickets", routes.tickets, schemas.TICKETS, "back_end")
    add("GET", "/v1/standing", routes.standing, schemas.STANDING, "server")
    add("GET", task + "/standing", routes.task_standing, schemas.TASK_STANDING, "server")
    add("PUT", task, routes.install, schemas.INSTALL, "server")
    add("PUT", task + "/items", routes.give_list, schemas.GIVE_ITEMS, "server")
    add("PUT", task + "/campaign", routes.give_campaign, schemas.GIVE_CAMPAIGN, "server")
    add("PUT", task + "/messages/{number}", routes.tell, schemas.TELL, "server")
    add("GET", task + "/messages/{number}/outcome", routes.outcome, schemas.OUTCOME, "server")
    return router


async def _reports(digest: Digest) -> Response:
    """Take reports with their tickets; a verdict for each, in the same order."""
    raise AssertionError(f"the fast path answers reports of {digest}")


def _json(model: StrictModel) -> Response:
    return Response(model.model_dump_json(), media_type="application/json")
