"""Access keys: which ones are refused in settings, and that no key at all is nobody's."""

from hashlib import sha256

import pytest
from tests.support.servers import server_settings

from treetop.adapters.http import endpoint_settings
from treetop.adapters.http.endpoint_settings import AccessKey, AccessKeys
from treetop.adapters.http.problem_details import Problem
from treetop.errors import InvalidInput

NO_KEYS = [None, "", "Bearer", "Bearer ", "Bearer    ", "bearer \t", "Basic dGVzdA==", "Token x"]


@pytest.mark.parametrize("word", ["", " ", "\n", "password", "test", "test\n", "admin", "treetop", "changeme\r\n"])
def test_the_digest_of_a_key_that_anybody_guesses_is_refused(word: str) -> None:
    digest = sha256(word.encode()).hexdigest()
    for written in (digest, digest.upper()):
        with pytest.raises(InvalidInput, match="sha256 is the digest"):
            AccessKey(sha256=written)


def test_no_key_is_looked_up_even_if_its_digest_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_settings, "_GUESSED_DIGESTS", frozenset())
    nothing = AccessKey(sha256=sha256(b"").hexdigest())
    keys = AccessKeys(server_settings(nothing), lambda: 0)
    assert keys.callers_with(b"") == set()
    for shown in NO_KEYS:
        assert not keys.opens("admin", shown)
        with pytest.raises(Problem) as refused:
            keys.check("admin", shown)
        assert refused.value.status == 401
