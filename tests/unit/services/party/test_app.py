"""The party's endpoints over real sockets."""

import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import islice
from random import Random

import pytest
from tests.support.clocks import NOW
from tests.support.http_answers import Answer, answer_of, is_problem
from tests.support.parties import (
    BACK_END_KEY,
    KEY,
    METRICS_KEY,
    NAME,
    SECRET,
    SERVER_KEY,
    SIGNING,
    Hosted,
    document,
    honest_entry,
    live,
    settings,
    task,
)
from tests.vectors.document_vectors import ACCEPTED, mutants, verdict

from treetop.adapters.http.endpoint_settings import AccessKey
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.errors import StoreBusy, StoreDamaged, StoreUnavailable
from treetop.federation.protocol import ServerMessage
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import Publication, PublishedList, Question, signed
from treetop.federation.wire.uploads import Refusal, ReportStatus, encoded_refusals, encoded_upload
from treetop.services.party.settings import Limits
from treetop.toml_files import Secret
from treetop.trie.user_groups import Group

ONE_SHOT, ROUNDS = task(), task("listed")
CLIENT = "127.0.0.7"
DRINKS = ItemList(("chai", "latte"))
PATH = f"/v1/tasks/{ONE_SHOT.digest.hex()}"


def ask(port: int, method: str, path: str, body: bytes | None = None, key: str | None = None) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=60, source_address=(CLIENT, 0))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if path.endswith("/tickets"):
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, path, body, headers)
        return answer_of(connection)
    finally:
        connection.close()


@pytest.fixture(scope="module")
def hosted() -> Hosted:
    made = Hosted()
    made.party.install(document(ONE_SHOT))
    made.party.install(document(ROUNDS))
    made.party.task(ONE_SHOT.digest).query.tell(1, ServerMessage("close").to_bytes())
    made.party.work(ONE_SHOT.digest)  # so that its outcome is there, whatever else is asked first
    return made


@pytest.fixture(scope="module")
def port(hosted: Hosted) -> Iterator[int]:
    with live(hosted.context) as found:
        yield found


CALLS: list[tuple[str, str, bytes | None, str | None, int]] = [
    ("GET", "/v1/health", None, None, 200),
    ("GET", "/metrics", None, "monitor", 200),
    ("GET", "/v1/tasks", None, None, 200),
    ("GET", PATH, None, None, 200),
    ("POST", PATH + "/enrolments", KEY.write(ONE_SHOT.digest, 0).to_bytes(), None, 409),
    ("GET", PATH + "/beacon", None, None, 404),
    ("GET", PATH + "/lists", None, None, 200),
    ("GET", PATH + "/lists/1/0", None, None, 404),
    ("GET", PATH + "/items", None, None, 404),
    ("PUT", PATH + "/items", DRINKS.document, "server", 400),
    ("POST", PATH + "/ticket-checks", KEY.write(ONE_SHOT.digest, 0).to_bytes(), None, 200),
    ("POST", PATH + "/refusals", encoded_refusals([(bytes(24), Refusal.NOT_MY_WEEK)]), None, 200),
    ("GET", "/v1/campaigns/" + "0" * 64, None, None, 404),
    ("PUT", PATH + "/campaign", b"{}", "server", 400),
    ("POST", PATH + "/reports", encoded_upload([honest_entry(ONE_SHOT, 77)]), None, 200),
    ("POST", PATH + "/tickets", b'{"count": 2}', "back_end", 200),
    ("PUT", PATH, document(ONE_SHOT), "server", 204),
    ("PUT", PATH + "/messages/1", ServerMessage("close").to_bytes(), "server", 202),
    ("GET", PATH + "/messages/1/outcome", None, "server", 200),
]
SHOWN = {
    "nobody": None,
    "wrong": "x" * 40,
    "server": SERVER_KEY,
    "back_end": BACK_END_KEY,
    "monitor": METRICS_KEY,
    "ticket": "ab" * 24,
}


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("call", CALLS)
def test_who_may_call_what(port: int, call: tuple[str, str, bytes | None, str | None, int], shown: str) -> None:
    method, path, body, caller, status = call
    found = ask(port, method, path, body, SHOWN[shown])
    if caller is None or caller == shown:
        assert found.status == status
    elif shown in {"server", "back_end", "monitor"}:
        assert is_problem(found, 403)
    else:
        assert is_problem(found, 401)
        assert found.headers["www-authenticate"] == "Bearer"


