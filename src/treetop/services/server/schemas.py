"""The server's API: orders and answers; `make docs` writes its OpenAPI description."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from treetop.adapters.http.described_app import (
    JSON,
    KEYED,
    OCTETS,
    ProblemDetails,
    SignedDocument,
    StrictModel,
    described,
    gives,
    refers,
    sends,
)
from treetop.federation.campaign import MIN_WEEKS, WEEK, Campaign
from treetop.federation.server.campaign_schedule import Cap, campaign_of
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED
from treetop.federation.server.order_json import ListOf, order_from_json, order_to_json
from treetop.federation.server.planning import QueryOrder
from treetop.federation.task import LAST_SECOND, MAX_CYCLES, MAX_PARTIES, MAX_WEEKS
from treetop.federation.wire.uploads import MAX_TICKETS
from treetop.mechanisms.query import FIELDS
from treetop.privacy.epsilon import LARGEST
from treetop.privacy.shuffling import DEFAULT_DELTA

ABOUT = """What the server of a Treetop federation answers to those who ask queries.

Tasks, their signatures and every candidate list that was signed are public; queries and results need an admin key.
Every refusal is a problem (RFC 9457). Repeating any request does no harm: the same order is the same query."""


DIGEST = "^[0-9a-f]{64}$"


class Wanted(BaseModel):
    """A part of an order: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DeadlinesWanted(Wanted):
    """Seconds since 1970, and how long a list stays open."""

    opens: int = Field(default=0, ge=0, le=LAST_SECOND)
    enrolment: int = Field(default=LAST_SECOND, ge=0, le=LAST_SECOND)
    reports: int = Field(default=LAST_SECOND, ge=0, le=LAST_SECOND)
    level_seconds: int = Field(default=3600, ge=1, le=LAST_SECOND)


class LeastWanted(Wanted):
    """Groups with fewer reports are not used."""

    estimate: int = Field(default=500, ge=1, le=1 << 32)
    validation: int = Field(default=100, ge=1, le=1 << 32)


class CentralWanted(Wanted):
    """What is asked for towards everybody but a user's own party, if parties are honest."""

    epsilon: float = Field(gt=0, le=LARGEST)
    delta: float = Field(default=DEFAULT_DELTA, gt=0, lt=1, description="At most 1 / users.")


Word = Annotated[str, Field(max_length=200)]
"""A name of something that Treetop knows: longer ones are nothing."""


PUT_BEFORE = "Digest of a list that was put before."
ONE_ITEM = "Neither this nor a reading: every device holds one item."


def of_query(name: str, *more: str, **options: Any) -> Any:
    """Declare a field of a query: its default, description and range are those of `Query`."""
    about = FIELDS[name]
    unset = (f"Left out: {about.unset}.",) if about.unset else ()
    options = {"description": " ".join((about.line, *more, *unset)), "ge": about.least, "le": about.most, **options}
    return Field(**options) if "default_factory" in options else Field(**{"default": about.default, **options})


class QuestionWanted(Wanted):
    """What is asked, of whom and how: what a query and a campaign have in common."""

    name: str = Field(min_length=1, max_length=200)
    attribute: str = Field(default="item", min_length=1, max_length=200)
    k: int = of_query("k")
    epsilon: str = of_query("epsilon", "Decimal digits, such as 0.5.", max_length=24)
    central: CentralWanted | None = of_query("central")
    mechanism: Word | None = of_query("mechanism")
    mode: Word = "one-shot"
    oracle: Word = of_query("oracle")
    encoding: Word | None = of_query("encoding")
    strategy: Word | None = of_query("strategy")
    catalogue: str | None = of_query("catalogue", PUT_BEFORE, pattern=DIGEST)
    word_list: str | None = of_query("word_list", PUT_BEFORE, pattern=DIGEST)
    text_recovery: bool | None = of_query("text_recovery")
    normalise: str = of_query("normalise", default="", max_length=100)
    items_per_user: int | None = of_query("items_per_user", ONE_ITEM)
    reading: Word | None = of_query("reading")
    settings: dict[Word, Word] = of_query("settings", default_factory=dict, max_length=200)
    parties: list[Word] = Field(
        default_factory=list, max_length=MAX_PARTIES, description="The largest first; none named: all."
    )
    expected: dict[Word, Annotated[int, Field(ge=1, le=MAX_TICKETS)]] = Field(
        default_factory=dict, description="Users of parties, where they are known; otherwise as the settings say."
    )
    max_times_expected: int = Field(
        default=MAX_TIMES_EXPECTED,
        ge=1,
        le=1000,
        description="A party that says it has more than so many times its expected users is refused.",
    )
    least: LeastWanted = LeastWanted()
    policy: Word = Field(default="wait", description="A party that does not answer: wait, or proceed without it.")
    patience: int = Field(default=600, ge=1, le=LAST_SECOND, description="Seconds that a party may stay silent.")

    def order(self, known: Sequence[str], list_of: ListOf) -> QueryOrder:
        """Return the query that a server with these parties and lists runs, or refuse one that cannot be asked."""
        return order_from_json(self.model_dump(), known, list_of)


