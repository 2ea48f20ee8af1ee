"""Errors by their code and parameters; how they are worded is nobody's test."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from treetop.errors import TreetopError


@contextmanager
def refused(
    code: str, kind: type[TreetopError] = TreetopError, /, **parameters: object
) -> Iterator[pytest.ExceptionInfo[TreetopError]]:
    """Expect an error of this code whose parameters include these."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code, str(caught.value)
    found = {name: caught.value.parameters.get(name) for name in parameters}
    assert found == parameters