def test_tasks_and_documents(port: int) -> None:
    listed = ask(port, "GET", "/v1/tasks").json["tasks"]
    assert listed == [
        {"digest": ONE_SHOT.digest.hex(), "name": "fruit", "mode": "one-shot", "state": "open"},
        {"digest": ROUNDS.digest.hex(), "name": "fruit", "mode": "rounds", "state": "open"},
    ]
    assert ask(port, "GET", PATH).body == document(ONE_SHOT)


def test_refusals_are_among_the_numbers_of_a_task_and_of_the_party() -> None:
    made = Hosted()
    digest = made.party.install(document(ONE_SHOT))
    tickets = [bytes.fromhex(text) for text in made.party.issue(digest, 4)]
    told = encoded_refusals([(tickets[0], Refusal.BUDGET_WINDOW), (bytes(24), Refusal.BUDGET_WINDOW)])
    with live(made.context) as at:
        assert ask(at, "POST", PATH + "/refusals", told).json == {"verdicts": ["accepted", "ticket_forged"]}
        assert ask(at, "POST", PATH + "/reports", encoded_upload([honest_entry(ONE_SHOT, 1)])).status == 200
        made.party.install(document(ROUNDS))  # nobody has answered or refused it yet
        whole = ask(at, "GET", "/v1/standing", key=SERVER_KEY).json
        one = ask(at, "GET", PATH + "/standing", key=SERVER_KEY).json
    assert (one["tickets"], one["reports"]) == (4, 1)
    assert whole["refusals"] == one["refusals"] == {"budget_window": 1}


def test_reports_get_a_verdict_each_and_the_same_again(port: int, hosted: Hosted) -> None:
    entries = [honest_entry(ONE_SHOT, serial) for serial in (1, 2, 1)]
    other = honest_entry(ONE_SHOT, 2, Group(1))
    bad = [type(other)(other.ticket, b"xyz")]
    upload = encoded_upload([*entries, other, *bad])
    found = ask(port, "POST", PATH + "/reports", upload)
    assert found.json == {"verdicts": ["accepted", "accepted", "replayed", "ticket_spent", "malformed"]}
    again = ask(port, "POST", PATH + "/reports", upload)
    assert again.json == {"verdicts": ["replayed", "replayed", "replayed", "ticket_spent", "malformed"]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nowhere", None, 404),
        ("DELETE", PATH, None, 405),
        ("GET", PATH + "/reports", None, 405),
        ("GET", "/v1/tasks/" + "0" * 64, None, 404),
        ("POST", "/v1/tasks/" + "0" * 64 + "/reports", encoded_upload([honest_entry(ONE_SHOT, 0)]), 404),
        ("GET", "/v1/tasks/xyz", None, 422),
        ("POST", "/v1/tasks/xyz/reports", b"", 422),
        ("POST", PATH + "/reports", b"", 400),
        ("POST", PATH + "/reports", b"\x01", 400),
        ("POST", PATH + "/reports", b"\x02" + b"x" * 200, 400),
        ("GET", PATH + "/lists/0/0", None, 422),
        ("GET", PATH + "/lists/1/3", None, 422),
        ("POST", f"/v1/tasks/{ROUNDS.digest.hex()}/enrolments", b"short", 400),
    ],
)
def test_what_is_wrong_is_told_as_a_problem(port: int, method: str, path: str, body: bytes | None, status: int) -> None:
    assert is_problem(ask(port, method, path, body), status)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"count": 0}', 422), (b'{"count": 100001}', 422), (b'{"count": "3"}', 422), (b'{"count": 1, "x": 1}', 422),
        (b"{}", 422), (b"[", 422), (b"", 422), (b'{"count": 1e3}', 422),
    ],
)  # fmt: skip
def test_wishes_for_tickets_are_read_strictly(port: int, body: bytes, status: int) -> None:
    assert is_problem(ask(port, "POST", PATH + "/tickets", body, BACK_END_KEY), status)


