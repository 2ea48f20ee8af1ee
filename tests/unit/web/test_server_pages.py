"""The server's pages over real sockets, its parties in memory."""

import html
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.support.http_answers import Answer
from tests.support.parties import SIGNING, served
from tests.support.refusals import refused
from tests.support.servers import ADMIN_KEY, SIZES, Away, HostedServer, channels, server_settings, wanted
from tests.support.visitors import VisitorOf

from treetop.errors import PeerViolation
from treetop.federation.server.planning import planned_task
from treetop.services.server.app import server_app
from treetop.services.server.log_check import checked_log
from treetop.services.server.schemas import OrderWanted, TaskAtParty
from treetop.web.query_view import party_rows
from treetop.web.server_pages import server_pages

HOSTILE = "<script>alert(1)</script>"


@dataclass
class Open:
    server: HostedServer
    person: VisitorOf

    def ordered(self, order: OrderWanted, until: str = "answered") -> str:
        task = self.server.queries.take(order).task
        end = time.monotonic() + 60
        while self.server.queries.state(task).state != until:
            assert time.monotonic() < end
            time.sleep(0.02)
        return task


def opened(server: HostedServer) -> Iterator[Open]:
    with served(server_app(server.context, server_pages(server.context, server_settings()))) as port:
        person = VisitorOf(port)
        person.log_in(ADMIN_KEY)
        yield Open(server, person)
    server.queries.stop()


@pytest.fixture(scope="module")
def site() -> Iterator[Open]:
    yield from opened(HostedServer())


@pytest.fixture
def waiting() -> Iterator[Open]:
    of = channels()
    yield from opened(HostedServer(channels={**of, "north": Away(of["north"])}))


def text(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.body.decode()))


def test_all_pages_are_for_those_who_are_in(site: Open) -> None:
    task = site.ordered(wanted(name="closed doors"))
    stranger = VisitorOf(site.person.port)
    parts = ("", "/standing", "/progress", "/tree", "/events")
    for path in ("/", "/log", f"/log/{task}", *(f"/queries/{task}{part}" for part in parts)):
        assert (path, stranger.get(path).status) == (path, 303)
        assert (path, site.person.get(path).status) in ((path, 200), (path, 204))
    assert stranger.ask("GET", "/").headers["location"] == "/page/"


@pytest.mark.parametrize("order", [{}, {"mode": "rounds"}, {"mechanism": None, "encoding": None}], ids=str)
def test_a_failed_query_shows_its_failure_on_every_page_and_endpoint(order: dict[str, Any]) -> None:
    nobody = HostedServer(channels=channels(dict.fromkeys(SIZES, 0)))
    for site in opened(nobody):
        task = site.ordered(wanted(**order), until="failed")
        why = nobody.queries.state(task).doing
        assert "north" in why
        page, key = f"/queries/{task}", {"Authorization": f"Bearer {ADMIN_KEY}"}
        for path in ("/", "/log", f"/log/{task}", page, f"{page}/standing", f"{page}/progress", f"{page}/tree"):
            assert (path, site.person.get(path).status) == (path, 200)
        assert html.escape(why).replace("&#x27;", "&#39;") in site.person.get(page).body.decode()
        for part in ("", "/standing", "/prefixes"):
            assert (part, site.person.ask("GET", f"/v1{page}{part}", **key).status) == (part, 200)
        assert site.person.ask("GET", f"/v1{page}", **key).json["state"] == "failed"
        for unanswered in (site.person.ask("GET", f"/v1{page}/result", **key), site.person.get(f"{page}/answer")):
            assert unanswered.status == 404
            assert "north" in unanswered.body.decode()
            assert "retry-after" not in unanswered.headers
        assert "internal_error" not in nobody.log.getvalue()


def test_names_are_text_wherever_they_stand(site: Open) -> None:
    task = site.ordered(wanted(name=HOSTILE))
    for path in ("/", "/log", f"/log/{task}", f"/queries/{task}", f"/queries/{task}/tree"):
        page = site.person.get(path).body.decode()
        assert "&lt;script&gt;alert(1)" in page
        assert HOSTILE not in page


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_a_query_shows_its_answer_levels_tree_and_steps(site: Open, mode: str) -> None:
    task = site.ordered(wanted(name=f"whole {mode}", mode=mode))
    page = text(site.person.get(f"/queries/{task}"))
    for said in ("answered", "All steps are done.", "200", "Levels by party", "4 bits: "):
        assert said in page
    by = {"authorization": f"Bearer {ADMIN_KEY}"}
    levels = site.person.ask("GET", f"/v1/queries/{task}/prefixes", **by).json["levels"]
    assert levels[0]["length"] == 4
    assert {"c", "4", "0"} <= set(levels[0]["kept"])  # of 200, 77 and 9, in 8 bits
    tree = site.person.get(f"/queries/{task}/tree").body.decode()
    (focus, *_) = re.findall(rf"/page/queries/{task}/tree\?focus=([01]+)", tree)
    below = site.person.get(f"/queries/{task}/tree?focus={focus}", hx_request="true").body.decode()
    assert f"below {focus}" in below
    assert "<html" not in below
    assert "Whole tree" in below
    assert site.person.get(f"/queries/{task}/tree?focus=x").status == 422


