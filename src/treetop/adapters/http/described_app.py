"""Routes with a complete description, every refusal of which is a problem document."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import Response

from treetop.adapters.http.problem_details import MEDIA_TYPE, Problem, response_of
from treetop.adapters.http.request_guard import ServiceContext
from treetop.errors import TreetopError

JSON = "application/json"
OCTETS = "application/octet-stream"
Words = dict[str, Any]


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""The whole body of a request, as it came."""


class StrictModel(BaseModel):
    """A JSON object whose keys are all described: any other is refused."""

    model_config = ConfigDict(extra="forbid")


class ProblemDetails(StrictModel):
    """Why a request was refused."""

    type: str
    title: str
    status: int
    detail: str


class SignedDocument(StrictModel):
    """A task, a campaign, a list or a beacon, with the server's Ed25519 signature."""

    kind: Literal["task", "campaign", "list", "beacon"]
    content: str
    signature: str


AGAIN = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}}}
KEYED = (401, 403)
_ALWAYS = (408, 413, 421, 503)
_WHY = {
    400: "Not what was expected.",
    401: "No valid key.",
    403: "The key of somebody else.",
    404: "No such thing, or not yet.",
    408: "The body came too slowly.",
    409: "Only an open task can do that.",
    413: "The body is too large.",
    421: "The Host header names another machine.",
    422: "A part of the address or the body is out of range.",
    429: "Too many reports wait for the store.",
    503: "The store cannot write, or too many requests at once.",
}


def refers(model: type[StrictModel]) -> Words:
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


def checked_first(check: Callable[[Request], None]) -> type[APIRoute]:
    """Return routes that check the head of a request before they read its body: FastAPI reads it before all else."""

    class CheckedRoute(APIRoute):
        """A route, and what must be true before."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            """Return what answers a request."""
            answer = super().get_route_handler()

            async def checked(request: Request) -> Response:
                check(request)
                if request.method != "GET":
                    await request.body()  # kept by the request; FastAPI would turn its refusal into another
                return await answer(request)

            return checked

    return CheckedRoute


class DescribedApp(FastAPI):
    """Names in its description every shape that the routes refer to."""

    def __init__(self, title: str, about: str, shapes: tuple[type[StrictModel], ...]) -> None:
        super().__init__(
            title=title, version="1", description=about, docs_url=None, redoc_url=None, redirect_slashes=False
        )  # a redirect would be built from the Host header
        self._shapes = shapes

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description."""
        described = super().openapi()
        shapes = described["components"]["schemas"]
        for model in self._shapes:
            shape = model.model_json_schema(ref_template="#/components/schemas/{model}")
            shapes |= shape.pop("$defs", {})
            shapes[model.__name__] = shape
        return described

    def answer_problems(self, context: ServiceContext, problem_of: Callable[[TreetopError], Problem]) -> None:
        """Answer every exception with a problem document."""

        def refused(error: Any) -> Problem:
            context.note(error)
            problem = problem_of(error)
            if problem.status == 500:
                context.log.failure("internal_error", error)
            return problem

        self._answer(TreetopError, refused)
        self._answer(Problem, lambda problem: problem)
        self._answer(HTTPException, lambda error: Problem(error.status_code, str(error.detail), error.headers or {}))
        self._answer(RequestValidationError, _invalid)
        self._answer(Exception, lambda _: Problem(500, "internal error"))  # the request guard logs it

    def _answer(self, kind: type[Exception], problem: Callable[[Any], Problem]) -> None:
        def handler(_: Any, error: Exception) -> Response:
            return response_of(problem(error))

        self.add_exception_handler(kind, handler)


def _invalid(error: RequestValidationError) -> Problem:
    """Say where a request is not as described; what was found there is not repeated."""
    return Problem(422, "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()))
