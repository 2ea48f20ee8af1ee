"""A party over HTTP that keeps everything it is sent in memory: what devices are tested against, faults included."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.federation.campaign import Campaign
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.task import DeviceTask
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.signed_documents import (
    Beacon,
    Publication,
    PublishedList,
    Question,
    signed,
    signed_campaign,
    signed_task,
)
from treetop.federation.wire.uploads import TICKET_BYTES, ReportStatus, TicketKey, decoded_refusals, decoded_upload
from treetop.trie.user_groups import Group, Role

KEY = SigningKey(sha256(b"the key of tests").digest())
PINNED = PinnedKeys([KEY.public])
BEACON = sha256(b"beacon").digest()
ROLES = tuple(Role)
Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class FakeParty:
    """One task of one party; tests change its fields while it runs."""

    task: DeviceTask
    name: str = "north"
    enrol_until: int = 0
    """Rounds: the beacon is published when so many have enrolled."""
    received: list[tuple[int, bytes]] = field(default_factory=list)
    """Every report that came, with its ticket's number, repetitions included."""
    enrolled: set[int] = field(default_factory=set)
    lists: dict[Group, PublishedList] = field(default_factory=dict)
    items: bytes | None = None
    """The list that the task names, as it is served."""
    closed: bool = False
    verdict: Callable[[Group], ReportStatus | None] = lambda group: None
    """Says something else than accepted or replayed."""
    fault: Callable[[str, bytes], Answer | str | None] = lambda path, body: None
    """Answers in the party's place; 'drop' hangs up before, 'lose' after the request was acted upon."""
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    distinct: dict[int, set[bytes]] = field(default_factory=dict)
    """The different reports of every ticket: never more than one."""
    lock: Any = field(default_factory=Lock)
    campaign: Campaign | None = None
    """What the task is a week of."""

    @property
    def tickets(self) -> TicketKey:
        return TicketKey(b"t" * 32)

    def write_tickets(self, count: int) -> list[bytes]:
        return [self.tickets.write(self.task.digest, serial).to_bytes() for serial in range(count)]

    def group_of(self, serial: int) -> Group:
        return assigned_group(self.task, Enrolment(serial.to_bytes(8, "big"), BEACON, self.name))

    def publish(self, group: Group, published: Publication, prefixes: tuple[int, ...]) -> None:
        question = Question(self.task.digest, group, self.task.lengths[group.level], prefixes)
        self.lists[group] = PublishedList(self.name, question, published)

    def answer(self, method: str, path: str, body: bytes) -> Answer:  # noqa: PLR0911  one for each route
        parts = path.strip("/").split("/")
        known = len(parts) > 2 and parts[2] == self.task.digest.hex()
        match (method, *parts[3:]):
            case ("GET",) if parts[1:] == ["tasks"]:
                mode = "one-shot" if self.task.one_shot else "rounds"
                state = "closed" if self.closed else "open"
                told = {"digest": self.task.digest.hex(), "name": self.task.name, "mode": mode, "state": state}
                return as_json({"tasks": [told]})
            case ("GET",) if known:
                return 200, signed_task(self.task, KEY), {}
            case ("POST", "reports") if known:
                return as_json({"verdicts": [self._judge(entry.ticket, entry.batch) for entry in decoded_upload(body)]})
            case ("POST", "enrolments") if known:
                tickets = [body[start : start + TICKET_BYTES] for start in range(0, len(body), TICKET_BYTES)]
                return as_json({"verdicts": [self._enrol(ticket) for ticket in tickets]})
            case ("GET", "beacon") if known and len(self.enrolled) >= self.enrol_until > 0:
                beacon = Beacon(self.task.digest, self.name, len(self.enrolled), bytes(32), BEACON)
                return 200, signed("beacon", beacon.to_bytes(), KEY), {}
            case ("GET", "lists") if known:
                return as_json({"lists": [as_offered(listed) for listed in self.lists.values()]})
            case ("GET", "lists", level, role) if known and Group(int(level), ROLES[int(role)]) in self.lists:
                listed = self.lists[Group(int(level), ROLES[int(role)])]
                return 200, signed("list", listed.to_bytes(self.task), KEY), {}
            case ("GET", "items") if known and self.items is not None:
                return 200, self.items, {}
            case ("GET",) if parts[1:2] == ["campaigns"] and self.campaign is not None:
                return 200, signed_campaign(self.campaign, KEY), {}
            case ("POST", "ticket-checks") if known:
                tickets = [body[start : start + TICKET_BYTES] for start in range(0, len(body), TICKET_BYTES)]
                good = [self.tickets.wrote(self.task.digest, ticket) for ticket in tickets]
                verdicts = [ReportStatus.ACCEPTED if each else ReportStatus.TICKET_FORGED for each in good]
                return as_json({"verdicts": verdicts})
            case ("POST", "refusals") if known:
                return as_json({"verdicts": [ReportStatus.ACCEPTED for _ in decoded_refusals(body)]})
            case ("POST", "tickets") if known:
                return as_json({"tickets": [ticket.hex() for ticket in self.write_tickets(json.loads(body)["count"])]})
        return as_json({"type": "about:blank", "title": "not found", "status": 404, "detail": "not here"}, 404)

    def _enrol(self, ticket: bytes) -> ReportStatus:
        serial = int.from_bytes(ticket[:8], "big")
        if not self.tickets.wrote(self.task.digest, ticket):
            return ReportStatus.TICKET_FORGED
        known = serial in self.enrolled
        self.enrolled.add(serial)
        return ReportStatus.REPLAYED if known else ReportStatus.ACCEPTED

    def _judge(self, ticket: bytes, batch: bytes) -> ReportStatus:
        serial, envelope = int.from_bytes(ticket[:8], "big"), decoded_batch(batch).envelope
        if not self.tickets.wrote(self.task.digest, ticket):
            return ReportStatus.TICKET_FORGED
        if not self.task.one_shot and envelope.group != self.group_of(serial):
            return ReportStatus.WRONG_GROUP
        said = self.verdict(envelope.group)
        if said is not None:
            return said
        with self.lock:
            self.received.append((serial, batch))
            known = self.distinct.setdefault(serial, set())
            first, again = not known, batch in known
            known.add(batch)
        return ReportStatus.ACCEPTED if first else ReportStatus.REPLAYED if again else ReportStatus.TICKET_SPENT


def as_json(content: object, status: int = 200) -> Answer:
    return status, json.dumps(content).encode(), {"Content-Type": "application/json"}


def as_offered(listed: PublishedList) -> dict[str, object]:
    group = listed.question.group
    digest = listed.question.digest.hex()
    return {"level": group.level, "role": ROLES.index(group.role), "state": "open", "digest": digest}


@contextmanager
def serving(party: FakeParty) -> Iterator[str]:
    """Yield the address of a party that answers while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            pass

        def do_GET(self) -> None:
            self.handle_request("GET")

        def do_POST(self) -> None:
            self.handle_request("POST")

        def handle_request(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            party.requests.append((self.path, body))
            fault = party.fault(self.path, body)
            if fault == "drop":
                self.close_connection = True
                return
            status, content, headers = fault if isinstance(fault, tuple) else party.answer(method, self.path, body)
            if fault == "lose":
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