def test_a_query_that_runs_says_who_is_waited_for(waiting: Open) -> None:
    task = waiting.server.queries.take(wanted()).task
    end = time.monotonic() + 60
    while len(waiting.server.queries.events(task)) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    progress = waiting.person.get(f"/queries/{task}/progress?state=running")
    assert "Waiting for reports of the devices of north." in text(progress)
    assert "hx-refresh" not in progress.headers
    assert waiting.person.get(f"/queries/{task}/progress?state=answered").headers["hx-refresh"] == "true"
    page = text(waiting.person.get(f"/queries/{task}"))
    assert "south: reports are closed, 600 came" in page
    rows = text(waiting.person.get(f"/queries/{task}/standing"))
    assert "the settings do not name it any more" in rows
    waiting.server.channels["north"].away = False
    while waiting.server.queries.state(task).state == "running":
        assert time.monotonic() < end
        time.sleep(0.02)
    assert waiting.person.get(f"/queries/{task}/progress?state=running").headers["hx-refresh"] == "true"


def test_the_log_shows_every_signature_and_a_check_that_works(site: Open) -> None:
    task = site.ordered(wanted(name="logged", mode="rounds"))
    assert SIGNING.public in text(site.person.get("/log"))
    page = text(site.person.get(f"/log/{task}"))
    assert page.count("list ") >= 2 * len(SIZES)
    command = re.search(r"treetop server verify --server (\S+) --task (\S+) --server-key (\S+)", page)
    assert command
    said = checked_log(command[1], command[2], [command[3]])
    assert said[-1].startswith(f"{2 * len(SIZES)} lists")
    with refused("document_signature", PeerViolation, what="signature", expected="one of a pinned key", found="none"):
        checked_log(command[1], task, ["ab" * 32])


def test_what_is_not_there_is_a_page_of_its_own(site: Open) -> None:
    for path in ("/queries/x", f"/queries/{'0' * 64}", f"/log/{'0' * 64}", "/nowhere"):
        answer = site.person.get(path)
        assert answer.status == 404
        assert b"There is no such thing" in answer.body


def test_pages_stream_the_same_events_as_the_api(site: Open) -> None:
    task = site.ordered(wanted(name="streamed"))
    page = site.person.get(f"/queries/{task}/events").body
    api = site.person.ask("GET", f"/v1/queries/{task}/events", authorization=f"Bearer {ADMIN_KEY}").body
    assert page == api
    assert json.loads(page.split(b"data: ")[-1])["kind"] == "answered"


def test_requests_of_pages_are_counted_by_route(site: Open) -> None:
    site.person.get("/log")
    families = {family.name: family for family in site.server.context.collect()}
    routes = {sample.labels["route"] for sample in families["treetop_requests"].samples}
    assert "/page/log" in routes
    assert not any(re.search("[0-9a-f]{16}", route) for route in routes)


def test_devices_that_may_not_answer_are_counted_where_there_are_some() -> None:
    task = planned_task(wanted(parties=["north"]).order(("north",), lambda _: pytest.fail("there is no list")))
    at = TaskAtParty(party="north", expected=None, problem="", tickets=9, enrolled=None, reports=2, verdicts={
        "accepted": 2, "replayed": 1, "level_closed": 3, "ticket_spent": 4,
    }, refusals={"budget_window": 2, "budget_task": 1, "not_my_week": 5})  # fmt: skip
    (row,) = party_rows(task, [], [at])
    assert dict(row.verdicts) == {
        "accepted": 2, "repeated": 1, "late": 3, "malformed": 0, "refused": 4, "refused by budget": 3,
        "not their week": 5,
    }  # fmt: skip
    assert (row.step, row.came, row.plan) == ("collects reports", 2, 9)


def test_whoever_leaves_follows_no_more(waiting: Open) -> None:
    task, person = waiting.server.queries.take(wanted()).task, waiting.person
    with closing(HTTPConnection("127.0.0.1", person.port, timeout=20)) as connection:
        connection.request("GET", f"/page/queries/{task}/events", headers={"cookie": person.cookie})
        stream = connection.getresponse()
        assert any(line.startswith(b"id: 1") for line in iter(stream.readline, b"")), "it is under way"
        assert person.post("/logout").status == 303
        assert stream.read().endswith(b"\n\n")
