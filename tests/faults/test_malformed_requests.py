"""R6: malformed requests change nothing, are answered with what was wrong, and never with a 5xx."""

import json
import resource
import socket
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.support.parties import BACK_END_KEY, KEY, SERVER_KEY, Hosted, document, honest_entry, live, task

from treetop.federation.protocol import ServerMessage
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.party.app import description
from treetop.services.party.settings import Limits
from treetop.trie.user_groups import Group

ONE_SHOT, ROUNDS = task(), task("listed")
HEX, ROUNDS_HEX = ONE_SHOT.digest.hex(), ROUNDS.digest.hex()
MORE_MEMORY = 20 << 20
MadeRequest = tuple[str, str, dict[str, str], bytes]


@pytest.fixture
def hosted() -> Hosted:
    made = Hosted(limits=Limits(most_body_bytes=100_000, body_seconds=2))
    made.party.install(document(ONE_SHOT))
    made.party.install(document(ROUNDS))
    made.party.install(document(task("krr", "spare")))
    return made


def state(hosted: Hosted) -> object:
    """Everything durable, small enough to be looked at after every request."""
    tasks = [ONE_SHOT.digest, ROUNDS.digest]
    journal = {book: len(hosted.journal.read(book)) for book in hosted.journal.books()}
    issued = [hosted.store.tickets_issued(digest) for digest in tasks]
    enrolled = sum(1 for _ in hosted.store.enrolled(ROUNDS.digest))
    counts = [dict(hosted.store.counts(digest)) for digest in tasks]
    messages = [len(opened.query.messages) for opened in hosted.party.tasks.values()]  # type: ignore[attr-defined]
    return list(hosted.store.tasks()), journal, issued, enrolled, counts, messages


class Mutator:
    """Requests that are nearly right."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311
        self.serial = 0

    def request(self) -> MadeRequest:
        """Return method, path, headers and body with something wrong, mostly."""
        method, path, key, body = self.random.choice(self._bases())
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        change = self.random.choice((self._body, self._body, self._body, self._path, self._headers, self._method))
        return change(method, path, headers, body)

    def _bases(self) -> list[tuple[str, str, str | None, bytes]]:
        self.serial += 1
        many = [honest_entry(ONE_SHOT, self.serial * 10 + one) for one in range(self.random.choice((1, 1, 3)))]
        return [
            ("POST", f"/v1/tasks/{HEX}/reports", None, encoded_upload(many)),
            ("POST", f"/v1/tasks/{HEX}/reports", None, encoded_upload(many)),
            ("POST", f"/v1/tasks/{ROUNDS_HEX}/reports", None, encoded_upload(many)),
            ("POST", f"/v1/tasks/{ROUNDS_HEX}/enrolments", None, KEY.write(ROUNDS.digest, self.serial).to_bytes()),
            ("POST", f"/v1/tasks/{HEX}/tickets", BACK_END_KEY, b'{"count": 1}'),
            ("PUT", f"/v1/tasks/{HEX}", SERVER_KEY, document(ONE_SHOT)),
            ("PUT", f"/v1/tasks/{HEX}/messages/1", SERVER_KEY, ServerMessage("close").to_bytes()),
            ("GET", f"/v1/tasks/{HEX}/messages/1/outcome", SERVER_KEY, b""),
            ("GET", f"/v1/tasks/{HEX}/lists/1/0", None, b""),
            ("GET", "/v1/tasks", None, b""),
        ]

    def bent(self, data: bytes) -> bytes:
        """Flip, cut, double, insert; one to four times."""
        bent = bytearray(data)
        for _ in range(self.random.randint(1, 4)):
            start = self.random.randrange(len(bent) + 1)
            end = min(len(bent), start + self.random.choice((1, 1, 4, 32)))
            kind = self.random.randrange(5)
            if kind == 0:
                bent[start:end] = self.random.randbytes(end - start)
            elif kind == 1:
                del bent[start:end]
            elif kind == 2:
                bent[start:start] = bent[start:end]
            elif kind == 3:
                bent[start:start] = self.random.randbytes(self.random.choice((1, 3, 200)))
            else:
                bent[start:end] = self.random.choice((b"\xff", b"\0")) * (end - start)
        return bytes(bent)

    def _body(self, method: str, path: str, headers: dict[str, str], body: bytes) -> MadeRequest:
        extreme = (b"", b"[" * 3000, b'{"count":' + b"9" * 400 + b"}", self.random.randbytes(300), b"x" * 100_001)
        return method, path, headers, self.random.choice(extreme) if self.random.random() < 0.1 else self.bent(body)

    def _path(self, method: str, path: str, headers: dict[str, str], body: bytes) -> MadeRequest:
        bent = "".join(f"%{byte:02x}" if not 33 <= byte < 127 else chr(byte) for byte in self.bent(path.encode()))
        return method, "/" + bent.lstrip("/"), headers, body

    def _headers(self, method: str, path: str, headers: dict[str, str], body: bytes) -> MadeRequest:
        text = "".join(chr(32 + self.random.randrange(95)) for _ in range(self.random.choice((0, 5, 5000))))
        name = self.random.choice(("Authorization", "Content-Type", "Accept", "Expect", "Cookie", "Upgrade", "Host"))
        return method, path, headers | {name: text}, self.bent(body)

    def _method(self, method: str, path: str, headers: dict[str, str], body: bytes) -> MadeRequest:
        verbs = ("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE")
        return self.random.choice([verb for verb in verbs if verb != method]), path, headers, body


class Client:
    """A kept connection; a hang shows as a time-out."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: HTTPConnection | None = None

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        for _ in range(2):
            kept = self._connection or HTTPConnection("127.0.0.1", self._port, timeout=30)
            self._connection = kept
            try:
                kept.request(method, path, body, headers)
                reply = kept.getresponse()
                return reply.status, reply.read()
            except (HTTPException, ConnectionError):  # the other side had hung up after the request before
                kept.close()
                self._connection = None
        return 0, b""