class OrderWanted(QuestionWanted):
    """A query: what is asked, of whom, how, and until when."""

    deadlines: DeadlinesWanted = DeadlinesWanted()


class CampaignWanted(QuestionWanted):
    """The same question every week: a device answers in one week of a cycle, at the whole epsilon."""

    starts: int = Field(ge=0, le=LAST_SECOND, description="Seconds since 1970 at which the first week opens.")
    every: int = Field(default=WEEK, ge=1, le=LAST_SECOND, description="Seconds of a week.")
    weeks: int = Field(default=12, ge=MIN_WEEKS, le=MAX_WEEKS, description="Weeks of a cycle.")
    cycles: int = Field(default=1, ge=1, le=MAX_CYCLES, description="Cycles; each costs a device one epsilon.")

    def with_order(self, order: QueryOrder) -> "CampaignWanted":
        """Return the same weeks of an order that was settled."""
        settled = {name: value for name, value in order_to_json(order).items() if name != "deadlines"}
        weeks = {name: getattr(self, name) for name in ("starts", "every", "weeks", "cycles")}
        return type(self).model_validate(settled | weeks)

    def campaign(self, order: QueryOrder) -> Campaign:
        """Return the campaign that asks it, or refuse one that devices would not follow to its end."""
        return campaign_of(order, starts=self.starts, every=self.every, weeks=self.weeks, cycles=self.cycles)


class ServerHealth(StrictModel):
    """The service does its work."""

    status: Literal["ok"]
    parties: list[str]


class Keys(StrictModel):
    """Ed25519 public keys, 64 hexadecimal digits each."""

    keys: list[str]


class ListLog(StrictModel):
    """Every candidate list that was signed for a task, in order."""

    lists: list[SignedDocument]


QueryPhase = Literal["running", "answered", "failed"]
CampaignPhase = Literal["waiting", "running", "stopped", "over"]


class QueryShown(StrictModel):
    """How far a query is."""

    model_config = ConfigDict(frozen=True)
    task: str
    name: str
    mode: Literal["one-shot", "rounds"]
    state: QueryPhase
    doing: str
    steps: int


class Queries(StrictModel):
    """All queries, the oldest one first."""

    queries: list[QueryShown]


class ItemShown(StrictModel):
    """An item in the answer of a week, and what changed since the week that it is compared with."""

    item: str
    count: float
    frequency: float
    stderr: float
    significant: bool | None
    source: str | None
    change: Literal["up", "down", "new"] | None = Field(
        default=None, description="new: the week before does not count it. None: what differs may be noise."
    )
    score: float | None = Field(default=None, description="Standard deviations by which the shares differ.")


class WeekShown(StrictModel):
    """What became of a week; weeks that have not begun are not listed."""

    number: int = Field(description="From 1 on, through all cycles.")
    cycle: int
    week: int
    opens: int
    ends: int
    state: Literal["running", "answered", "failed", "missed"]
    doing: str
    task: str | None = Field(description="Digest of its signed task; none where it was missed.")
    reports: int | None = Field(default=None, description="Devices that answered, once the week is counted.")
    refusals: dict[str, int] = Field(
        default_factory=dict, description="Devices that gave their party a reason not to answer, by public code."
    )
    compared_with: int | None = Field(default=None, description="Number of the last week before that has an answer.")
    items: list[ItemShown] = Field(default_factory=list)
    gone: list[str] = Field(default_factory=list, description="Items that this answer does not count any more.")


class CampaignShown(StrictModel):
    """A campaign, how far it is, and what its weeks answered."""

    campaign: str = Field(description="Its digest.")
    name: str
    attribute: str
    epsilon: str = Field(description="Of the one report that a device sends in a cycle.")
    k: int
    mechanism: str
    encoding: str
    parties: list[str]
    items_per_user: int | None
    listed: int = Field(description="Items on the catalogue or word list that was given.")
    expected: dict[str, int] = Field(description="Users of parties; in a week one in `weeks` of them answers.")
    expected_reports: int | None = Field(description="In a week, N / W; None: nobody said how many users there are.")
    starts: int
    every: int
    weeks: int
    cycles: int
    over: int = Field(description="Seconds since 1970 at which the last week ends.")
    state: CampaignPhase
    silent_from: int | None = Field(
        description="When devices as they are shipped refuse, as their budget is spent; None: not before it is over."
    )
    silent_because: Cap | None = Field(description="Which of their caps that is.")
    week: int | None = Field(description="Number of the week that is now, from 1 on through all cycles.")
    answers: list[WeekShown] = Field(description="The weeks so far; empty where campaigns are listed.")


class Campaigns(StrictModel):
    """All campaigns, the oldest one first."""

    campaigns: list[CampaignShown]