def test_tickets_are_authentic(port: int) -> None:
    texts = ask(port, "POST", PATH + "/tickets", b'{"count": 3}', BACK_END_KEY).json["tickets"]
    assert isinstance(texts, list)
    assert len(texts) == 3
    assert all(KEY.wrote(ONE_SHOT.digest, bytes.fromhex(text)) for text in texts)


def test_a_task_of_another_digest_or_stranger_is_refused(port: int) -> None:
    assert is_problem(ask(port, "PUT", "/v1/tasks/" + "0" * 64, document(ONE_SHOT), SERVER_KEY), 400)
    for content in (b"", b"{}", b"[" * 5000, document(ONE_SHOT).replace(b"a", b"b")):
        assert is_problem(ask(port, "PUT", PATH, content, SERVER_KEY), 400)


def test_a_signed_task_of_wrong_types_is_a_problem_of_its_sender(port: int) -> None:
    content = ONE_SHOT.canonical_bytes().decode()
    spoilt = [each for each in islice(mutants(content, Random(1)), 60) if verdict("task", each) != ACCEPTED]  # noqa: S311
    assert len(spoilt) > 40
    for each in spoilt:
        document_of = signed("task", each.encode("ascii", errors="backslashreplace"), SIGNING)
        assert is_problem(ask(port, "PUT", PATH, document_of, SERVER_KEY), 400)


def test_messages_are_numbered_kept_and_answered(port: int) -> None:
    path = f"/v1/tasks/{ROUNDS.digest.hex()}/messages/1"
    message = ServerMessage("close", "x").to_bytes()
    assert ask(port, "PUT", path, message, SERVER_KEY).status == 202
    assert ask(port, "PUT", path, message, SERVER_KEY).status == 202
    assert is_problem(ask(port, "PUT", path, message + b" ", SERVER_KEY), 400)
    first = ask(port, "GET", path + "/outcome", key=SERVER_KEY)
    assert (first.status, first.headers["content-type"]) == (200, "application/octet-stream")
    assert ask(port, "GET", path + "/outcome", key=SERVER_KEY).body == first.body
    waiting = ask(port, "GET", path.replace("/1", "/2") + "/outcome", key=SERVER_KEY)
    assert (waiting.status, waiting.body) == (202, b"")
    assert "retry-after" in waiting.headers


def test_beacon_and_lists_are_shown(port: int, hosted: Hosted) -> None:
    path = f"/v1/tasks/{ROUNDS.digest.hex()}"
    nothing = ask(port, "GET", path + "/beacon")
    assert is_problem(nothing, 404)
    assert "retry-after" in nothing.headers
    published = hosted.party.task(ROUNDS.digest).published
    question = Question(ROUNDS.digest, Group(1), 2, (0, 1, 2, 3))
    listed = signed("list", PublishedList(NAME, question, Publication(0, (0,))).to_bytes(ROUNDS), SIGNING)
    published.post_beacon(b"a beacon")
    published.post_list(Group(1), listed)
    assert ask(port, "GET", path + "/beacon").body == b"a beacon"
    assert ask(port, "GET", path + "/lists/1/0").body == listed
    entry = {"level": 1, "role": 0, "state": "open", "digest": question.digest.hex()}
    assert ask(port, "GET", path + "/lists").json == {"lists": [entry]}
    published.note_closed(Group(1))
    assert ask(port, "GET", path + "/lists").json == {"lists": [entry | {"state": "closed"}]}


