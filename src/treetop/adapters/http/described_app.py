"""Routes with a complete description, every refusal of which is a problem document."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from treetop.adapters.http.openapi_helpers import Answer
from treetop.adapters.http.problem_details import Problem, response_of
from treetop.adapters.http.request_guard import ServiceContext
from treetop.errors import TreetopError


class DescribedApp(FastAPI):
    """Names in its description every shape that the routes refer to."""

    def __init__(self, title: str, about: str, shapes: tuple[type[Answer], ...]) -> None:
        super().__init__(title=title, version="1", description=about, docs_url=None, redoc_url=None)
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
