"""A party on this machine that records every request, and answers, hangs up or is busy as a check demands."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256, sha512
from hmac import compare_digest, digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Literal, NamedTuple

from treetop.audit.shipped.watched_machine import Disk
from treetop.errors import InvalidInput
from treetop.federation.campaign import Campaign
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.task import DeviceTask
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import Beacon, PublishedList, signed, signed_campaign, signed_task
from treetop.federation.wire.uploads import (
    SERIAL_BYTES,
    TICKET_BYTES,
    ReportStatus,
    Ticket,
    TicketedReport,
    TicketKey,
    decoded_refusals,
    decoded_upload,
)
from treetop.trie.user_groups import Group, Role

PARTY = "audited"
BEACON = sha256(b"audit").digest()
TICKETS = TicketKey(bytes(32))
_ROLES = tuple(Role)
_LENGTH = re.compile(r"[0-9]{1,9}")
Answer = tuple[int, bytes]
Fault = Literal["drop", "lose", "busy", "early"]
"""Of an upload of reports: hang up, hang up after it was taken, status 503, or the verdict that it is too early."""


class AuditKey:
    """Signs and verifies within one process; Ed25519 would need a library that an audit can do without."""

    def sign(self, message: bytes) -> bytes:
        """Return 64 bytes."""
        return digest(b"audit", message, sha512)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether `sign` wrote them."""
        return compare_digest(self.sign(message), signature)


KEY = AuditKey()


class Arrival(NamedTuple):
    """One request as it came, and what was on the disk at that moment."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    disk: Disk

    @property
    def reports(self) -> Sequence[TicketedReport]:
        """Return the reports in it."""
        return decoded_upload(self.body) if self.line.split()[1].endswith("/reports") else ()

    @property
    def public(self) -> tuple[object, ...]:
        """Return the request without the contents of reports, of which it keeps tickets and sizes."""
        seen = [(entry.ticket, len(entry.batch)) for entry in self.reports] or self.body
        return self.line, self.headers, str(seen)


@dataclass
class RecordingParty:
    """One task of one party."""

    task: DeviceTask
    lists: Mapping[Group, PublishedList] = field(default_factory=dict)
    items: ItemList | None = None
    """The list that the task names."""
    faults: list[Fault] = field(default_factory=list)
    """Of the next uploads, one after the other."""
    disk: Callable[[], Disk] = dict
    """Asked when a request has arrived and nothing was answered: what would outlast the device now."""
    campaign: Campaign | None = None
    """What the task is a week of."""
    arrivals: list[Arrival] = field(default_factory=list)
    _seen: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def uploads(self) -> list[Arrival]:
        """Return the requests that brought reports, repetitions and those that it hung up on included."""
        return [arrival for arrival in self.arrivals if arrival.reports]

    def ticket(self, serial: int) -> Ticket:
        """Return the ticket of that number."""
        return TICKETS.write(self.task.digest, serial)

    def group_of(self, serial: int) -> Group:
        """Return the group that the beacon gives a ticket (rounds)."""
        return assigned_group(self.task, Enrolment(serial.to_bytes(SERIAL_BYTES, "big"), BEACON, PARTY))

    def answer(self, arrival: Arrival) -> Answer | None:
        """Answer a request, or hang up."""
        fault = self.faults.pop(0) if arrival.reports and self.faults else None
        if fault == "drop":
            return None
        if fault == "busy":
            return 503, b""
        if fault == "early":
            return _as_json({"verdicts": [ReportStatus.TOO_EARLY] * len(arrival.reports)})
        answer = self._answer(arrival)
        return None if fault == "lose" else answer

    def _answer(self, arrival: Arrival) -> Answer:  # noqa: PLR0911  one for each route
        method, path, _ = arrival.line.split()
        match (method, *path.removeprefix(f"/v1/tasks/{self.task.digest.hex()}").strip("/").split("/")):
            case ("GET", ""):
                return 200, signed_task(self.task, KEY)
            case ("GET", "v1", "tasks"):
                mode = "one-shot" if self.task.one_shot else "rounds"
                shown = {"digest": self.task.digest.hex(), "name": self.task.name, "mode": mode, "state": "open"}
                return _as_json({"tasks": [shown]})
            case ("POST", "enrolments" | "ticket-checks"):
                return _as_json({"verdicts": [ReportStatus.ACCEPTED] * (len(arrival.body) // TICKET_BYTES)})
            case ("GET", "v1", "campaigns", _) if self.campaign is not None:
                return 200, signed_campaign(self.campaign, KEY)
            case ("POST", "refusals"):
                return _as_json({"verdicts": [ReportStatus.ACCEPTED] * len(decoded_refusals(arrival.body))})
            case ("GET", "beacon"):
                beacon = Beacon(self.task.digest, PARTY, 1, bytes(32), BEACON)
                return 200, signed("beacon", beacon.to_bytes(), KEY)
            case ("GET", "lists"):
                return _as_json({"lists": [_offered(listed) for listed in self.lists.values()]})
            case ("GET", "lists", level, role):
                listed = self.lists[Group(int(level), _ROLES[int(role)])]
                return 200, signed("list", listed.to_bytes(self.task), KEY)
            case ("GET", "items") if self.items is not None:
                return 200, self.items.document
            case ("POST", "reports"):
                return _as_json({"verdicts": [self._verdict(entry) for entry in arrival.reports]})
        return 404, b""

    def _verdict(self, entry: TicketedReport) -> ReportStatus:
        known = self._seen.setdefault(entry.ticket, entry.batch)
        if known is entry.batch:
            return ReportStatus.ACCEPTED
        return ReportStatus.REPLAYED if known == entry.batch else ReportStatus.TICKET_SPENT


def _as_json(content: object) -> Answer:
    return 200, json.dumps(content).encode("ascii")


def _offered(listed: PublishedList) -> dict[str, object]:
    group = listed.question.group
    return {
        "level": group.level,
        "role": _ROLES.index(group.role),
        "state": "open",
        "digest": listed.question.digest.hex(),
    }


class Loopback:
    """An HTTP server of this machine, for one party after the other: its address stays the same."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.party: RecordingParty | None = None

    def answer(self, line: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer | None:
        """Let the party of the moment keep a request and answer it."""
        party = self.party
        if party is None:
            return None
        party.arrivals.append(Arrival(line, tuple(headers), body, party.disk()))
        return party.answer(party.arrivals[-1])


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Yield a server that answers while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.pass_on()

        def do_POST(self) -> None:
            self.pass_on()

        def pass_on(self) -> None:
            length = self.headers.get("Content-Length") or "0"
            if f"http://{self.headers.get('Host')}" != here.url or not _LENGTH.fullmatch(length):
                self.close_connection = True  # not the device: other programs on this machine are not recorded
                return
            body = self.rfile.read(int(length))
            answer = here.answer(self.requestline, self.headers.items(), body)
            if answer is None:
                self.close_connection = True
                return
            status, content = answer
            head = f"HTTP/1.1 {status} audited\r\nContent-Length: {len(content)}\r\n\r\n"
            self.wfile.write(head.encode("ascii") + content)

    try:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    except OSError as error:
        raise InvalidInput("audit_port", reason=error.strerror) from None
    server.daemon_threads = True
    here = Loopback(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
