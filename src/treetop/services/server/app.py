"""The server's HTTP API: for those who ask queries, and for everybody who wants to check what was signed."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast, get_args

from fastapi import APIRouter, Request, Security
from fastapi import Path as InPath
from fastapi.security import HTTPBearer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response
from starlette.routing import BaseRoute

from treetop.adapters.http.described_app import Body, DescribedApp, StrictModel, checked_first
from treetop.adapters.http.endpoint_settings import AccessKeys, Caller, ServiceLimits
from treetop.adapters.http.metrics import RequestMetrics, counter, gauge, metrics_response
from treetop.adapters.http.problem_details import Problem, come_back, problem_of
from treetop.adapters.http.request_guard import RequestGuard
from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import StoreDamaged, StoreUnavailable, TreetopError, UnknownName
from treetop.services.server import schemas
from treetop.services.server.campaign_manager import CampaignManager
from treetop.services.server.event_streams import EventStreams
from treetop.services.server.party_watch import PartyWatch
from treetop.services.server.query_manager import CAMPAIGN, QUERY, QueryManager

_BEARER = HTTPBearer(auto_error=False, description="An admin key of the server, or one for metrics.")

Digest = Annotated[str, InPath(pattern=schemas.DIGEST, description="Digest in hexadecimal.")]
Named = Annotated[
    str, InPath(min_length=1, max_length=200, description="Digest of a campaign, or its name: then the newest one.")
]
_LISTS_PATH = re.compile("/v1/lists/[0-9a-f]{64}")


@dataclass(frozen=True, eq=False)
class ServerContext(Collector):
    """Run by the server: everything its endpoints reach."""

    queries: QueryManager
    campaigns: CampaignManager
    public_key: str
    keys: AccessKeys
    log: StructuredLog
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    metrics: RequestMetrics = field(default_factory=RequestMetrics)
    watch: PartyWatch = field(default_factory=lambda: PartyWatch({}))
    hosts: frozenset[str] | None = None
    streams: EventStreams = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "streams", EventStreams(self.queries))

    def note(self, error: TreetopError) -> None:
        """Log what the operator must know: the journal does not work."""
        if isinstance(error, StoreDamaged | StoreUnavailable):
            self.log.client("journal_unavailable", kind=type(error).__name__)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield from self.metrics.collect()
        states = Counter(query.state for query in self.queries.states())
        phases = [((phase,), states[phase]) for phase in get_args(schemas.QueryPhase)]
        yield gauge("queries", "Queries of this server, by state.", phases, "state")
        running = Counter(campaign.state for campaign in self.campaigns.states())
        states_of = [((state,), running[state]) for state in get_args(schemas.CampaignPhase)]
        yield gauge("campaigns", "Campaigns of this server, by state.", states_of, "state")
        steps = [((query.task,), query.steps) for query in self.queries.states()]
        yield gauge("query_steps", "Replies of parties that a query has taken since the server's start.", steps, "task")
        yield gauge("event_listeners", "Clients that follow a query.", [((), self.streams.listeners)])
        yield counter("parties_left_out", "Parties that a query went on without.", [((), self.queries.left_out)])


class ServerRoutes:
    """Run by the server: every endpoint."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    @property
    def _queries(self) -> QueryManager:
        return self._context.queries

    @property
    def _campaigns(self) -> CampaignManager:
        return self._context.campaigns

    def health(self) -> Response:
        """Say that the service does its work."""
        return _json(schemas.ServerHealth(status="ok", parties=list(self._queries.parties)))

    def metrics(self) -> Response:
        """Return the counters for Prometheus."""
        return metrics_response(self._context)

    def keys(self) -> Response:
        """Return the public key that tasks are signed with."""
        return _json(schemas.Keys(keys=[self._context.public_key]))

    def task(self, digest: Digest) -> Response:
        """Return the signed task of a query."""
        return Response(self._queries.document(digest), media_type="application/json")

    def log(self, digest: Digest) -> Response:
        """Return every candidate list that was signed for a task (rounds): nobody was shown another."""
        lists = [json.loads(document) for document in self._queries.log(digest)]
        return Response(json.dumps({"lists": lists}), media_type="application/json")

    def keep_list(self, digest: Digest, document: Body) -> Response:
        """Take a list of items that orders may name by its digest: a catalogue, or words."""
        self._queries.keep_list(digest, document)
        return Response(status_code=204)

    def order(self, wanted: schemas.OrderWanted) -> Response:
        """Order a query: a task is signed, given to its parties, and asked."""
        return _json(self._queries.take(wanted), 201)

    def queries(self) -> Response:
        """List all queries, the oldest one first."""
        return _json(schemas.Queries(queries=self._queries.states()))

    def query(self, digest: Digest) -> Response:
        """Say how far a query is."""
        return _json(self._queries.state(digest))

    def parties(self) -> Response:
        """Say how every party is."""
        return _json(schemas.Parties(parties=self._context.watch.parties()))

    def standing(self, digest: Digest) -> Response:
        """Say how far a query's task is at each of its parties: reports, tickets, verdicts by kind."""
        return _json(schemas.Standing(parties=self._context.watch.standing(self._queries.order(digest), digest)))

    def prefixes(self, digest: Digest) -> Response:
        """Return the trie of a query as far as it has grown, where the server knows it."""
        levels = [
            schemas.PrefixesOfLevel(length=level.length, kept=_hex(level.kept), asked=_hex(level.asked))
            for level in self._queries.grown(digest)
        ]
        return _json(schemas.Prefixes(levels=levels))

    def events(self, digest: Digest, request: Request) -> Response:
        """Follow a query: every fact of its journal as a server-sent event, behind Last-Event-ID if there is one."""
        headers = request.headers
        keys = self._context.keys
        return self._context.streams.response(
            digest, headers.get("last-event-id"), lambda: keys.opens("admin", headers.get("authorization"))
        )

    def result(self, digest: Digest) -> Response:
        """Return the answer of a query, once there is one."""
        document = self._queries.result(digest)
        if document is None:
            raise unanswered(self._queries.state(digest))
        return Response(document, media_type="application/json")

    def start(self, wanted: schemas.CampaignWanted) -> Response:
        """Start a campaign: the same question is asked every week, from its first week on."""
        return _json(self._campaigns.take(wanted), 201)

    def campaigns(self) -> Response:
        """List all campaigns, the oldest one first, without the answers of their weeks."""
        return _json(schemas.Campaigns(campaigns=self._campaigns.states()))

    def campaign(self, campaign: Named) -> Response:
        """Say how far a campaign is, and what its weeks answered."""
        return _json(self._campaigns.state(campaign))

    def stop(self, campaign: Named) -> Response:
        """Stop a campaign: no further week is asked, ever; the one under way is still answered."""
        return _json(self._campaigns.end(campaign))

    def campaign_document(self, digest: Digest) -> Response:
        """Return the signed campaign that the tasks of its weeks name."""
        return Response(self._campaigns.document(digest), media_type="application/json")


