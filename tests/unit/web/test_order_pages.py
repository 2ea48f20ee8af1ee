"""A new query from the page is the order that the command beside it sends; its answer can be taken along and signed."""

import html
import json
import re
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.every_command import app
from tests.support.http_answers import Answer
from tests.support.parties import SIGNING, served
from tests.support.servers import ADMIN_KEY, HostedServer, server_settings, wanted
from tests.support.visitors import VisitorOf
from typer.testing import CliRunner

from treetop.audit.documents import Circumstances
from treetop.cli.federation import query as query_command
from treetop.federation.wire.item_lists import ItemList
from treetop.services.server.app import server_app
from treetop.services.server.schemas import OrderWanted, QueryShown
from treetop.web.server_pages import server_pages

ASKED = {
    "name": "fruit & <nuts>", "attribute": "item", "k": "3", "epsilon": "2", "expected 0": "9000", "expected 1": "6000",
    "parties": ["north", "south"], "collect": "24h", "policy": "wait",
}  # fmt: skip


@dataclass
class Open:
    server: HostedServer
    person: VisitorOf
    taken: list[OrderWanted]

    def post(self, path: str, **changes: Any) -> Answer:
        fields = {**ASKED, "opened": str(int(time.time())), **changes}
        return self.person.post(path, **{name: value for name, value in fields.items() if value is not None})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("signed")


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Open]:
    settings = replace(server_settings(), audit_report=folder / "audit.json")
    server = HostedServer(settings=settings)
    taken: list[OrderWanted] = []
    take = server.queries.take

    def kept(wanted: OrderWanted) -> QueryShown:
        taken.append(wanted)
        return take(wanted)

    server.queries.take = kept  # type: ignore[method-assign]
    with served(server_app(server.context, server_pages(server.context, settings))) as port:
        person = VisitorOf(port)
        person.log_in(ADMIN_KEY)
        yield Open(server, person, taken)
    server.queries.stop()


def planned(found: Answer) -> str:
    assert found.status == 200
    return found.body.decode()


def command_of(text: str) -> list[str]:
    found = re.search(r'<pre id="command"><code>(.*?)</code></pre>', text, re.DOTALL)
    assert found is not None, text
    words = shlex.split(html.unescape(re.sub("<[^>]+>", "", found[1])))
    assert words[:2] == ["treetop", "query"]
    return words[1:]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"name": 'it\'s "quoted" $(rm) `x`', "attribute": "drink", "epsilon": "0.3", "strategy": "trie"},
        {"list_kind": "catalogue", "listed": "apple\n pear \n\nfig\napple\n", "collect": "7d"},
        {"list_kind": "word_list", "listed": "apple\npear\nfig", "strategy": "hashed", "policy": "proceed"},
        {"parties": ["south"], "expected 0": ""},
    ],
    ids=["plain", "quoted", "catalogue", "word list", "one party"],
)
def test_the_command_sends_the_same_order(
    site: Open, changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = command_of(planned(site.post("/new/plan", **changes)))
    ordered = site.post("/new", **changes)
    assert ordered.status == 303, ordered.body
    order = site.taken[-1]
    task = ordered.headers["location"].rpartition("/")[2]
    assert site.server.queries.state(task).name == order.name

    monkeypatch.chdir(tmp_path)
    (tmp_path / "admin.key").write_text(ADMIN_KEY)
    (tmp_path / "admin.key").chmod(0o600)
    (tmp_path / "items.txt").write_text(changes.get("listed", ""))
    sent: dict[str, Any] = {}

    class Client:
        """Takes what the command sends."""

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def keep_list(self, listed: ItemList) -> str:
            return listed.digest

        def order(self, content: dict[str, Any]) -> str:
            sent.update(content)
            return "ab" * 32

        def parties(self) -> list[dict[str, Any]]:
            return []

        def state(self, task: str) -> dict[str, Any]:
            return {"task": task}

    monkeypatch.setattr(query_command, "client_of", Client)
    monkeypatch.setattr(query_command.time, "time", lambda: float(order.deadlines.opens))  # type: ignore[attr-defined]
    result = CliRunner().invoke(app, [*words, "--no-wait"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert OrderWanted.model_validate(sent) == order


def test_the_plan_says_what_could_be_found(site: Open) -> None:
    text = planned(site.post("/new/plan"))
    for said in (
        "right at most 89 times in 100",
        "Smallest share found",
        "one report of about",
        "6,000 users",
        "-DP if",
    ):
        assert said in text, said
    assert f"--server http://127.0.0.1:{site.person.port} --key-file admin.key" in " ".join(command_of(text))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"expected 1": ""}, "a plan needs the users of every party that is asked, found none for 'south'"),
        ({"expected 1": "-4"}, "users of a party must be 0 (not known) or more, found less for 'south'"),
        ({"parties": []}, "found none ticked"),
        ({"parties": ["west"]}, "west"),
        ({"collect": "1y"}, "found '1y', 'wait'"),
        ({"strategy": "catalogue"}, "expects a catalogue, found none"),
        ({"epsilon": "1e9"}, "epsilon"),
        ({"k": "x"}, "k must be a whole number, found 'x'"),
    ],
)
def test_what_cannot_be_planned(site: Open, changes: dict[str, Any], said: str) -> None:
    assert said in html.unescape(planned(site.post("/new/plan", **changes)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": ""}, "the name must not be empty"),
        ({"name": "a\u202eb"}, "the name must be without control and invisible characters"),
        ({"attribute": " "}, "the attribute must not be empty"),
        ({"strategy": "catalogue"}, "expects a catalogue, found none"),
        ({"opened": "1000"}, "opened more than an hour ago"),
        ({"opened": str(1 << 40)}, "opened more than an hour ago"),
        ({"opened": None}, "opened more than an hour ago"),
        ({"k": "0"}, "k must be from 1"),
    ],
)
def test_an_order_that_is_refused_keeps_what_was_written(site: Open, changes: dict[str, Any], said: str) -> None:
    before = len(site.taken), len(site.server.queries.states())
    listed = {"listed": "<pear>\nfig", "collect": "3d"}
    refused = site.post("/new", **listed, **changes)
    text = html.unescape(refused.body.decode())
    assert refused.status == 422
    assert said in text
    assert "<pear>\nfig</textarea>" in text
    assert "<option selected>3d</option>" in text
    assert 'value="9000"' in text
    assert (before[1], "<pear>" in refused.body.decode()) == (len(site.server.queries.states()), False)