def test_metrics_say_what_happened(port: int) -> None:
    ask(port, "POST", PATH + "/reports", encoded_upload([honest_entry(ONE_SHOT, 5)]))
    text = ask(port, "GET", "/metrics", key=METRICS_KEY).body.decode()
    assert 'treetop_requests_total{route="/v1/tasks/{digest}/reports",status="2xx"}' in text
    assert 'treetop_verdicts_total{verdict="accepted"}' in text
    assert f'role="estimate",task="{ONE_SHOT.digest.hex()}"}}' in text
    assert "treetop_reports_waiting 0.0" in text
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2


class Failing(MemoryReportStore):
    """A store that fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = None

    def submit(self, reports: object) -> list[ReportStatus]:
        if self.failure:
            raise self.failure
        return super().submit(reports)  # type: ignore[arg-type]

    def counts(self, task: bytes) -> Mapping[Group, int]:
        if isinstance(self.failure, StoreDamaged):
            raise self.failure
        return super().counts(task)


@pytest.mark.parametrize(
    ("failure", "status"),
    [(StoreBusy(5, 3), 429), (StoreUnavailable("disk full"), 503), (StoreDamaged("ab12", "a page"), 503)],
)
def test_a_store_that_fails_is_told_and_nothing_is_acknowledged(failure: Exception, status: int) -> None:
    store = Failing()
    hosted = Hosted(store)
    hosted.party.install(document(ONE_SHOT))
    with live(hosted.context) as port:
        store.failure = failure
        upload = encoded_upload([honest_entry(ONE_SHOT, 1)])
        refused = ask(port, "POST", PATH + "/reports", upload)
        assert is_problem(refused, status)
        assert int(refused.headers["retry-after"]) >= 1
        assert ask(port, "GET", "/metrics", key=METRICS_KEY).status == 200
        health = ask(port, "GET", "/v1/health")
        assert health.status == (503 if isinstance(failure, StoreDamaged) else 200)
        assert isinstance(failure, StoreDamaged) == (b"ab12" in health.body)
        store.failure = None
        assert ask(port, "POST", PATH + "/reports", upload).json == {"verdicts": ["accepted"]}


def test_an_unexpected_exception_is_answered_and_tells_no_secret() -> None:
    """R16: canaries through every path, forced exceptions among them."""
    store = Failing()
    hosted = Hosted(store)
    hosted.party.install(document(ONE_SHOT))
    entry = honest_entry(ONE_SHOT, 1)
    seen: list[bytes] = []
    with live(hosted.context) as port:
        for failure in (RuntimeError(f"{SERVER_KEY} {entry.ticket.hex()} {CLIENT}"), KeyError(SECRET), None):
            store.failure = failure
            answer = ask(port, "POST", PATH + "/reports", encoded_upload([entry]))
            assert is_problem(answer, 500) if failure else answer.status == 200
            seen.append(answer.body)
        hosted.party.issue = None  # type: ignore[method-assign, assignment]
        forced = ask(port, "POST", PATH + "/tickets", b'{"count": 1}', BACK_END_KEY)
        assert is_problem(forced, 500)
        for key in (SERVER_KEY, BACK_END_KEY, METRICS_KEY, "canary-wrong-key-" + "x" * 32):
            for method, path, body, *_ in CALLS:
                answer = ask(port, method, path, body, key)
                seen += [answer.body] if "tickets" not in path else []
        seen.append(ask(port, "GET", "/metrics", key=METRICS_KEY).body)
    seen += [hosted.log.getvalue().encode(), repr(hosted.context).encode(), repr(hosted.keys).encode()]
    seen += [repr(settings()).encode(), repr(vars(hosted.keys)).encode()]
    for text in seen:
        for canary in (
            b"canary",
            entry.ticket.hex().encode(),
            entry.ticket[8:],
            CLIENT.encode(),
            SECRET.hex().encode(),
        ):
            assert canary not in text
    assert '"internal_error"' in hosted.log.getvalue()


def test_bodies_that_are_too_large_are_not_read() -> None:
    hosted = Hosted(limits=Limits(most_reports_per_request=10, most_body_bytes=1000, queue=100))
    hosted.party.install(document(ONE_SHOT))
    with live(hosted.context) as port:
        announced = raw(port, f"POST {PATH}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n".encode())
        assert b" 413 " in announced
        endless = f"POST {PATH}/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        chunk = b"1f4\r\n" + b"x" * 500 + b"\r\n"
        assert b" 413 " in raw(port, endless + 3 * chunk)
        entries = [honest_entry(ONE_SHOT, serial) for serial in range(8)]
        assert ask(port, "POST", PATH + "/reports", encoded_upload(entries[:7])).status == 200
        assert is_problem(ask(port, "POST", PATH + "/reports", encoded_upload(entries * 2)), 413)


def test_the_list_that_a_task_names_is_kept_and_shown_to_everybody() -> None:
    """Another list is refused, a larger body than others have is taken here, and only for this."""
    named = replace(ONE_SHOT, item_list=DRINKS.digest)
    limits = Limits(most_reports_per_request=10, most_body_bytes=60, queue=100, most_list_bytes=5_000)
    hosted, path = Hosted(limits=limits), f"/v1/tasks/{named.digest.hex()}"
    hosted.party.install(document(named))
    long = ItemList(tuple(map(str, range(4_000))))
    other = ItemList(("tea",))
    with live(hosted.context) as port:
        assert is_problem(ask(port, "GET", path + "/items"), 404)
        for wrong in (other.document, b"", long.document[:70]):
            assert is_problem(ask(port, "PUT", path + "/items", wrong, SERVER_KEY), 400)
        assert is_problem(ask(port, "PUT", path + "/items", long.document, SERVER_KEY), 413)
        assert is_problem(ask(port, "PUT", path + "/messages/1", b"x" * 61, SERVER_KEY), 413)
        assert is_problem(ask(port, "PUT", path + "/items", DRINKS.document, BACK_END_KEY), 403)
        assert is_problem(ask(port, "GET", path + "/items"), 404)
        stored = zlib.compress(zlib.decompress(DRINKS.document), 0)
        for sent in (DRINKS.document, stored, DRINKS.document):
            assert ask(port, "PUT", path + "/items", sent, SERVER_KEY).status == 204
        assert ask(port, "GET", path + "/items").body == DRINKS.document
    again = Hosted(store=hosted.store, journal=hosted.journal)
    again.party.take_up()
    assert again.party.task(named.digest).published.item_list == DRINKS.document


def raw(port: int, sent: bytes) -> bytes:
    """Send bytes, then wait for the answer until the other side ends or nothing more comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        return connection.recv(65536)


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (f"POST /v1/tasks/{'0' * 64}/reports", 404),
        (f"POST /v1/tasks/{'0' * 64}/enrolments", 404),
        ("POST /v1/tasks/xyz/enrolments", 422),
        (f"POST {PATH}/tickets", 401),
        (f"PUT {PATH}", 401),
        (f"PUT {PATH}/messages/1", 401),
        (f"PUT /v1/tasks/{'0' * 64}/messages/1", 404),
        ("POST /nowhere", 404),
        (f"DELETE {PATH}", 405),
    ],
)
def test_a_body_is_waited_for_only_once_task_and_key_are_known(port: int, request_line: str, status: int) -> None:
    key = f"Authorization: Bearer {SERVER_KEY}\r\n" if status == 404 else ""
    head = f"{request_line} HTTP/1.1\r\nHost: x\r\n{key}Content-Length: 4000000\r\n\r\n".encode()
    assert f" {status} ".encode() in raw(port, head), "answered although no byte of the body was sent"