def attack(hosted: Hosted, port: int, requests: int, seed: int) -> Counter[int]:
    mutator, client, statuses = Mutator(seed), Client(port), Counter[int]()
    before, taken = state(hosted), kept(hosted)
    for _ in range(requests):
        method, path, headers, body = mutator.request()
        status, answer = client.ask(method, path, headers, body)
        assert status < 500, (status, method, path, headers, body, answer)
        after = state(hosted)
        took = 200 <= status < 300 and (b"verdicts" not in answer or b"accepted" in answer)
        assert took or after == before, (status, method, path, headers, body)
        taken += answer.count(b'"accepted"')
        before, statuses[status] = after, statuses[status] + 1
    client.close()
    assert kept(hosted) == taken
    return statuses


def kept(hosted: Hosted) -> int:
    """Return how many reports and enrolments are in the store."""
    return sum(hosted.store.counts(ONE_SHOT.digest).values()) + sum(1 for _ in hosted.store.enrolled(ROUNDS.digest))


def hang_up_early(port: int, requests: int, seed: int) -> None:
    """Send bytes that may be no request at all, wait for a moment, leave."""
    mutator = Mutator(seed)
    for _ in range(requests):
        method, path, headers, body = mutator.request()
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(mutator.bent(head.encode("latin-1", "replace") + b"\r\n" + body))
            connection.settimeout(0.002)
            try:
                answer = connection.recv(4096)
            except (TimeoutError, ConnectionError):
                continue
            assert not answer.startswith(b"HTTP/1.1 5"), answer


def besieged(hosted: Hosted, requests: int) -> None:
    begin = time.monotonic()
    with live(hosted.context) as port:
        attack(hosted, port, 300, seed=1)  # what is loaded once is loaded
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        statuses = attack(hosted, port, requests * 4 // 5, seed=2)
        hang_up_early(port, requests // 5, seed=3)
        client = Client(port)
        status, _ = client.ask("GET", "/v1/health", {}, b"")
        client.close()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert status == 200
    assert grown * 1024 <= MORE_MEMORY
    assert {400, 401, 404, 405, 413, 422} <= statuses.keys(), "the mutator must reach every kind of refusal"
    assert statuses[0] <= requests // 100
    assert hosted.log.getvalue().count("\n") <= time.monotonic() - begin + 1
    assert not hosted.store.counts(ROUNDS.digest)


def test_malformed_requests_change_nothing(hosted: Hosted) -> None:
    besieged(hosted, 5_000)


@pytest.mark.slow
def test_a_hundred_thousand_malformed_requests_change_nothing(hosted: Hosted) -> None:
    besieged(hosted, 100_000)


@pytest.fixture(scope="module")
def described() -> Iterator[tuple[Hosted, int]]:
    made = Hosted()
    made.party.install(document(ONE_SHOT))
    with live(made.context) as port:
        yield made, port


SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(description())))
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)}
DESCRIBED = [status_code_conformance, content_type_conformance, response_schema_conformance]
QUICK, LONG = 25, 800


def conforms(described: tuple[Hosted, int], label: str, examples: int) -> None:
    """Send what the description allows and what it forbids; every answer must be one that it describes."""
    hosted, port = described
    allowed, forbidden = (OPERATIONS[label].as_strategy(generation_mode=mode) for mode in GenerationMode)
    key = BACK_END_KEY if label.endswith("/tickets") else SERVER_KEY
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

    @settings(
        max_examples=examples,
        derandomize=examples == QUICK,
        deadline=None,
        suppress_health_check=checks,
        phases=[Phase.generate],
    )
    @given(allowed | forbidden, st.booleans(), st.booleans())
    def holds(case: Case[Any], known: bool, shown: bool) -> None:
        if known and case.path_parameters:
            case.path_parameters["digest"] = HEX
        headers = {"Authorization": f"Bearer {key}"} if shown else {"Authorization": "Bearer nobody"}
        answer = case.call(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30)
        assert answer.status_code < 500, (case, answer.content)
        if answer.status_code != 405:  # what the other methods answer is not described
            case.validate_response(answer, checks=DESCRIBED)

    holds()
    assert hosted.log.getvalue() == ""


@pytest.mark.parametrize("label", OPERATIONS)
def test_the_service_is_as_its_description_says(described: tuple[Hosted, int], label: str) -> None:
    conforms(described, label, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
def test_the_service_is_as_its_description_says_in_ten_thousand_cases(
    described: tuple[Hosted, int], label: str
) -> None:
    conforms(described, label, LONG)


def test_the_store_digest_notices_changes(hosted: Hosted) -> None:
    """A test of the test: what `state` shows moves with every accepted thing."""
    shown = [state(hosted)]
    hosted.store.submit(hosted.party.screened(ONE_SHOT.digest, encoded_upload([honest_entry(ONE_SHOT, 1)])).admitted)
    shown.append(state(hosted))
    hosted.party.enrol(ROUNDS.digest, KEY.write(ROUNDS.digest, 1).to_bytes())
    shown.append(state(hosted))
    hosted.party.issue(ONE_SHOT.digest, 1)
    shown.append(state(hosted))
    hosted.party.task(ONE_SHOT.digest).query.tell(1, ServerMessage("close").to_bytes())
    shown.append(state(hosted))
    hosted.party.task(ROUNDS.digest).published.note_closed(Group(1))
    shown.append(state(hosted))
    assert all(one != two for place, one in enumerate(shown) for two in shown[:place])
