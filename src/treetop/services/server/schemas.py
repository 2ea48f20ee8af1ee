"""The server's API in words and shapes: from here comes docs/reference/server_openapi.json."""

from typing import Any, Literal

from treetop.adapters.http.openapi_helpers import (
    JSON,
    KEYED,
    Answer,
    ProblemDetails,
    SignedDocument,
    gives,
    refers,
    told,
)

ABOUT = """What the server of a Treetop federation answers to those who ask queries.

Tasks, their signatures and every candidate list that was signed are public; queries and results need an admin key.
Every refusal is a problem (RFC 9457). Repeating any request does no harm: the same order is the same query."""


class ServerHealth(Answer):
    """The service does its work."""

    status: Literal["ok"]
    parties: list[str]


class Keys(Answer):
    """Ed25519 public keys, 64 hexadecimal digits each."""

    keys: list[str]


class ListLog(Answer):
    """Every candidate list that was signed for a task, in order."""

    lists: list[SignedDocument]


class QueryShown(Answer):
    """How far a query is."""

    task: str
    name: str
    mode: Literal["one-shot", "rounds"]
    state: Literal["running", "answered", "failed"]
    doing: str
    steps: int


class Queries(Answer):
    """All queries, the oldest one first."""

    queries: list[QueryShown]


_RESULT: dict[str, Any] = {
    "type": "object",
    "description": "Items with counts and errors, parties, who is missing, share of users covered, privacy facts.",
}
_EVERYBODY, _ADMIN = "everybody", "admin"
_SHOWN = gives("How far the query is.", JSON, refers(QueryShown))

HEALTH = told(_EVERYBODY, 200, gives("All is well.", JSON, refers(ServerHealth)))
METRICS = told(_EVERYBODY, 200, gives("Prometheus text.", "text/plain", {"type": "string"}))
KEYS = told(_EVERYBODY, 200, gives("The keys that tasks are signed with.", JSON, refers(Keys)))
TASK = told(_EVERYBODY, 200, gives("The signed task.", JSON, refers(SignedDocument)), (404, 422))
LOG = told(_EVERYBODY, 200, gives("All signed lists of a task.", JSON, refers(ListLog)), (404, 422))
ORDER = told(_ADMIN, 201, _SHOWN, (*KEYED, 400, 422))
QUERIES = told(_ADMIN, 200, gives("All queries.", JSON, refers(Queries)), KEYED)
QUERY = told(_ADMIN, 200, _SHOWN, (*KEYED, 404, 422))
RESULT = told(_ADMIN, 200, gives("The answer.", JSON, _RESULT), (*KEYED, 404, 422))
REFERRED = (ProblemDetails, ServerHealth, Keys, ListLog, QueryShown, Queries)
"""Shapes that the descriptions refer to by name."""
