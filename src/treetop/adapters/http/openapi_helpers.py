"""What the descriptions of both services are made of: shapes that say all there is, answers, refusals, bodies."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from treetop.adapters.http.problem_details import MEDIA_TYPE

JSON, OCTETS = "application/json", "application/octet-stream"
Words = dict[str, Any]


class Answer(BaseModel):
    """Shapes that say all there is."""

    model_config = ConfigDict(extra="forbid")


class ProblemDetails(Answer):
    """Why a request was refused."""

    type: str
    title: str
    status: int
    detail: str


class SignedDocument(Answer):
    """A task, a list or a beacon, with the server's Ed25519 signature."""

    kind: Literal["task", "list", "beacon"]
    content: str
    signature: str


AGAIN = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}}}
KEYED = (401, 403)
_ALWAYS = (408, 413, 503)
_WHY = {
    400: "Not what was expected.", 401: "No valid key.", 403: "The key of somebody else.",
    404: "No such thing, or not yet.", 408: "The body came too slowly.", 409: "Only an open task can do that.",
    413: "The body is too large.", 422: "A part of the address or the body is out of range.",
    429: "Too many reports wait for the store.", 503: "The store cannot write, or too many requests at once.",
}  # fmt: skip


def refers(model: type[Answer]) -> Words:
    """Return the name of a shape."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def sends(media: str, schema: Words) -> Words:
    """Return what a request brings."""
    return {"openapi_extra": {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}}


def gives(says: str, media: str, schema: Words) -> Words:
    """Return what an answer brings."""
    return {"description": says, "content": {media: {"schema": schema}}}


def described(
    audience: str, status: int, answer: Words, problems: tuple[int, ...] = (), brought: Words | None = None
) -> Words:
    """Return the description of a route: who calls it, its answer, its refusals, what is sent to it."""
    content = {MEDIA_TYPE: {"schema": refers(ProblemDetails)}}
    refusals: dict[int | str, Words] = {
        refusal: {"description": _WHY[refusal], "content": content} for refusal in sorted({*problems, *_ALWAYS})
    }
    for refusal in {429, 503} & refusals.keys():
        refusals[refusal]["headers"] = AGAIN
    responses = {status: answer} | refusals
    route = {"tags": [audience], "status_code": status, "responses": responses, "response_class": Response}
    return route | (brought or {})
