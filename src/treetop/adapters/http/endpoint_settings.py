"""Settings of every endpoint: its address and certificate, its limits, and bearer keys, kept as digests only."""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Literal, Protocol

from treetop.adapters.http.problem_details import Problem
from treetop.errors import InvalidInput
from treetop.federation.wire.item_lists import MAX_LIST_BYTES
from treetop.toml_files import FilePath, FileValue, Moment, Secret, Source

HEX_32_BYTES = re.compile(r"[0-9a-fA-F]{64}")
MIN_SECRET_BYTES = 32
_GUESSED_FIRST = (
    "",
    " ",
    "0",
    "1234",
    "12345678",
    "123456789",
    "admin",
    "changeme",
    "default",
    "example",
    "guest",
    "key",
    "letmein",
    "metrics",
    "none",
    "null",
    "party",
    "pass",
    "password",
    "qwerty",
    "root",
    "secret",
    "server",
    "test",
    "token",
    "treetop",
    "undefined",
    "user",
)
_GUESSED_DIGESTS = frozenset(
    sha256((word + ending).encode()).hexdigest() for word in _GUESSED_FIRST for ending in ("", "\n", "\r\n")
)
"""Of keys that anybody tries first, and of what `echo` makes of them; of nothing, when a variable was not set."""


@dataclass(frozen=True)
class Address(FileValue):
    """Where the service listens."""

    host: str
    port: int

    @classmethod
    def from_file(cls, value: Any, _source: Source) -> "Address":
        """Read host:port; an IPv6 host stands in brackets."""
        match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\s]+):([0-9]{1,5})", value) if isinstance(value, str) else None
        if match is None or int(match[2]) > 65535:
            raise InvalidInput("address_not_host_port", value=value)
        return cls(match[1].strip("[]"), int(match[2]))

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class AccessKey:
    """A key that opens some endpoints, and from when to when; given itself, or as its SHA-256."""

    key: Secret | None = None
    sha256: str = ""
    not_before: Moment | None = None
    not_after: Moment | None = None

    def __post_init__(self) -> None:
        if (self.key is None) == (not self.sha256):
            raise InvalidInput("key_given_in_one_way")
        if self.key is not None and len(self.key.reveal()) < MIN_SECRET_BYTES:
            raise InvalidInput("key_too_short", min_secret_bytes=MIN_SECRET_BYTES)
        if self.sha256 and not HEX_32_BYTES.fullmatch(self.sha256):
            raise InvalidInput("sha256_malformed")
        if self.sha256.lower() in _GUESSED_DIGESTS:
            raise InvalidInput("sha256_guessable")
        if self.not_before and self.not_after and self.not_before >= self.not_after:
            raise InvalidInput("key_dates_reversed")

    def state(self, now: datetime) -> str:
        """Return pending, active or expired."""
        if self.not_before and now < self.not_before:
            return "pending"
        return "expired" if self.not_after and now >= self.not_after else "active"


@dataclass(frozen=True)
class Tls:
    """The certificate of the endpoint."""

    certificate: FilePath
    key: FilePath
    minimum: str = "1.2"

    def __post_init__(self) -> None:
        if self.minimum not in {"1.2", "1.3"}:
            raise InvalidInput("tls_minimum_unknown", minimum=self.minimum)


Caller = Literal["server", "back_end", "admin", "monitor"]
"""Of a party: its server, and its own back end. Of a server: the analysts who ask queries. Of both: who reads
metrics."""


def tls_problems(listen: Address, tls: Tls | None, trusted_proxy: bool) -> list[str]:
    """Return what is wrong with an address that others can reach without TLS."""
    if listen.loopback or tls or trusted_proxy:
        return []
    return [f"listening on {listen} needs [tls], or trusted_proxy = true behind a proxy that has it"]


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
        """Raise 401 for an unknown key, 403 for one of another caller, 404 if there is no key for this caller."""
        if not any(kept.caller == caller for kept in self._kept):
            raise Problem(404, "not served: the settings name no key for it")
        callers = self.callers_with(_token(authorization))
        if not callers:
            raise Problem(401, "a valid key is needed: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"})
        if caller not in callers:
            raise Problem(403, f"this key is not one of the {caller.replace('_', ' ')}")

    def opens(self, caller: Caller, authorization: str | None) -> bool:
        """Return whether a key is, now, one of this caller's."""
        return caller in self.callers_with(_token(authorization))

    def callers_with(self, key: bytes) -> set[Caller]:
        """Return whose a key is now; no key at all is nobody's, whatever digests the settings name."""
        return self.callers(sha256(key).digest()) if key else set()

    def callers(self, digest: bytes) -> set[Caller]:
        """Return whose a key with this SHA-256 is now; every key is compared, so that the time says nothing."""
        moment = datetime.fromtimestamp(self._now(), UTC)
        return {
            kept.caller
            for kept in self._kept
            if compare_digest(digest, kept.digest) & (kept.entry.state(moment) == "active")
        }

    def entries(self) -> list[tuple[Caller, AccessKey]]:
        """Return every key without what opens anything: whose it is, and from when to when it holds."""
        return [
            (kept.caller, AccessKey(None, "0" * 64, kept.entry.not_before, kept.entry.not_after)) for kept in self._kept
        ]


def _token(authorization: str | None) -> bytes:
    kind, _, token = (authorization or "").partition(" ")
    return token.strip().encode() if kind.lower() == "bearer" else b""


def _kept(caller: Caller, keys: Sequence[AccessKey]) -> list[_Kept]:
    return [
        _Kept(caller, _digest(key), AccessKey(None, _digest(key).hex(), key.not_before, key.not_after)) for key in keys
    ]


def _digest(key: AccessKey) -> bytes:
    return sha256(key.key.reveal()).digest() if key.key else bytes.fromhex(key.sha256)


@dataclass(frozen=True)
class ServiceLimits:
    """The limits of every service, with the defaults of a server."""

    most_body_bytes: int = 1 << 20
    requests_at_once: int = 200
    body_seconds: int = 15
    """For the head of a request, and again for its body."""
    connections_at_once: int = 800
    """Below the 1,024 files that many systems let a process open."""
    most_bytes_in_flight: int = 64 << 20
    """Of all requests that are not answered yet, but for the first 16 KiB of each."""
    most_list_bytes: int = MAX_LIST_BYTES
    """Of a list of items as it is sent, compressed."""

    def __post_init__(self) -> None:
        problems = self.problems()
        if problems:
            raise InvalidInput("settings_invalid", problems=problems)

    def problems(self) -> list[str]:
        """Return what is wrong with them."""
        small = [f"{name} must be 1 at least, found {number}" for name, number in vars(self).items() if number < 1]
        sizes = {"most_body_bytes": self.most_body_bytes, "most_list_bytes": self.most_list_bytes}
        hold = "most_bytes_in_flight must hold one body at least: raise it or lower"
        return small + [f"{hold} {name}" for name, size in sizes.items() if size > self.most_bytes_in_flight]
