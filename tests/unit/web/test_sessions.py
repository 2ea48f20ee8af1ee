"""Login by access key: what a session is worth, and when it ends."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, METRICS_KEY, server_settings
from tests.support.visitors import VisitorOf

from treetop.adapters.http.endpoint_settings import AccessKey, AccessKeys
from treetop.adapters.http.problem_details import Problem
from treetop.toml_files import Secret
from treetop.web import sessions as rules
from treetop.web.sessions import LIFE_SECONDS, MAX_FAILURES, Sessions
from treetop.web.site import Site

SECOND_KEY = "second-admin-key-0123456789abcdef"
END = datetime(2030, 1, 1, tzinfo=UTC)


class Hands:
    """Two clocks that a test turns."""

    seconds, now = 0.0, END.timestamp() - 100


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def keys(hands: Hands) -> AccessKeys:
    later = AccessKey(Secret(SECOND_KEY.encode()), not_after=END)
    return AccessKeys(server_settings(later), lambda: int(hands.now))


@pytest.fixture
def port(hands: Hands, keys: AccessKeys) -> Iterator[int]:
    sessions = Sessions("Test", keys, "admin", secure=True, clock=lambda: hands.seconds)
    site = Site("Test", (), sessions, lambda error: Problem(500, str(error)))
    sessions.add_to(site)
    site.add("GET", "/", lambda visit: site.shown(visit, "refusal.html.jinja", problem=Problem(404, "inside")))
    site.add("POST", "/", lambda visit: Response("done"))
    with served(Starlette(routes=site.routes())) as port:
        yield port


def test_a_key_opens_a_session_whose_cookie_only_the_browser_reads(port: int) -> None:
    person = VisitorOf(port)
    assert b"Access key" in person.get("/login").body
    entered = person.log_in(ADMIN_KEY)
    assert (entered.status, entered.headers["location"]) == (303, "/page/")
    attributes = {part.strip().lower() for part in entered.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "secure", "samesite=strict", "path=/page", f"max-age={int(LIFE_SECONDS)}"}
    assert ADMIN_KEY not in entered.headers["set-cookie"]
    assert b"inside" in person.get("/").body
    assert person.get("/login").status == 303
    assert person.post("/").body == b"done"


def test_other_keys_open_nothing(port: int) -> None:
    for key in ("", "x" * 40, METRICS_KEY, ADMIN_KEY[:-1]):
        refused = VisitorOf(port).log_in(key)
        assert refused.status == 403
        assert b"This key opens nothing here." in refused.body
        assert "set-cookie" not in refused.headers
    stranger = VisitorOf(port)
    stranger.cookie = "treetop_00000000=guessed"
    assert stranger.get("/").status == 303


def test_logout_ends_the_session_and_needs_its_token(port: int) -> None:
    person = VisitorOf(port)
    person.log_in(ADMIN_KEY)
    assert person.ask("POST", "/page/logout").status == 403
    assert b"inside" in person.get("/").body
    assert person.post("/logout").headers["location"] == "/page/login"
    assert person.get("/").status == 303


def test_the_token_of_another_session_is_refused(port: int) -> None:
    one, other = VisitorOf(port), VisitorOf(port)
    one.log_in(ADMIN_KEY)
    other.log_in(ADMIN_KEY)
    one.token = other.token
    assert one.post("/").status == 403


def test_a_session_ends_with_time_and_with_its_key(port: int, hands: Hands, keys: AccessKeys) -> None:
    first, second = VisitorOf(port), VisitorOf(port)
    first.log_in(ADMIN_KEY)
    second.log_in(SECOND_KEY)
    hands.now = END.timestamp()
    assert second.get("/").status == 303
    assert b"inside" in first.get("/").body
    hands.now = (END - timedelta(days=1)).timestamp()
    assert second.get("/").status == 303  # what has ended does not come back
    hands.seconds = LIFE_SECONDS
    assert first.get("/").status == 303
    third = VisitorOf(port)
    third.log_in(SECOND_KEY)
    keys.replace(server_settings())
    assert third.get("/").status == 303


def test_wrong_keys_are_limited_for_a_minute(port: int, hands: Hands) -> None:
    person = VisitorOf(port)
    assert {person.log_in("wrong").status for _ in range(MAX_FAILURES)} == {403}
    refused = person.log_in(ADMIN_KEY)
    assert refused.status == 429
    assert refused.headers["retry-after"] == "61"
    hands.seconds = rules.FAILURE_SECONDS
    assert person.log_in(ADMIN_KEY).status == 303


def test_the_oldest_session_makes_room(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_SESSIONS", 2)
    people = [VisitorOf(port) for _ in range(3)]
    for person in people:
        person.log_in(ADMIN_KEY)
    assert people[0].get("/").status == 303
    assert b"inside" in people[2].get("/").body


def test_a_form_of_too_many_fields_is_no_error_of_the_service(port: int) -> None:
    refused = VisitorOf(port).post("/login", **{f"field{number}": "x" for number in range(201)})
    assert (refused.status, b"200 fields at most" in refused.body) == (400, True)


def test_of_a_stranger_no_more_is_read_than_a_key_takes(port: int) -> None:
    refused = VisitorOf(port).post("/login", key="x" * 20_000)
    assert (refused.status, b"16384 bytes at most" in refused.body) == (413, True)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as waiting:  # its form never comes
        head = b"POST /page/logout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n"
        waiting.sendall(head)
        assert waiting.recv(65536).startswith(b"HTTP/1.1 303 ")
