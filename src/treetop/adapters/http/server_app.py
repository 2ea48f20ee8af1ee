"""The server's HTTP API: for those who ask queries, and for everybody who wants to check what was signed."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, get_args

from fastapi import APIRouter, FastAPI, Security
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import Response

from treetop.adapters.http.access_keys import AccessKeys
from treetop.adapters.http.problem_details import Problem, come_back, problem_of, response_of
from treetop.adapters.http.query_desk import QUERY, QueryDesk, QueryPhase
from treetop.adapters.http.query_orders import OrderWanted
from treetop.errors import TreetopError, UnknownName

ABOUT = """What the server of a Treetop federation answers to those who ask queries.

Tasks, their signatures and every candidate list that was signed are public; queries and results need an admin key.
Repeating any request does no harm: the same order is the same query."""
_BEARER = HTTPBearer(auto_error=False, description="An admin key of the server.")

Digest = Annotated[str, InPath(pattern="^[0-9a-f]{64}$", description="Digest of the task in hexadecimal.")]
Given = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


class ServerRoutes:
    """Run by the server: every endpoint."""

    def __init__(self, desk: QueryDesk, public_key: str) -> None:
        self._desk, self._public_key = desk, public_key

    def health(self) -> dict[str, Any]:
        """Say that the service does its work."""
        return {"status": "ok", "parties": list(self._desk.parties)}

    def metrics(self) -> Response:
        """Return the counters for Prometheus."""
        states = [query.state for query in self._desk.states()]
        lines = [f'treetop_queries{{state="{state}"}} {states.count(state)}' for state in get_args(QueryPhase)]
        head = ["# HELP treetop_queries Queries of this server, by state.", "# TYPE treetop_queries gauge"]
        return Response("\n".join([*head, *lines, ""]), media_type="text/plain; version=0.0.4; charset=utf-8")

    def keys(self) -> dict[str, Any]:
        """Return the public key that tasks are signed with."""
        return {"keys": [self._public_key]}

    def task(self, digest: Digest) -> Response:
        """Return the signed task of a query."""
        return Response(self._desk.document(digest), media_type="application/json")

    def log(self, digest: Digest) -> dict[str, Any]:
        """Return every candidate list that was signed for a task (rounds): nobody was shown another."""
        return {"lists": [json.loads(document) for document in self._desk.log(digest)]}

    def order(self, wanted: OrderWanted) -> Response:
        """Order a query: a task is signed, given to its parties, and asked."""
        state = self._desk.take(wanted.model_dump())
        return Response(json.dumps(asdict(state)), 201, media_type="application/json")

    def queries(self) -> dict[str, Any]:
        """List all queries, the oldest one first."""
        return {"queries": [asdict(state) for state in self._desk.states()]}

    def query(self, digest: Digest) -> dict[str, Any]:
        """Say how far a query is."""
        return asdict(self._desk.state(digest))

    def result(self, digest: Digest) -> Response:
        """Return the answer of a query, once there is one."""
        document = self._desk.result(digest)
        if document is None:
            raise come_back(404, "there is no answer yet")
        return Response(document, media_type="application/json")


def server_app(desk: QueryDesk, public_key: str, keys: AccessKeys) -> FastAPI:
    """Return the ASGI application of a server."""
    app = FastAPI(title="Treetop server", version="1", description=ABOUT, docs_url=None, redoc_url=None)
    app.include_router(_router(ServerRoutes(desk, public_key), keys))
    app.add_exception_handler(TreetopError, _answered(_refusal))
    app.add_exception_handler(Problem, _answered(lambda error: error))
    app.add_exception_handler(HTTPException, _answered(lambda error: Problem(error.status_code, str(error.detail))))
    app.add_exception_handler(RequestValidationError, _answered(_invalid))
    return app


def _router(routes: ServerRoutes, keys: AccessKeys) -> APIRouter:
    def admin(given: Given) -> None:
        keys.check("admin", None if given is None else f"{given.scheme} {given.credentials}")

    router, guarded = APIRouter(), [Security(admin)]
    router.add_api_route("/v1/health", routes.health, tags=["everybody"])
    router.add_api_route("/metrics", routes.metrics, tags=["everybody"])
    router.add_api_route("/v1/keys", routes.keys, tags=["everybody"])
    router.add_api_route("/v1/tasks/{digest}", routes.task, tags=["everybody"])
    router.add_api_route("/v1/tasks/{digest}/log", routes.log, tags=["everybody"])
    router.add_api_route("/v1/queries", routes.order, methods=["POST"], status_code=201, dependencies=guarded)
    router.add_api_route("/v1/queries", routes.queries, dependencies=guarded)
    router.add_api_route("/v1/queries/{digest}", routes.query, dependencies=guarded)
    router.add_api_route("/v1/queries/{digest}/result", routes.result, dependencies=guarded)
    return router


def _answered(problem: Callable[[Any], Problem]) -> Callable[[Any, Any], Response]:
    return lambda _, error: response_of(problem(error))


def _refusal(error: TreetopError) -> Problem:
    """Return what a client is told: a query that is not there, or an order that cannot be asked."""
    if isinstance(error, UnknownName):
        missing = error.kind == QUERY
        return Problem(404 if missing else 422, "this server has no such query" if missing else str(error))
    return problem_of(error)


def _invalid(error: RequestValidationError) -> Problem:
    told = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg'].lower()}" for each in error.errors()]
    return Problem(422, "; ".join(told))