def test_without_a_key_for_metrics_there_are_none(hosted: Hosted, port: int) -> None:
    assert is_problem(ask(port, "GET", "/metrics"), 401)
    try:
        hosted.keys.replace(settings(metrics_access=()))
        for key in (None, METRICS_KEY, SERVER_KEY):
            assert is_problem(ask(port, "GET", "/metrics", key=key), 404)
    finally:
        hosted.keys.replace(settings())


def test_slow_heads_and_bodies_are_cut_off() -> None:
    hosted = Hosted(limits=Limits(body_seconds=1))
    hosted.party.install(document(ONE_SHOT))
    with live(hosted.context) as port:
        head = f"POST {PATH}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n".encode()
        assert b" 408 " in raw(port, head)
        assert b" 408 " in raw(port, head + b"some")
        assert raw(port, b"") == b""
        assert raw(port, b"GET /v1/he") == b""
        assert raw(port, b"\r\n") == b""
        assert b" 431 " in raw(
            port, b"GET / HTTP/1.1\r\n" + b"X-Long: " + b"x" * 70_000 + b"\r\nX-More: " + b"y" * 70_000
        )


def test_hang_ups_are_counted_and_not_logged() -> None:
    hosted = Hosted()
    hosted.party.install(document(ONE_SHOT))
    with live(hosted.context) as port:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(
                    f"POST {PATH}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc".encode()
                )
        limit = time.monotonic() + 20
        while hosted.context.metrics.hang_ups < 20 and time.monotonic() < limit:
            time.sleep(0.02)
    assert hosted.context.metrics.hang_ups == 20
    assert hosted.log.getvalue() == ""


