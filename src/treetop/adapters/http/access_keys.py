"""Who may call what: bearer keys, kept as digests only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Literal, Protocol

from treetop.adapters.http.endpoint_settings import AccessKey
from treetop.adapters.http.problem_details import Problem

Caller = Literal["server", "back_end", "admin"]
"""Of a party: its server, and its own back end. Of a server: the analysts who ask queries."""


class GrantsAccess(Protocol):
    """Settings that name keys."""

    @property
    def access(self) -> Mapping[Caller, Sequence[AccessKey]]:
        """Return the keys of every caller."""
        ...


@dataclass(frozen=True, repr=False)
class _Kept:
    caller: Caller
    digest: bytes
    entry: AccessKey


class AccessKeys:
    """The keys that are valid now; replaced as a whole when the settings are read again."""

    def __init__(self, settings: GrantsAccess, now: Callable[[], int]) -> None:
        self._now = now
        self.replace(settings)

    def replace(self, settings: GrantsAccess) -> None:
        """Take the keys of new settings from the next request on."""
        self._kept = [kept for caller, keys in settings.access.items() for kept in _kept(caller, keys)]

    def check(self, caller: Caller, authorization: str | None) -> None:
        """Raise 401 for an unknown key, 403 for one of another caller."""
        shown = sha256(_token(authorization)).digest()
        moment = datetime.fromtimestamp(self._now(), UTC)
        # Every key is compared, whichever matches: the time says nothing.
        callers = {
            kept.caller
            for kept in self._kept
            if compare_digest(shown, kept.digest) & (kept.entry.state(moment) == "active")
        }
        if not callers:
            raise Problem(401, "a valid key is needed: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"})
        if caller not in callers:
            raise Problem(403, f"this key is not one of the {caller.replace('_', ' ')}")


def _token(authorization: str | None) -> bytes:
    kind, _, token = (authorization or "").partition(" ")
    return token.strip().encode() if kind.lower() == "bearer" else b""


def _kept(caller: Caller, keys: Sequence[AccessKey]) -> list[_Kept]:
    return [
        _Kept(caller, _digest(key), AccessKey(None, _digest(key).hex(), key.not_before, key.not_after)) for key in keys
    ]


def _digest(key: AccessKey) -> bytes:
    return sha256(key.key.reveal()).digest() if key.key else bytes.fromhex(key.sha256)