class PartyShown(StrictModel):
    """A party as the server sees it at the moment."""

    name: str
    reachable: bool
    problem: str = Field(description="Why there is nothing to say; empty otherwise.")
    version: str | None = None
    devices: int | None = Field(default=None, description="Tickets issued for the task that has most.")
    expected_users: int | None = Field(default=None, description="As the settings say.")
    reports_today: int | None = None
    certificate_end: int | None = Field(default=None, description="Seconds since 1970; none without TLS.")
    refusals: dict[str, int] = Field(
        default_factory=dict, description="Devices that could not answer its newest task, by public code."
    )


class Parties(StrictModel):
    """Every party that the settings name."""

    parties: list[PartyShown]


class TaskAtParty(StrictModel):
    """How far a query's task is at one party: numbers alone."""

    party: str
    expected: int | None = Field(description="Users that the order or the settings expect.")
    problem: str = Field(description="Why there is nothing to say; empty otherwise.")
    tickets: int | None = None
    enrolled: int | None = None
    reports: int | None = None
    verdicts: dict[str, int] = Field(default_factory=dict)
    refusals: dict[str, int] = Field(default_factory=dict, description="Devices that may not answer, by public code.")


class Standing(StrictModel):
    """How far a query's task is at each of its parties."""

    parties: list[TaskAtParty]


class PrefixesOfLevel(StrictModel):
    """One level of the trie as far as it has grown."""

    length: int = Field(description="Bits of a prefix.")
    kept: list[str] = Field(description="Prefixes that the next level grew from, in hexadecimal digits.")
    asked: list[str] = Field(description="What devices were asked about, where a list says so (rounds).")


class Prefixes(StrictModel):
    """The trie of a query as the server knows it, the shortest prefixes first."""

    levels: list[PrefixesOfLevel]


_RESULT: dict[str, Any] = {
    "type": "object",
    "description": "Items with counts and errors, parties, who is missing, share of users covered, privacy facts.",
}
_EVERYBODY = "everybody"
_ADMIN = "admin"
_MONITORING = "monitoring"
_SHOWN = gives("How far the query is.", JSON, refers(QueryShown))

HEALTH = described(_EVERYBODY, 200, gives("All is well.", JSON, refers(ServerHealth)))
METRICS = described(_MONITORING, 200, gives("Prometheus text.", "text/plain", {"type": "string"}), (*KEYED, 404))
KEYS = described(_EVERYBODY, 200, gives("The keys that tasks are signed with.", JSON, refers(Keys)))
TASK = described(_EVERYBODY, 200, gives("The signed task.", JSON, refers(SignedDocument)), (404, 422))
LOG = described(_EVERYBODY, 200, gives("All signed lists of a task.", JSON, refers(ListLog)), (404, 422))
LIST = described(
    _ADMIN,
    204,
    {"description": "It is kept."},
    (*KEYED, 400, 422),
    sends(OCTETS, {"type": "string", "format": "binary"}),
)
ORDER = described(_ADMIN, 201, _SHOWN, (*KEYED, 400, 422))
QUERIES = described(_ADMIN, 200, gives("All queries.", JSON, refers(Queries)), KEYED)
QUERY = described(_ADMIN, 200, _SHOWN, (*KEYED, 404, 422))
PARTIES = described(_ADMIN, 200, gives("All parties.", JSON, refers(Parties)), KEYED)
STANDING = described(_ADMIN, 200, gives("Every party of the query.", JSON, refers(Standing)), (*KEYED, 404, 422))
PREFIXES = described(_ADMIN, 200, gives("The trie so far.", JSON, refers(Prefixes)), (*KEYED, 404, 422))
_EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "data": {"type": "string"}},
    "required": ["data"],
    "description": "One of the stream; its data are JSON.",
}
EVENTS = described(
    _ADMIN,
    200,
    gives("Server-sent events: docs/reference/events.md.", "text/event-stream", _EVENT),
    (*KEYED, 400, 404, 422),
)
EVENTS["responses"][204] = {"description": "The query is answered, and the last event was seen."}
RESULT = described(_ADMIN, 200, gives("The answer.", JSON, _RESULT), (*KEYED, 404, 422))
_CAMPAIGN = gives("The campaign.", JSON, refers(CampaignShown))
START = described(_ADMIN, 201, _CAMPAIGN, (*KEYED, 400, 422))
CAMPAIGNS = described(_ADMIN, 200, gives("All campaigns.", JSON, refers(Campaigns)), KEYED)
CAMPAIGN = described(_ADMIN, 200, _CAMPAIGN, (*KEYED, 404, 422))
STOP = described(_ADMIN, 200, _CAMPAIGN, (*KEYED, 404, 422))
CAMPAIGN_DOCUMENT = described(_EVERYBODY, 200, gives("The signed campaign.", JSON, refers(SignedDocument)), (404, 422))
REFERRED = (
    ProblemDetails,
    ServerHealth,
    Keys,
    ListLog,
    QueryShown,
    Queries,
    Parties,
    Standing,
    CampaignShown,
    Campaigns,
    Prefixes,
)
"""Shapes that the descriptions refer to by name."""
