"""What a server's settings file says (docs/how_to/samples/server.toml)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treetop.adapters.http.endpoint_settings import (
    MIN_SECRET_BYTES,
    AccessKey,
    Address,
    Caller,
    ServiceLimits,
    Tls,
    tls_problems,
)
from treetop.adapters.http.retrying_connection import checked_url
from treetop.adapters.store_choice import StoreLocation, chosen, store_problems
from treetop.errors import InvalidInput
from treetop.federation.wire.uploads import MAX_TICKETS
from treetop.toml_files import FilePath, Name, Secret


@dataclass(frozen=True)
class KnownParty:
    """A party as its server reaches it."""

    name: Name
    url: str
    key: Secret
    """The key that the party's settings name under server_access."""
    ca: FilePath | None = None
    """Certificates to trust for this party instead of the system's."""
    expected_users: int | None = None
    """How many users it should have: a query refuses it with many times as many, and says what share answered."""

    def __post_init__(self) -> None:
        if self.expected_users is not None and not 1 <= self.expected_users <= MAX_TICKETS:
            raise InvalidInput(
                "expected_users_out_of_range", max_tickets=MAX_TICKETS, expected_users=self.expected_users
            )
        if len(self.key.reveal()) < MIN_SECRET_BYTES:
            raise InvalidInput("party_key_too_short", min_secret_bytes=MIN_SECRET_BYTES)
        checked_url(self.url)


@dataclass(frozen=True)
class ServerSettings:
    """The whole settings file of a server."""

    listen: Address
    signing_key: FilePath
    """Ed25519 private key; its public half is what parties and devices pin."""
    admin_access: tuple[AccessKey, ...]
    parties: tuple[KnownParty, ...]
    journal: StoreLocation | None = None
    journal_url: Secret | None = None
    accept_older_journal: bool = False
    commit_file: FilePath | None = None
    """Where the number of the last commit is kept; beside an SQLite journal unless named."""
    trusted_proxy: bool = False
    metrics_access: tuple[AccessKey, ...] = ()
    """Without a key, nobody is shown the metrics."""
    tls: Tls | None = None
    audit_report: FilePath | None = None
    """What `treetop audit --output` wrote as JSON, for the page that a privacy officer signs."""
    limits: ServiceLimits = field(default_factory=ServiceLimits)

    def __post_init__(self) -> None:
        problems = [*_party_problems(self), *_location_problems(self)]
        if not self.admin_access:
            problems.append("admin_access must have one key at least")
        if problems:
            raise InvalidInput("settings_invalid", problems=problems)

    @property
    def access(self) -> Mapping[Caller, Sequence[AccessKey]]:
        """Return the keys of every caller."""
        return {"admin": self.admin_access, "monitor": self.metrics_access}

    @property
    def journal_location(self) -> StoreLocation:
        """Return which store holds the journal."""
        return chosen(self.journal, self.journal_url)

    @property
    def scheme(self) -> str:
        """Return https, or http behind a proxy or on this machine alone."""
        return "https" if self.tls else "http"


def _party_problems(settings: ServerSettings) -> list[str]:
    if not settings.parties:
        return ["parties must name one party at least"]
    times = Counter(party.name for party in settings.parties)
    return [f"party {name!r} is named {number} times" for name, number in times.items() if number > 1]


def _location_problems(settings: ServerSettings) -> list[str]:
    problems = store_problems("journal", settings.journal, settings.journal_url, settings.commit_file)
    return [*problems, *tls_problems(settings.listen, settings.tls, settings.trusted_proxy)]
