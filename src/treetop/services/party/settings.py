"""What a party's settings file says (docs/how_to/samples/party.toml)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treetop.adapters.http.browser_rules import origin_problem
from treetop.adapters.http.endpoint_settings import (
    HEX_32_BYTES,
    MIN_SECRET_BYTES,
    AccessKey,
    Address,
    Caller,
    ServiceLimits,
    Tls,
    tls_problems,
)
from treetop.adapters.report_files.locations import ReportFolder
from treetop.adapters.store_choice import StoreLocation, chosen, store_problems
from treetop.errors import InvalidInput
from treetop.toml_files import FilePath, Name, Secret


@dataclass(frozen=True)
class Limits(ServiceLimits):
    """The limits of a party: those of every service, and how many reports it takes."""

    most_body_bytes: int = 4 << 20
    requests_at_once: int = 1_000
    most_reports_per_request: int = 10_000
    queue: int = 50_000
    """Reports that wait for the store."""

    def problems(self) -> list[str]:
        """Return what is wrong with them."""
        problems = super().problems()
        if self.most_reports_per_request > 10_000:
            problems.append("most_reports_per_request must be 10000 at most")
        if self.queue < self.most_reports_per_request:
            problems.append("queue must hold one request at least: raise queue or lower most_reports_per_request")
        return problems


@dataclass(frozen=True)
class PartySettings:
    """The whole settings file of a party."""

    name: Name
    listen: Address
    reports: ReportFolder
    """Where the exported report files lie: a folder, or s3://bucket/folder."""
    server_signing_keys: tuple[str, ...]
    """Ed25519 public keys whose tasks, beacons and lists are believed: two while they are rotated."""
    ticket_secret: Secret
    server_access: tuple[AccessKey, ...]
    back_end_access: tuple[AccessKey, ...]
    store: StoreLocation | None = None
    store_url: Secret | None = None
    accept_older_store: bool = False
    """Go on with a store that was restored from a backup."""
    commit_file: FilePath | None = None
    """Where the number of the last commit is kept; beside an SQLite store unless named."""
    least_reports: int = 100
    """The party's own floor: a task that would count a group of fewer reports is refused."""
    close_when_complete: bool = False
    """Do not wait for the deadline once every issued ticket was used; for federations on one machine."""
    trusted_proxy: bool = False
    """A proxy in front speaks TLS with the outside: plain HTTP is allowed on any address."""
    allowed_origins: tuple[str, ...] = ()
    """Origins whose web pages may report as devices (CORS): https://survey.example; none unless named."""
    metrics_access: tuple[AccessKey, ...] = ()
    """Without a key, nobody is shown the metrics."""
    tls: Tls | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        problems = [*_key_problems(self), *_location_problems(self)]
        if self.least_reports < 1:
            problems.append(f"least_reports must be 1 at least, found {self.least_reports}")
        if problems:
            raise InvalidInput("settings_invalid", problems=problems)

    @property
    def access(self) -> Mapping[Caller, Sequence[AccessKey]]:
        """Return the keys of every caller."""
        return {"server": self.server_access, "back_end": self.back_end_access, "monitor": self.metrics_access}

    @property
    def store_location(self) -> StoreLocation:
        """Return which store is used."""
        return chosen(self.store, self.store_url)

    @property
    def scheme(self) -> str:
        """Return https, or http behind a proxy or on this machine alone."""
        return "https" if self.tls else "http"


def _key_problems(settings: PartySettings) -> list[str]:
    problems = [
        f"server_signing_keys must be 64 hexadecimal digits, found {key!r}"
        for key in settings.server_signing_keys
        if not HEX_32_BYTES.fullmatch(key)
    ]
    if not settings.server_signing_keys:
        problems.append("server_signing_keys must name one key at least")
    if len(settings.ticket_secret.reveal()) < MIN_SECRET_BYTES:
        problems.append(f"the ticket secret must be {MIN_SECRET_BYTES} bytes at least")
    roles = ("server_access", "back_end_access")
    return problems + [f"{role} must have one key at least" for role in roles if not getattr(settings, role)]


def _location_problems(settings: PartySettings) -> list[str]:
    problems = [problem for origin in settings.allowed_origins if (problem := origin_problem(origin))]
    problems += store_problems("store", settings.store, settings.store_url, settings.commit_file)
    return problems + tls_problems(settings.listen, settings.tls, settings.trusted_proxy)
