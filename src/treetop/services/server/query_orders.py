"""Orders as the server's API takes them, and as its journal keeps them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.server.planning import QueryOrder
from treetop.federation.task import LAST_SECOND, Deadlines, LeastReports


class DeadlinesWanted(BaseModel):
    """Seconds since 1970, and how long a list stays open."""

    model_config = ConfigDict(extra="forbid", strict=True)
    opens: int = Field(default=0, ge=0, le=LAST_SECOND)
    enrolment: int = Field(default=LAST_SECOND, ge=0, le=LAST_SECOND)
    reports: int = Field(default=LAST_SECOND, ge=0, le=LAST_SECOND)
    level_seconds: int = Field(default=3600, ge=1, le=LAST_SECOND)


class LeastWanted(BaseModel):
    """Groups with fewer reports are not used."""

    model_config = ConfigDict(extra="forbid", strict=True)
    estimate: int = Field(default=500, ge=1, le=1 << 32)
    validation: int = Field(default=100, ge=1, le=1 << 32)


class OrderWanted(BaseModel):
    """A query: what is asked, of whom, how, and until when."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(min_length=1, max_length=200)
    attribute: str = Field(default="item", min_length=1, max_length=200)
    k: int = Field(default=10, ge=1, le=1 << 20)
    epsilon: str = Field(default="2", max_length=24, description="Decimal digits, such as 0.5.")
    mechanism: str = "canopy"
    mode: str = "one-shot"
    oracle: str = "auto"
    encoding: str = "words"
    settings: dict[str, str] = Field(default_factory=dict, description="As --set of the commands.")
    parties: list[str] = Field(default_factory=list, description="The largest first; none named: all.")
    expected: dict[str, int] = Field(default_factory=dict, description="Users of parties, where they are known.")
    deadlines: DeadlinesWanted = DeadlinesWanted()
    least: LeastWanted = LeastWanted()
    policy: str = Field(default="wait", description="A party that does not answer: wait, or proceed without it.")
    patience: int = Field(default=600, ge=1, le=LAST_SECOND, description="Seconds that a party may stay silent.")


def read_order(content: Mapping[str, Any], known: Sequence[str]) -> QueryOrder:
    """Return the order of a JSON object, or refuse it with everything that is wrong."""
    try:
        wanted = OrderWanted.model_validate(dict(content))
    except ValidationError as refusal:
        raise InvalidInput("; ".join(map(_told, refusal.errors()))) from None
    return _query(wanted, known)


def _told(error: Any) -> str:
    where = ".".join(map(str, error["loc"])) or "the order"
    found = "" if error["type"] == "missing" else f", found {error['input']!r:.100}"
    return f"{where}: {error['msg'].lower()}{found}"


def _query(wanted: OrderWanted, known: Sequence[str]) -> QueryOrder:
    for party in wanted.parties:
        if party not in known:
            raise UnknownName("party", party, known)
    return QueryOrder(
        wanted.name, tuple(wanted.parties or known), wanted.attribute, wanted.k, wanted.epsilon, wanted.mechanism,
        cast(Any, wanted.mode), wanted.oracle, wanted.encoding, wanted.settings, wanted.expected,
        Deadlines(**wanted.deadlines.model_dump()), LeastReports(**wanted.least.model_dump()),
        MissingPolicy(cast(Any, wanted.policy), float(wanted.patience)),
    )  # fmt: skip
