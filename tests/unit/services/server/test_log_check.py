"""A log that a server made up ends in a refusal, whatever it holds."""

from typing import Any

import pytest

from treetop.errors import PeerViolation
from treetop.services.server import log_check


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"lists": 1}', b"[" * 200_000, b"\xff", b"null"])
def test_a_log_that_does_not_read_is_a_violation(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(_connection: Any, path: str) -> bytes:
        return content if path.endswith("/log") else b"{}"

    monkeypatch.setattr(log_check, "_fetched", fetched)
    with pytest.raises(PeerViolation):
        list(log_check.checked_log("http://127.0.0.1:1", "ab" * 32, ["cd" * 32]))
