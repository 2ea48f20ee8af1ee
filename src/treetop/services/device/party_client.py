"""What a device, or a party's own back end, asks of a party; every answer is checked before it is used."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treetop.adapters.http.retrying_connection import Reply, Request, RetryingConnection
from treetop.errors import PeerViolation
from treetop.federation.wire.uploads import (
    TICKET_BYTES,
    Refusal,
    ReportStatus,
    Ticket,
    TicketedReport,
    encoded_refusals,
    encoded_upload,
)
from treetop.trie.user_groups import Group, Role

MAX_DOCUMENT_BYTES = 1 << 26
"""Of a signed document or a list of items: a hostile party must not fill a device's memory."""
MAX_DETAIL = 300
"""Characters of a party's own words that are shown."""
_ROLES = tuple(Role)
_BYTES = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True)
class OfferedTask:
    """A task as its party lists it; nothing of it is believed but that it can be asked for."""

    digest: bytes
    name: str
    mode: str
    open: bool


@dataclass(frozen=True)
class OfferedList:
    """A candidate list as its party lists it."""

    group: Group
    open: bool


class PartyClient:
    """Run by the device: a party's HTTP API. `PartyUnreachable` while it is away, `PeerViolation` if it is wrong."""

    def __init__(self, connection: RetryingConnection) -> None:
        self._connection = connection

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def tasks(self) -> list[OfferedTask]:
        """Return the tasks that the party lists."""
        found = self._json(Request("GET", "/v1/tasks"))
        return [_offered_task(each) for each in _member(found, "tasks", list)]

    def task(self, digest: bytes) -> bytes:
        """Return the signed document of a task; nobody has checked it."""
        reply = self._connection.ask(Request("GET", _path(digest), max_bytes=MAX_DOCUMENT_BYTES))
        return self._expected(reply).body

    def enrol(self, digest: bytes, tickets: Sequence[bytes]) -> list[ReportStatus]:
        """Enrol devices by their tickets (rounds); return a verdict for each."""
        request = Request("POST", _path(digest, "enrolments"), b"".join(tickets), _BYTES)
        return _verdicts(self._json(request), len(tickets))

    def check_tickets(self, digest: bytes, tickets: Sequence[bytes]) -> list[ReportStatus]:
        """Ask whether tickets are the party's own; return a verdict for each."""
        request = Request("POST", _path(digest, "ticket-checks"), b"".join(tickets), _BYTES)
        return _verdicts(self._json(request), len(tickets))

    def tell_refusals(self, digest: bytes, refusals: Sequence[tuple[bytes, Refusal]]) -> list[ReportStatus]:
        """Report by their tickets that devices may not answer; return a verdict for each."""
        request = Request("POST", _path(digest, "refusals"), encoded_refusals(refusals), _BYTES)
        return _verdicts(self._json(request), len(refusals))

    def beacon(self, digest: bytes) -> bytes | None:
        """Return the signed beacon of a task, or None while there is none."""
        return self._document_if_any(_path(digest, "beacon"))

    def lists(self, digest: bytes) -> list[OfferedList]:
        """Return the candidate lists that the party has published."""
        found = self._json(Request("GET", _path(digest, "lists")))
        return [_offered_list(each) for each in _member(found, "lists", list)]

    def candidate_list(self, digest: bytes, group: Group) -> bytes | None:
        """Return the signed list of a group, or None while there is none."""
        return self._document_if_any(_path(digest, "lists", str(group.level), str(_ROLES.index(group.role))))

    def item_list(self, digest: bytes) -> bytes | None:
        """Return the list of items that a task names, or None while the party has none; nobody has checked it."""
        return self._document_if_any(_path(digest, "items"))

    def campaign(self, digest: str) -> bytes | None:
        """Return the signed campaign that a task is a week of, or None while the party has none; not checked."""
        return self._document_if_any(f"/v1/campaigns/{digest}")

    def submit(self, digest: bytes, entries: Sequence[TicketedReport]) -> Sequence[ReportStatus]:
        """Send reports with their tickets; return a verdict for each."""
        request = Request("POST", _path(digest, "reports"), encoded_upload(entries), _BYTES)
        return _verdicts(self._json(request), len(entries))

    def tickets(self, digest: bytes, count: int, key: str) -> Sequence[Ticket]:
        """Run by the party's back end: have new tickets written."""
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = json.dumps({"count": count}).encode("ascii")
        request = Request("POST", _path(digest, "tickets"), body, headers, MAX_DOCUMENT_BYTES)
        texts = _member(self._json(request), "tickets", list)
        _require(len(texts) == count, "number of tickets", count, len(texts))
        return [_ticket(text) for text in texts]

    def _document_if_any(self, path: str) -> bytes | None:
        reply = self._connection.ask(Request("GET", path, max_bytes=MAX_DOCUMENT_BYTES))
        return None if reply.status == 404 else self._expected(reply).body

    def _json(self, request: Request) -> Any:
        reply = self._expected(self._connection.ask(request))
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError):
            raise PeerViolation("answer of the party", "JSON", "something else") from None

    @staticmethod
    def _expected(reply: Reply) -> Reply:
        found = f"{reply.status}{detail_of(reply.body)}"
        _require(200 <= reply.status < 300, "answer of the party", "status 200", found)
        return reply


def _path(digest: bytes, *parts: str) -> str:
    return "/".join(("/v1/tasks", digest.hex(), *parts))


def _require(holds: bool, what: str, expected: object, found: object) -> None:
    if not holds:
        raise PeerViolation(what, expected, found)


def _member(found: Any, name: str, kind: type) -> Any:
    value = found.get(name) if isinstance(found, dict) else None
    _require(type(value) is kind, f"answer of the party, {name!r}", f"a {kind.__name__}", "something else")
    return value


def _verdicts(found: Any, count: int) -> list[ReportStatus]:
    texts = _member(found, "verdicts", list)
    _require(len(texts) == count, "number of verdicts", count, len(texts))
    try:
        return list(map(ReportStatus, texts))
    except ValueError:
        raise PeerViolation("verdict", ", ".join(ReportStatus), "another") from None


def _offered_task(entry: Any) -> OfferedTask:
    mode = _member(entry, "mode", str)
    state = _member(entry, "state", str)
    _require(mode in {"one-shot", "rounds"}, "mode of a task", "one-shot or rounds", mode)
    return OfferedTask(_digest(_member(entry, "digest", str)), _member(entry, "name", str), mode, _is_open(state))


def _offered_list(entry: Any) -> OfferedList:
    role = _member(entry, "role", int)
    level = _member(entry, "level", int)
    _require(0 <= role < len(_ROLES), "role of a list", f"below {len(_ROLES)}", role)
    return OfferedList(Group(level, _ROLES[role]), _is_open(_member(entry, "state", str)))


def _is_open(state: str) -> bool:
    _require(state in {"open", "closed"}, "state", "open or closed", state)
    return state == "open"


def _digest(text: str) -> bytes:
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    _require(len(digest) == 32, "digest of a task", "64 hexadecimal digits", "something else")
    return digest


def _ticket(text: Any) -> Ticket:
    usable = isinstance(text, str) and len(text) == 2 * TICKET_BYTES
    try:
        return Ticket.from_bytes(bytes.fromhex(text if usable else ""))
    except ValueError:
        raise PeerViolation("ticket", f"{2 * TICKET_BYTES} hexadecimal digits", "something else") from None


def detail_of(body: bytes) -> str:
    """Return what a problem document says, as far as it can be shown."""
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    shown = "".join(character for character in str(detail)[:MAX_DETAIL] if character.isprintable())
    return f": {shown}"