class Blocked:
    """A writer that answers when told to."""

    def __init__(self) -> None:
        self.futures: list[Future[list[ReportStatus]]] = []

    def submit(self, reports: object) -> "Future[list[ReportStatus]]":
        self.futures.append(Future())
        return self.futures[-1]


def test_too_many_requests_at_once_are_sent_away() -> None:
    writer = Blocked()
    hosted = Hosted(limits=Limits(requests_at_once=2), writer=writer)
    hosted.party.install(document(ONE_SHOT))
    upload = encoded_upload([honest_entry(ONE_SHOT, 1)])
    with live(hosted.context) as port, ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(ask, port, "POST", PATH + "/reports", upload) for _ in range(2)]
        limit = time.monotonic() + 20
        while len(writer.futures) < 2 and time.monotonic() < limit:
            time.sleep(0.01)
        refused = ask(port, "POST", PATH + "/reports", upload)
        assert is_problem(refused, 503)
        assert "retry-after" in refused.headers
        for future in writer.futures:
            future.set_result([ReportStatus.ACCEPTED])
        assert [answer.result().status for answer in waiting] == [200, 200]
    assert hosted.context.metrics.waiting == 0
    assert hosted.context.metrics.max_waiting == 2


def test_keys_are_rotated_without_a_pause(hosted: Hosted, port: int) -> None:
    """R15: pending, active, expired; the same ticket is valid all the time."""
    new, old = "new-key-" + "n" * 32, BACK_END_KEY
    wish = PATH + "/tickets"

    def status(key: str) -> int:
        return ask(port, "POST", wish, b'{"count": 1}', key).status

    def access(key: str, **dates: int) -> AccessKey:
        moments = {name: datetime.fromtimestamp(seconds, UTC) for name, seconds in dates.items()}
        return AccessKey(Secret(key.encode()), **moments)  # type: ignore[arg-type]

    try:
        hosted.keys.replace(
            settings(back_end_access=(access(old, not_after=NOW + 20), access(new, not_before=NOW + 10)))
        )
        assert (status(old), status(new)) == (200, 401)
        hosted.clock.wall = NOW + 15
        assert (status(old), status(new)) == (200, 200)
        hosted.clock.wall = NOW + 25
        assert (status(old), status(new)) == (401, 200)
    finally:
        hosted.clock.wall = NOW
        hosted.keys.replace(settings())