def test_a_form_sent_twice_is_one_query(site: Open) -> None:
    opened = str(int(time.time()) - 5)
    first, second = (site.post("/new", name="twice", opened=opened) for _ in range(2))
    assert first.headers["location"] == second.headers["location"]


def test_a_list_is_kept_for_devices(site: Open) -> None:
    ordered = site.post("/new", name="listed", list_kind="catalogue", listed="fig\npear")
    task = site.server.queries.task(ordered.headers["location"].rpartition("/")[2])
    assert task.item_list == ItemList(("fig", "pear"), False, "items.txt").digest


def test_strangers_order_nothing(site: Open) -> None:
    stranger = VisitorOf(site.person.port)
    for method, path in (("GET", "/page/new"), ("POST", "/page/new"), ("POST", "/page/new/plan")):
        assert stranger.ask(method, path).headers["location"] == "/page/login"
    queries = len(site.server.queries.states())
    forged = VisitorOf(site.person.port)
    forged.cookie, forged.token = site.person.cookie, "x" * 43
    assert Open(site.server, forged, []).post("/new").status == 403
    assert len(site.server.queries.states()) == queries


def test_a_party_whose_name_has_a_comma_has_no_command() -> None:
    from treetop.web.order_pages import AskedOrder

    assert AskedOrder(parties=("a,b",)).command("http://x") == ""


def answered(site: Open) -> str:
    task = site.server.queries.take(wanted()).task
    end = time.monotonic() + 60
    while site.server.queries.state(task).state != "answered":
        assert time.monotonic() < end
        time.sleep(0.02)
    return task


def test_an_answer_is_exported_and_signed(site: Open, folder: Path) -> None:
    task = answered(site)
    found = site.person.get(f"/queries/{task}/answer.json")
    stored = site.server.queries.result(task)
    assert stored is not None
    assert found.json == json.loads(stored)
    assert site.person.get(f"/queries/{task}/answer.csv").body.startswith(b'"item"')
    for said in ("not known: ", "cannot be read"):
        assert said in site.person.get(f"/queries/{task}/answer").body.decode()
    check = {"name": "x", "passed": True, "claim": "x", "measured": 0, "limit": 1}
    about = Circumstances("2026-01-02T03:04:05+00:00", "0.1.0", "none", "ab" * 32, "CPython", "Linux", "everything")
    recorded = {**vars(about), "verdict": "pass", "checks": [check], "not_seen": []}
    (folder / "audit.json").write_text(json.dumps(recorded))
    signed = site.person.get(f"/queries/{task}/answer").body.decode()
    for said in (task, SIGNING.public, "Reports until", "pass: 1 of 1 claims hold", "until their group closes"):
        assert said in signed, said


def test_no_answer_yet(site: Open) -> None:
    task = site.post("/new", name="soon").headers["location"].rpartition("/")[2]
    assert site.person.get(f"/queries/{task}/answer").status == 404
    assert site.person.get(f"/queries/{'0' * 64}/answer.json").status == 404