def server_app(context: ServerContext, pages: Sequence[BaseRoute] = ()) -> RequestGuard:
    """Return the ASGI application of a server."""
    routes = described_routes(context)
    routes.router.routes.extend(pages)
    return RequestGuard(context, routes, refusal, _LISTS_PATH)


def described_routes(context: ServerContext) -> DescribedApp:
    """Return all endpoints with their description."""
    app = DescribedApp("Treetop server", schemas.ABOUT, schemas.REFERRED)
    app.include_router(_router(context))
    app.answer_problems(context, refusal)
    return app


def description() -> dict[str, Any]:
    """Return the OpenAPI description; no request is answered, so no context is needed."""
    return described_routes(cast(ServerContext, None)).openapi()


def _router(context: ServerContext) -> APIRouter:
    routes = ServerRoutes(context)
    router = APIRouter()

    def add(
        method: str, path: str, endpoint: Callable[..., Any], says: dict[str, Any], caller: Caller | None = None
    ) -> None:
        """Add a route; who calls is checked before a body is read."""

        def check(request: Request) -> None:
            if caller is not None:
                context.keys.check(caller, request.headers.get("authorization"))

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
    add("GET", "/v1/keys", routes.keys, schemas.KEYS)
    add("GET", "/v1/tasks/{digest}", routes.task, schemas.TASK)
    add("GET", "/v1/tasks/{digest}/log", routes.log, schemas.LOG)
    add("PUT", "/v1/lists/{digest}", routes.keep_list, schemas.LIST, "admin")
    add("POST", "/v1/queries", routes.order, schemas.ORDER, "admin")
    add("GET", "/v1/queries", routes.queries, schemas.QUERIES, "admin")
    add("GET", "/v1/queries/{digest}", routes.query, schemas.QUERY, "admin")
    add("GET", "/v1/parties", routes.parties, schemas.PARTIES, "admin")
    add("GET", "/v1/queries/{digest}/standing", routes.standing, schemas.STANDING, "admin")
    add("GET", "/v1/queries/{digest}/prefixes", routes.prefixes, schemas.PREFIXES, "admin")
    add("GET", "/v1/queries/{digest}/events", routes.events, schemas.EVENTS, "admin")
    add("GET", "/v1/queries/{digest}/result", routes.result, schemas.RESULT, "admin")
    add("POST", "/v1/campaigns", routes.start, schemas.START, "admin")
    add("GET", "/v1/campaigns", routes.campaigns, schemas.CAMPAIGNS, "admin")
    add("GET", "/v1/campaigns/{campaign}", routes.campaign, schemas.CAMPAIGN, "admin")
    add("POST", "/v1/campaigns/{campaign}/stop", routes.stop, schemas.STOP, "admin")
    add("GET", "/v1/campaigns/{digest}/document", routes.campaign_document, schemas.CAMPAIGN_DOCUMENT)
    return router


def refusal(error: TreetopError) -> Problem:
    """Return the answer to a query or campaign that is not there, or to an order that cannot be asked."""
    if isinstance(error, UnknownName):
        missing = error.kind in {QUERY, CAMPAIGN}
        return Problem(404 if missing else 422, f"this server has no such {error.kind}" if missing else str(error))
    return problem_of(error)


def unanswered(query: schemas.QueryShown) -> Problem:
    """Return why a query has no answer: it is under way, or it failed, and then nobody should wait."""
    if query.state == "failed":
        return Problem(404, f"the query failed: {query.doing}")
    return come_back(404, "there is no answer yet")


def _hex(prefixes: Iterable[int]) -> list[str]:
    return [f"{prefix:x}" for prefix in sorted(prefixes)]


def _json(model: StrictModel, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type="application/json")
