"""What stands before the server's endpoints: keys, limits, counters, a log without secrets."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.support.http_answers import Answer, answer_of, is_problem
from tests.support.journals import ScriptedJournal
from tests.support.parties import SIGNING, served
from tests.support.servers import (
    ADMIN_KEY,
    CAMPAIGN,
    METRICS_KEY,
    ORDER,
    PARTY_KEY,
    Away,
    HostedServer,
    channels,
    server_settings,
)

from treetop.adapters.http.endpoint_settings import AccessKey, ServiceLimits
from treetop.errors import StoreDamaged, StoreUnavailable
from treetop.federation.wire.item_lists import ItemList
from treetop.services.server.app import server_app
from treetop.toml_files import Secret

CLIENT = "127.0.0.7"
OLD_KEY, LATER_KEY = "canary-old-key-0123456789abcdefgh", "canary-later-key-0123456789abcdef"
LONG_AGO, LONG_AFTER = datetime(2001, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)

LISTED = ItemList(("tea", "milk"))


def ask(port: int, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=60, source_address=(CLIENT, 0))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
    headers |= {"Content-Type": "application/json"} if isinstance(sent, str) else {}
    try:
        connection.request(method, path, sent, headers)
        return answer_of(connection)
    finally:
        connection.close()


def answered(port: int, order: dict[str, Any] = ORDER) -> str:
    """Have an order answered, and return its task."""
    task: str = ask(port, "POST", "/v1/queries", order, ADMIN_KEY).json["task"]
    limit = time.monotonic() + 60
    while ask(port, "GET", f"/v1/queries/{task}", key=ADMIN_KEY).json["state"] == "running":
        assert time.monotonic() < limit
        time.sleep(0.02)
    return task


def begun(port: int) -> str:
    """Have a campaign begun, and return its digest."""
    campaign: str = ask(port, "POST", "/v1/campaigns", CAMPAIGN, ADMIN_KEY).json["campaign"]
    return campaign


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    old = AccessKey(Secret(OLD_KEY.encode()), not_after=LONG_AGO)
    later = AccessKey(Secret(LATER_KEY.encode()), not_before=LONG_AFTER)
    with served(server_app(HostedServer(settings=server_settings(old, later)).context)) as found:
        answered(found)
        yield found


CALLS: list[tuple[str, str, Any, str | None, int]] = [
    ("GET", "/v1/health", None, None, 200),
    ("GET", "/metrics", None, "monitor", 200),
    ("GET", "/v1/keys", None, None, 200),
    ("GET", "/v1/tasks/{task}", None, None, 200),
    ("GET", "/v1/tasks/{task}/log", None, None, 200),
    ("PUT", f"/v1/lists/{LISTED.digest}", LISTED.document, "admin", 204),
    ("POST", "/v1/queries", ORDER, "admin", 201),
    ("GET", "/v1/queries", None, "admin", 200),
    ("GET", "/v1/queries/{task}", None, "admin", 200),
    ("GET", "/v1/queries/{task}/result", None, "admin", 200),
    ("GET", "/v1/queries/{task}/standing", None, "admin", 200),
    ("GET", "/v1/queries/{task}/prefixes", None, "admin", 200),
    ("GET", "/v1/queries/{task}/events", None, "admin", 200),
    ("GET", "/v1/parties", None, "admin", 200),
    ("GET", "/v1/campaigns", None, "admin", 200),
    ("POST", "/v1/campaigns", CAMPAIGN, "admin", 201),
    ("GET", "/v1/campaigns/{campaign}", None, "admin", 200),
    ("GET", "/v1/campaigns/{campaign}/document", None, None, 200),
    ("POST", "/v1/campaigns/{campaign}/stop", None, "admin", 200),
]
SHOWN = {
    "admin": ADMIN_KEY, "monitor": METRICS_KEY, "nobody": None, "wrong": "x" * 40, "party": PARTY_KEY,
    "expired": OLD_KEY, "pending": LATER_KEY, "signing key": SIGNING.public,
}  # fmt: skip


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("call", CALLS)
def test_who_may_call_what(port: int, call: tuple[str, str, Any, str | None, int], shown: str) -> None:
    """R15: every role at every endpoint."""
    method, path, body, caller, status = call
    task, campaign = answered(port), begun(port) if "{campaign}" in path else ""
    found = ask(port, method, path.format(task=task, campaign=campaign), body, SHOWN[shown])
    if caller is None or caller == shown:
        assert found.status == status
    elif shown in {"admin", "monitor"}:
        assert is_problem(found, 403)
    else:
        assert is_problem(found, 401)
        assert found.headers["www-authenticate"] == "Bearer"


def test_the_matrix_has_every_endpoint() -> None:
    from treetop.services.server.app import description

    described = {(m.upper(), path) for path, methods in description()["paths"].items() for m in methods}
    named = [(method, path.replace(LISTED.digest, "{digest}")) for method, path, *_ in CALLS]
    called = {(method, path.replace("{task}", "{digest}")) for method, path in named}
    assert {(method, path.replace("{digest}/document", "{campaign}/document")) for method, path in described} == called


@pytest.mark.parametrize("failure", [StoreUnavailable("disk full"), StoreDamaged("ab12", "a page")])
def test_a_journal_that_fails_is_told(failure: Exception) -> None:
    journal = ScriptedJournal()
    hosted = HostedServer(journal=journal)
    with served(server_app(hosted.context)) as port:
        journal.failure = failure
        refused = ask(port, "POST", "/v1/queries", ORDER, ADMIN_KEY)
        assert is_problem(refused, 503)
        assert int(refused.headers["retry-after"]) >= 1
        assert ask(port, "GET", "/v1/queries", key=ADMIN_KEY).json == {"queries": []}
        journal.failure = None
        answered(port)
    assert '"journal_unavailable"' in hosted.log.getvalue()


def test_nothing_that_is_said_tells_a_secret_or_an_address() -> None:
    """R16: canaries through every path, forced exceptions and a party that is left out among them."""
    opened = channels()
    opened["north"] = Away(opened["north"])
    hosted = HostedServer(opened, ScriptedJournal())
    seen: list[bytes] = []
    with served(server_app(hosted.context)) as port:
        for failure in (RuntimeError(f"{ADMIN_KEY} {CLIENT}"), KeyError(PARTY_KEY)):
            hosted.journal.failure = failure
            forced = ask(port, "POST", "/v1/queries", ORDER, ADMIN_KEY)
            assert is_problem(forced, 500)
            seen.append(forced.body)
            time.sleep(1.1)  # one line a second is told of what clients cause
        hosted.journal.failure = None
        task = answered(port, {**ORDER, "policy": "proceed", "patience": 1})
        for key in (ADMIN_KEY, PARTY_KEY, METRICS_KEY, "canary-wrong-key-" + "x" * 32):
            for method, path, body, *_ in CALLS:
                seen.append(ask(port, method, path.format(task=task, campaign=begun(port)), body, key).body)
    log = hosted.log.getvalue()
    seen += [log.encode(), repr(hosted.context).encode(), repr(hosted.keys).encode(), repr(vars(hosted.keys)).encode()]
    seen.append(repr(hosted.settings).encode().replace(b"https://canary-address.example:8443", b""))
    for text in seen:
        for canary in (b"canary", CLIENT.encode(), bytes(range(32)).hex().encode()):
            assert canary not in text
    assert log.count('"internal_error"') == 2
    events = [json.loads(line) for line in log.splitlines()]
    told = [event["event"] for event in events if event.get("task") == task]
    assert told == ["query_begun", "party_left_out", "query_answered"]
    (left,) = [event for event in events if event["event"] == "party_left_out"]
    assert (left["party"], left["why"]) == ("north", "did not answer")


def test_a_query_that_fails_is_logged() -> None:
    opened = channels()
    opened["north"] = Away(opened["north"])
    hosted = HostedServer(opened)
    with served(server_app(hosted.context)) as port:
        answered(port, {**ORDER, "patience": 1})
        assert b'treetop_queries{state="failed"} 1' in ask(port, "GET", "/metrics", key=METRICS_KEY).body
    events = [json.loads(line)["event"] for line in hosted.log.getvalue().splitlines()]
    assert events == ["query_begun", "query_failed"]


def test_metrics_count_requests_by_route_and_class(port: int) -> None:
    ask(port, "GET", "/v1/queries/" + "0" * 64, key=ADMIN_KEY)
    text = ask(port, "GET", "/metrics", key=METRICS_KEY).body.decode()
    assert 'treetop_requests_total{route="/v1/queries/{digest}",status="4xx"}' in text
    assert 'treetop_queries{state="answered"} 1' in text
    assert "treetop_hang_ups_total 0" in text
    assert "treetop_parties_left_out_total 0" in text


def raw(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        return connection.recv(65536)


def test_giant_and_slow_requests_are_cut_off() -> None:
    hosted = HostedServer(limits=ServiceLimits(most_body_bytes=1000, body_seconds=4))
    stranger = b"POST /v1/queries HTTP/1.1\r\nHost: x\r\n"
    head = stranger + f"Authorization: Bearer {ADMIN_KEY}\r\n".encode()
    with served(server_app(hosted.context), hosted.limits) as port:
        assert b" 413 " in raw(port, head + b"Content-Length: 1001\r\n\r\n")
        chunk = b"1f4\r\n" + b"x" * 500 + b"\r\n"
        assert b" 413 " in raw(port, head + b"Transfer-Encoding: chunked\r\n\r\n" + 3 * chunk)
        assert b" 408 " in raw(port, head + b"Content-Length: 100\r\n\r\nsome")
        assert b" 401 " in raw(port, stranger + b"Content-Length: 100\r\n\r\nsome"), "the rest is not waited for"
        assert raw(port, b"GET /v1/he") == b""
        assert b" 431 " in raw(port, b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 140_000)
        assert ask(port, "GET", "/v1/health").status == 200
    assert hosted.log.getvalue() == ""


def test_hang_ups_are_counted_and_not_logged() -> None:
    hosted = HostedServer()
    with served(server_app(hosted.context)) as port:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                head = f"POST /v1/queries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN_KEY}\r\n"
                connection.sendall(head.encode() + b"Content-Length: 100\r\n\r\n{")
        limit = time.monotonic() + 20
        while hosted.context.metrics.hang_ups < 20 and time.monotonic() < limit:
            time.sleep(0.02)
    assert hosted.context.metrics.hang_ups == 20
    assert hosted.log.getvalue() == ""


def test_too_many_requests_at_once_are_sent_away() -> None:
    journal = ScriptedJournal()
    journal.go_on.clear()
    hosted = HostedServer(journal=journal, limits=ServiceLimits(requests_at_once=2))
    with served(server_app(hosted.context)) as port, ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(ask, port, "POST", "/v1/queries", ORDER, ADMIN_KEY) for _ in range(2)]
        limit = time.monotonic() + 20
        while journal.writes < 2 and time.monotonic() < limit:
            time.sleep(0.01)
        refused = ask(port, "GET", "/v1/health")
        assert is_problem(refused, 503)
        assert "retry-after" in refused.headers
        journal.go_on.set()
        assert [answer.result().status for answer in waiting] == [201, 201]
