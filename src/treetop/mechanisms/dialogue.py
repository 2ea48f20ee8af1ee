"""A mechanism is a dialogue: a generator that yields a request and receives its answer.

It knows nothing of who answers. The simulators draw answers from a population in memory; a deployment sends messages
and writes every answer down before going on.
"""

from collections.abc import Generator
from typing import Any, Generic, TypeVar, cast

Answer = TypeVar("Answer")
Result = TypeVar("Result")


class Request(Generic[Answer]):
    """A question whose answer has a type."""


Dialogue = Generator[Request[Any], Any, Result]


def ask(request: Request[Answer]) -> Dialogue[Answer]:
    """Yield a request and return its answer, typed."""
    return cast(Answer, (yield request))
