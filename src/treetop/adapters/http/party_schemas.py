"""The party's API in words and shapes: from here comes docs/reference/party_openapi.json."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from treetop.adapters.http.problem_details import MEDIA_TYPE
from treetop.federation.party import MOST_TICKETS_AT_ONCE
from treetop.federation.uploads import Verdict

ABOUT = """What a party of a Treetop federation answers to devices, to its own back end and to the server.

Bytes of tickets, uploads and reports: docs/explanation/wire_protocol.md. Every refusal is a problem (RFC 9457).
Repeating any request does no harm: it gets the same answer again."""


class Answer(BaseModel):
    """Shapes that say all there is."""

    model_config = ConfigDict(extra="forbid")


class ProblemDetails(Answer):
    """Why a request was refused."""

    type: str
    title: str
    status: int
    detail: str


class Health(Answer):
    """The service does its work."""

    status: Literal["ok"]
    party: str


class ListedTask(Answer):
    """One task of this party."""

    digest: str
    name: str
    mode: Literal["one-shot", "rounds"]
    state: Literal["open", "closed"]


class Tasks(Answer):
    """All tasks of this party."""

    tasks: list[ListedTask]


class Verdicts(Answer):
    """What became of every report or ticket, in the order they came."""

    verdicts: list[Verdict]


class ShownList(Answer):
    """One published candidate list."""

    level: int
    role: int
    state: Literal["open", "closed"]
    digest: str


class Lists(Answer):
    """All published candidate lists."""

    lists: list[ShownList]


class TicketsWanted(Answer):
    """How many tickets the back end needs."""

    model_config = ConfigDict(extra="forbid", strict=True)
    count: int = Field(ge=1, le=MOST_TICKETS_AT_ONCE)


class Tickets(Answer):
    """Fresh tickets, 48 hexadecimal digits each."""

    tickets: list[str]


class SignedDocument(Answer):
    """A task, a list or a beacon, with the server's Ed25519 signature."""

    kind: Literal["task", "list", "beacon"]
    content: str
    signature: str


_JSON, _OCTETS = "application/json", "application/octet-stream"
_BYTES = {"type": "string", "format": "binary"}
_AGAIN = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}}}
_WHY = {
    400: "Not what was expected.", 401: "No valid key.", 403: "The key of somebody else.",
    404: "No such thing, or not yet.", 408: "The body came too slowly.", 409: "Only an open task can do that.",
    413: "The body is too large.", 422: "A part of the address or the body is out of range.",
    429: "Too many reports wait for the store.", 503: "The store cannot write, or too many requests at once.",
}  # fmt: skip
_ALWAYS = (408, 413, 503)
_KEYED = (401, 403)


def _problems(statuses: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    content = {MEDIA_TYPE: {"schema": _refers(ProblemDetails)}}
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": _WHY[status], "content": content} for status in sorted({*statuses, *_ALWAYS})
    }
    for status in {429, 503} & described.keys():
        described[status]["headers"] = _AGAIN
    return described


def _refers(model: type[Answer]) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _sends(media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"openapi_extra": {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}}


def _gives(says: str, media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": says, "content": {media: {"schema": schema}}}


def _told(
    audience: str,
    status: int,
    answer: dict[str, Any],
    problems: tuple[int, ...] = (),
    sends: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a route says of itself: who calls it, its answer, its refusals, what is sent to it."""
    responses = {status: answer} | _problems(problems)
    return {"tags": [audience], "status_code": status, "responses": responses, "response_class": Response} | (
        sends or {}
    )


_DEVICES, _BACK_END, _SERVER = "devices", "back end", "server"
_DOCUMENT = _gives("The document, byte for byte as the server signed it.", _JSON, _refers(SignedDocument))
_VERDICTS = _gives("A verdict for each, in the order they came.", _JSON, _refers(Verdicts))

HEALTH = _told(_DEVICES, 200, _gives("All is well.", _JSON, _refers(Health)))
METRICS = _told(_DEVICES, 200, _gives("Prometheus text.", "text/plain", {"type": "string"}))
TASKS = _told(_DEVICES, 200, _gives("All tasks.", _JSON, _refers(Tasks)))
TASK = _told(_DEVICES, 200, _DOCUMENT, (404, 422))
BEACON = _told(_DEVICES, 200, _DOCUMENT, (404, 422))
LISTS = _told(_DEVICES, 200, _gives("All lists.", _JSON, _refers(Lists)), (404, 422))
LIST = _told(_DEVICES, 200, _DOCUMENT, (404, 422))
ENROLMENTS = _told(_DEVICES, 200, _VERDICTS, (400, 404, 409, 422), _sends(_OCTETS, _BYTES))
REPORTS = _told(_DEVICES, 200, _VERDICTS, (400, 404, 422, 429), _sends(_OCTETS, _BYTES))
TICKETS = _told(_BACK_END, 200, _gives("Fresh tickets.", _JSON, _refers(Tickets)), (*_KEYED, 400, 404, 409, 422))
INSTALL = _told(
    _SERVER, 204, {"description": "It is kept."}, (*_KEYED, 400, 422), _sends(_JSON, _refers(SignedDocument))
)
TELL = _told(_SERVER, 202, {"description": "It is kept."}, (*_KEYED, 400, 404, 422), _sends(_OCTETS, _BYTES))
_AT_WORK = {"description": "Not answered yet.", "headers": _AGAIN}
_OUTCOME = _gives("The outcome.", _OCTETS, _BYTES)
OUTCOME = _told(_SERVER, 200, _OUTCOME, (*_KEYED, 400, 404, 422))
OUTCOME["responses"] = {202: _AT_WORK} | OUTCOME["responses"]
REFERRED = (ProblemDetails, Health, Tasks, Verdicts, Lists, Tickets, SignedDocument)
"""Shapes that the descriptions refer to by name."""
