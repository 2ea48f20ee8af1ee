"""The server's HTTP API: for those who ask queries, and for everybody who wants to check what was signed."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, cast

from fastapi import APIRouter, Security
from fastapi import Path as InPath
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.responses import Response

from treetop.adapters.http.described_app import DescribedApp
from treetop.adapters.http.metrics import MEDIA_TYPE as METRICS_TYPE
from treetop.adapters.http.openapi_helpers import Answer
from treetop.adapters.http.problem_details import Problem, come_back, problem_of
from treetop.adapters.http.request_guard import RequestGuard
from treetop.errors import TreetopError, UnknownName
from treetop.services.server import schemas
from treetop.services.server.host import ServerHost
from treetop.services.server.query_manager import QUERY, QueryManager, QueryState
from treetop.services.server.query_orders import OrderWanted

_BEARER = HTTPBearer(auto_error=False, description="An admin key of the server.")

Digest = Annotated[str, InPath(pattern="^[0-9a-f]{64}$", description="Digest of the task in hexadecimal.")]
Given = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


class ServerRoutes:
    """Run by the server: every endpoint."""

    def __init__(self, host: ServerHost) -> None:
        self._host = host

    @property
    def _desk(self) -> QueryManager:
        return self._host.desk

    def health(self) -> Response:
        """Say that the service does its work."""
        return _json(schemas.ServerHealth(status="ok", parties=list(self._desk.parties)))

    def metrics(self) -> Response:
        """Return the counters for Prometheus."""
        return Response(self._host.metrics_text(), media_type=METRICS_TYPE)

    def keys(self) -> Response:
        """Return the public key that tasks are signed with."""
        return _json(schemas.Keys(keys=[self._host.public_key]))

    def task(self, digest: Digest) -> Response:
        """Return the signed task of a query."""
        return Response(self._desk.document(digest), media_type="application/json")

    def log(self, digest: Digest) -> Response:
        """Return every candidate list that was signed for a task (rounds): nobody was shown another."""
        lists = [json.loads(document) for document in self._desk.log(digest)]
        return Response(json.dumps({"lists": lists}), media_type="application/json")

    def order(self, wanted: OrderWanted) -> Response:
        """Order a query: a task is signed, given to its parties, and asked."""
        return _json(_shown(self._desk.take(wanted.model_dump())), 201)

    def queries(self) -> Response:
        """List all queries, the oldest one first."""
        return _json(schemas.Queries(queries=[_shown(state) for state in self._desk.states()]))

    def query(self, digest: Digest) -> Response:
        """Say how far a query is."""
        return _json(_shown(self._desk.state(digest)))

    def result(self, digest: Digest) -> Response:
        """Return the answer of a query, once there is one."""
        document = self._desk.result(digest)
        if document is None:
            raise come_back(404, "there is no answer yet")
        return Response(document, media_type="application/json")


def server_app(host: ServerHost) -> RequestGuard:
    """Return the ASGI application of a server."""
    return RequestGuard(host, described_routes(host), _refusal)


def described_routes(host: ServerHost) -> DescribedApp:
    """Return all endpoints with their description."""
    app = DescribedApp("Treetop server", schemas.ABOUT, schemas.REFERRED)
    app.include_router(_router(ServerRoutes(host), _allowed(host)))
    app.answer_problems(host, _refusal)
    return app


def description() -> dict[str, Any]:
    """Return the OpenAPI description; no request is answered, so no host is needed."""
    return described_routes(cast(ServerHost, None)).openapi()


def _router(routes: ServerRoutes, admin: Callable[..., None]) -> APIRouter:
    router = APIRouter()

    def add(method: str, path: str, endpoint: Callable[..., Any], says: dict[str, Any], guarded: bool = False) -> None:
        guards = [Security(admin)] if guarded else []
        router.add_api_route(path, endpoint, methods=[method], dependencies=guards, **says)

    add("GET", "/v1/health", routes.health, schemas.HEALTH)
    add("GET", "/metrics", routes.metrics, schemas.METRICS)
    add("GET", "/v1/keys", routes.keys, schemas.KEYS)
    add("GET", "/v1/tasks/{digest}", routes.task, schemas.TASK)
    add("GET", "/v1/tasks/{digest}/log", routes.log, schemas.LOG)
    add("POST", "/v1/queries", routes.order, schemas.ORDER, guarded=True)
    add("GET", "/v1/queries", routes.queries, schemas.QUERIES, guarded=True)
    add("GET", "/v1/queries/{digest}", routes.query, schemas.QUERY, guarded=True)
    add("GET", "/v1/queries/{digest}/result", routes.result, schemas.RESULT, guarded=True)
    return router


def _allowed(host: ServerHost) -> Callable[..., None]:
    def admin(given: Given) -> None:
        host.keys.check("admin", None if given is None else f"{given.scheme} {given.credentials}")

    return admin


def _refusal(error: TreetopError) -> Problem:
    """Return what a client is told: a query that is not there, or an order that cannot be asked."""
    if isinstance(error, UnknownName):
        missing = error.kind == QUERY
        return Problem(404 if missing else 422, "this server has no such query" if missing else str(error))
    return problem_of(error)


def _shown(state: QueryState) -> schemas.QueryShown:
    return schemas.QueryShown(**asdict(state))


def _json(model: Answer, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type="application/json")
