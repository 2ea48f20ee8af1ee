"""The party's API in words and shapes; `make docs` writes its OpenAPI description."""

from typing import Literal

from pydantic import ConfigDict, Field

from treetop.adapters.http.described_app import (
    AGAIN,
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
from treetop.federation.party.party import MAX_TICKETS_AT_ONCE
from treetop.federation.wire.uploads import Refusal, ReportStatus

ABOUT = """What a party of a Treetop federation answers to devices, to its own back end and to the server.

Bytes of tickets, uploads and reports: docs/explanation/wire_protocol.md. Every refusal is a problem (RFC 9457).
Repeating any request does no harm: it gets the same answer again."""


class Health(StrictModel):
    """The service does its work."""

    status: Literal["ok"]
    party: str


class ListedTask(StrictModel):
    """One task of this party."""

    digest: str
    name: str
    mode: Literal["one-shot", "rounds"]
    state: Literal["open", "closed"]


class Tasks(StrictModel):
    """All tasks of this party."""

    tasks: list[ListedTask]


class Verdicts(StrictModel):
    """What became of every report or ticket, in the order they came."""

    verdicts: list[ReportStatus]


class ShownList(StrictModel):
    """One published candidate list."""

    level: int
    role: int
    state: Literal["open", "closed"]
    digest: str


class Lists(StrictModel):
    """All published candidate lists."""

    lists: list[ShownList]


class TicketsWanted(StrictModel):
    """How many tickets the back end needs."""

    model_config = ConfigDict(extra="forbid", strict=True)
    count: int = Field(ge=1, le=MAX_TICKETS_AT_ONCE)


class PartyStanding(StrictModel):
    """How a party is: for its server's operator."""

    party: str
    version: str
    tickets: int = Field(description="Issued for the task that has most: so many devices at least.")
    reports_today: int = Field(description="Accepted since midnight (UTC) or the start of the service.")
    damaged: list[str] = Field(description="Tasks whose part of the store is damaged.")
    refusals: dict[Refusal, int] = Field(
        description="Devices that could not answer the newest task which any device answered or refused, by code."
    )


class TaskStanding(StrictModel):
    """How far a task is at a party: numbers alone."""

    tickets: int
    enrolled: int | None = Field(description="Rounds: devices so far.")
    reports: int = Field(description="In the store.")
    verdicts: dict[str, int] = Field(description="By kind, since the start of the service.")
    refusals: dict[Refusal, int] = Field(description="Devices that said they may not answer, by code.")


class Tickets(StrictModel):
    """Fresh tickets, 48 hexadecimal digits each."""

    tickets: list[str]


_BYTES = {"type": "string", "format": "binary"}
DEVICES = "devices"
_BACK_END = "back end"
_SERVER = "server"
_MONITORING = "monitoring"
_DOCUMENT = gives("The document, byte for byte as the server signed it.", JSON, refers(SignedDocument))
_VERDICTS = gives("A verdict for each, in the order they came.", JSON, refers(Verdicts))

HEALTH = described(DEVICES, 200, gives("All is well.", JSON, refers(Health)))
METRICS = described(_MONITORING, 200, gives("Prometheus text.", "text/plain", {"type": "string"}), (*KEYED, 404))
TASKS = described(DEVICES, 200, gives("All tasks.", JSON, refers(Tasks)))
TASK = described(DEVICES, 200, _DOCUMENT, (404, 422))
BEACON = described(DEVICES, 200, _DOCUMENT, (404, 422))
LISTS = described(DEVICES, 200, gives("All lists.", JSON, refers(Lists)), (404, 422))
LIST = described(DEVICES, 200, _DOCUMENT, (404, 422))
ITEMS = described(DEVICES, 200, gives("The list, compressed JSON.", OCTETS, _BYTES), (404, 422))
CAMPAIGN = described(DEVICES, 200, _DOCUMENT, (404, 422))
ENROLMENTS = described(DEVICES, 200, _VERDICTS, (400, 404, 409, 422), sends(OCTETS, _BYTES))
TICKET_CHECKS = described(DEVICES, 200, _VERDICTS, (400, 404, 422), sends(OCTETS, _BYTES))
REFUSALS = described(DEVICES, 200, _VERDICTS, (400, 404, 422), sends(OCTETS, _BYTES))
REPORTS = described(DEVICES, 200, _VERDICTS, (400, 404, 422, 429), sends(OCTETS, _BYTES))
TICKETS = described(_BACK_END, 200, gives("Fresh tickets.", JSON, refers(Tickets)), (*KEYED, 400, 404, 409, 422))
STANDING = described(_SERVER, 200, gives("Numbers alone.", JSON, refers(PartyStanding)), KEYED)
TASK_STANDING = described(_SERVER, 200, gives("Numbers alone.", JSON, refers(TaskStanding)), (*KEYED, 404, 422))
INSTALL = described(
    _SERVER, 204, {"description": "It is kept."}, (*KEYED, 400, 422), sends(JSON, refers(SignedDocument))
)
GIVE_ITEMS = described(_SERVER, 204, {"description": "It is kept."}, (*KEYED, 400, 404, 422), sends(OCTETS, _BYTES))
GIVE_CAMPAIGN = described(
    _SERVER, 204, {"description": "It is kept."}, (*KEYED, 400, 404, 422), sends(JSON, refers(SignedDocument))
)
TELL = described(_SERVER, 202, {"description": "It is kept."}, (*KEYED, 400, 404, 422), sends(OCTETS, _BYTES))
_AT_WORK = {"description": "Not answered yet.", "headers": AGAIN}
_OUTCOME = gives("The outcome.", OCTETS, _BYTES)
OUTCOME = described(_SERVER, 200, _OUTCOME, (*KEYED, 400, 404, 422))
OUTCOME["responses"] = {202: _AT_WORK} | OUTCOME["responses"]
REFERRED = (
    ProblemDetails,
    Health,
    Tasks,
    Verdicts,
    Lists,
    Tickets,
    SignedDocument,
    PartyStanding,
    TaskStanding,
)
"""Shapes that the descriptions refer to by name."""
