"""The simulator: what the page finds is what the command beside it finds; strangers and other sites are refused."""

import json
import re
import shlex
import sys
import webbrowser
from collections.abc import Iterator
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from tests.support.every_command import app
from tests.support.http_answers import Answer, answer_of
from tests.support.parties import served
from typer.testing import CliRunner

import treetop
from treetop.adapters.system.telemetry import StructuredLog
from treetop.audit.documents import Circumstances
from treetop.datasets.loading import as_federation, load
from treetop.extras import MissingExtra
from treetop.query.find import simulated_answer
from treetop.web import simulator
from treetop.web.drawings.svg import percent
from treetop.web.simulator import ByAddress, simulator_app

HELD = {"a": {7: 4000, 9: 2500, 12: 900, 300: 30}, "b": {9: 3000, 7: 1200, 40: 800}}
ROWS = [f"{party},{item},{users}" for party, held in HELD.items() for item, users in held.items()]
QUICK = {"strategy": "catalogue", "list_kind": "catalogue", "listed": "7\n9\n12\n40\n300", "k": "3"}
TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
SECONDS = 120


class Page:
    """A browser without a screen."""

    def __init__(self, port: int, entrance: ByAddress) -> None:
        self.port, self.cookie = port, ""
        self.cookie = self.get(entrance.path).headers["set-cookie"].partition(";")[0]
        found = TOKEN.search(self.get("/page/").body.decode())
        assert found is not None
        self.token = found[1]

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            sent = {name.replace("_", "-"): value for name, value in ({"Cookie": self.cookie} | headers).items()}
            connection.request(method, path, body, sent)
            return answer_of(connection)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask(path, **headers)

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> Answer:
        return self.ask(path, "POST", urlencode({"form_token": self.token, **fields}, doseq=True), **headers)

    def run(self, **fields: Any) -> str:
        """Begin a run, wait for its end, and return its address."""
        where = self.post("/page/runs", fields).headers["location"]
        limit = monotonic() + SECONDS
        while "Simulating" in self.get(where).body.decode():
            assert monotonic() < limit
            sleep(0.05)
        return where


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "held.csv"
    file.write_text("\n".join(["party,item,users", *ROWS]) + "\n")
    (file.parent / "items.txt").write_text(QUICK["listed"] + "\n")
    return file


@pytest.fixture(scope="module")
def page(data: Path) -> Iterator[Page]:
    entrance = ByAddress()
    with served(simulator_app(load(data), [str(data)], StructuredLog(), entrance)) as port:
        yield Page(port, entrance)


def command_of(answer: Answer) -> list[str]:
    found = re.search(r'<pre id="run-command"><code>(.*?)</code></pre>', answer.body.decode(), re.DOTALL)
    assert found is not None
    words = shlex.split(unescape(re.sub("<[^>]+>", "", found[1])))
    assert words[0] == "treetop"
    return words[1:]


def printed(words: list[str]) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "asked",
    [
        {"k": "3"},
        {"k": "2", "epsilon": "0.5", "seed": "8", "strategy": "trie"},
        QUICK,
        {"list_kind": "word_list", "listed": QUICK["listed"], "strategy": "hashed", "k": "2"},
    ],
    ids=["as it is", "trie", "catalogue", "word list"],
)
def test_the_command_beside_an_answer_gives_it(
    page: Page, data: Path, asked: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    where = page.run(do="find", **asked)
    shown = page.get(where)
    assert "Simulated answer" in shown.body.decode()
    assert printed(command_of(shown)) == page.get(f"{where}/answer.json").json


def test_the_command_beside_a_comparison_gives_it(page: Page, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.chdir(data.parent)
    where = page.run(do="compare", mechanisms=["gtf", "taps"], k="2", epsilon="3", repeats="2", seed="5")
    shown = page.get(where)
    text = shown.body.decode()
    assert "Mechanisms side by side" in text
    rows = printed(command_of(shown))
    assert [(row["mechanism"], row["epsilon"]) for row in rows] == [
        (name, epsilon) for name in ("gtf", "taps") for epsilon in (1.5, 3.0, 6.0)
    ]
    for row in rows:
        assert f"{row['f1']:.2f} ± {row['f1_se']:.2f}" in text
    assert page.get(f"{where}/answer.json").status == 404


def test_exports_and_the_page_to_sign(page: Page) -> None:
    where = page.run(do="find", **QUICK)
    for kind, begins in {
        "json": b"{",
        "csv": b'"item"',
        "parquet": b"PAR1",
        "svg": b"<svg",
        "png": b"\x89PNG",
    }.items():
        found = page.get(f"{where}/answer.{kind}")
        assert found.status == 200
        assert found.body.startswith(begins)
        assert found.headers["content-disposition"] == f'attachment; filename="answer.{kind}"'
    signed = page.get(f"{where}/answer").body.decode()
    assert "Nobody was asked" in signed
    assert "not run here" in signed
    assert page.get(f"{where}/answer.exe").status == 404


def test_the_plan_follows_the_form(page: Page) -> None:
    first, second = (page.post("/page/plan", {**QUICK, "epsilon": text}).body.decode() for text in ("1", "3"))
    assert "right at most 74 times in 100" in first
    assert "right at most 96 times in 100" in second
    assert "--epsilon 3 --strategy catalogue --catalogue items.txt --seed 1" in re.sub("<[^>]+>", "", second)
    assert "This question is asked as <strong>catalogue</strong>" in first
    for strategy, mode in {"": "ids", "trie": "canopy"}.items():
        asked = {"strategy": strategy, "epsilon": "1", "k": "3"}
        assert f"asked as <strong>{mode}</strong>" in page.post("/page/plan", asked).body.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"k": "0"}, "k must be from 1 to 1,000, found 0"),
        ({"k": "many"}, "k must be a whole number, found &#39;many&#39;"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "<b>"}, "&lt;b&gt;"),
        ({"strategy": "luck"}, "strategy"),
        ({"strategy": "catalogue"}, "expects a catalogue, found none"),
        ({"list_kind": "catalogue", "listed": " \n"}, "expected a list with one item at least"),
        ({"list_kind": "secret"}, "kind of list"),
        ({"seed": "-3"}, "seed must be from 0"),
        ({"repeats": "1000"}, "repeats must be from 1 to 100"),
        ({"mechanisms": "luck"}, "mechanisms"),
    ],
)
def test_what_cannot_be_asked_is_said(page: Page, fields: dict[str, str], said: str) -> None:
    planned = page.post("/page/plan", fields)
    assert planned.status == 200
    assert said in planned.body.decode()
    assert "notice bad" in planned.body.decode()


def test_a_bad_form_begins_no_run(page: Page) -> None:
    refused = page.post("/page/runs", {"k": "0", "do": "find"})
    assert refused.status == 422
    assert "found 0" in refused.body.decode()
    part = page.post("/page/runs", {"k": "0", "do": "find"}, HX_Request="true")
    assert part.status == 200
    assert "found 0" in part.body.decode()


def test_a_run_that_fails_says_why_and_the_next_one_runs(page: Page) -> None:
    where = page.run(do="find", strategy="catalogue")
    assert "expects a catalogue, found none" in page.get(where).body.decode()
    assert "Simulated answer" in page.get(page.run(do="find", **QUICK)).body.decode()


def test_a_surprise_is_no_answer(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(simulator, "simulated_answer", broken)
    text = page.get(page.run(do="find", **QUICK)).body.decode()
    assert "the simulator failed with ZeroDivisionError" in text
    assert "a secret" not in text


def test_a_run_that_waits_gives_way(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, begun, real = Event(), Event(), simulated_answer

    def slow(*given: Any, **named: Any) -> Any:
        begun.set()
        go_on.wait(SECONDS)
        return real(*given, **named)

    monkeypatch.setattr(simulator, "simulated_answer", slow)
    first = page.post("/page/runs", QUICK).headers["location"]
    assert begun.wait(SECONDS)
    second, third = (page.post("/page/runs", QUICK).headers["location"] for _ in range(2))
    assert "Another run was asked for" in page.get(second).body.decode()
    go_on.set()
    page.run(**QUICK)
    for where in (first, third):
        assert "Simulated answer" in page.get(where).body.decode() or where == third


def test_old_runs_are_forgotten(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "MAX_RUNS", 1)
    first, second = page.run(**QUICK), page.run(**QUICK)
    assert page.get(first).status == 404
    assert page.get(second).status == 200


@pytest.mark.parametrize("number", ["0", "-1", "abc", "9" * 30, "%C2%B2"])
def test_runs_that_never_were(page: Page, number: str) -> None:
    assert page.get(f"/page/runs/{number}").status == 404
    assert page.get(f"/page/runs/{number}/answer").status == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.7"])
def test_another_name_for_this_machine_is_refused(page: Page, host: str) -> None:
    """A page whose name was made to point here shows its own name."""
    for path in ("/page/", "/page/static/treetop.css", "/page/runs/1/answer.json"):
        assert page.get(path, Host=host).status == 421
    assert page.get("/page/", Host=f"localhost:{page.port}").status == 200


def test_other_users_of_the_machine_see_nothing(data: Path) -> None:
    """They reach its ports: what a file holds, which is its owner's alone, stays so."""
    entrance = ByAddress()
    with served(simulator_app(load(data), [str(data)], StructuredLog(), entrance)) as port:
        page = Page(port, entrance)
        where = page.run(**QUICK)
        own, page.cookie = page.cookie, ""
        for path in ("/page/", where, f"{where}/answer.json"):
            assert page.get(path).headers["location"] == "/page/login", path
        assert page.post("/page/runs", QUICK).headers["location"] == "/page/login"
        for path in ("/page/login", "/page/enter/guessed", "/page/enter/%ff"):
            refused = page.get(path)
            assert (refused.status, b"the whole address" in refused.body) == (403, True)
            assert "set-cookie" not in refused.headers
        once = entrance.path_for_once()
        assert [page.get(once).status for _ in range(2)] == [303, 403]
        entered = page.get(entrance.path).headers["set-cookie"]
        assert {part.strip().lower() for part in entered.split(";")[1:]} == {
            "httponly",
            "samesite=strict",
            "path=/page",
        }
        assert entered.partition(";")[0] == own


def test_other_sites_send_no_forms(page: Page) -> None:
    assert page.ask("/page/runs", "POST", urlencode(QUICK)).status == 403
    assert page.post("/page/runs", QUICK, Origin="http://evil.example").status == 403
    assert page.post("/page/runs", QUICK, Sec_Fetch_Site="cross-site").status == 403


def test_the_plan_for_users_who_hold_sets_is_that_of_what_is_asked() -> None:
    rows = pa.table({"party": ["a"] * 3000, "user": range(3000), "item": ["1"] * 3000})
    federation, entrance = as_federation(rows, user="user"), ByAddress()
    with served(simulator_app(federation, ["sets.csv"], StructuredLog(), entrance)) as port:
        planned = Page(port, entrance).post("/page/plan", {"k": "1"}).body.decode()
    assert "between your set of items and any other" in planned
    ids = treetop.plan([3000], k=1, epsilon=2, items_per_user=8).rows[2]  # eight, as `find` asks about
    assert ids.found is not None
    assert f"an item of {percent(ids.found)} of users" in planned


@pytest.mark.slow
def test_users_who_hold_sets(tmp_path: Path) -> None:
    file = tmp_path / "sets.csv"
    file.write_text("party,user,item\n" + "".join(f"a,{n},{item}\n" for n in range(3000) for item in ("1", str(n % 3))))
    source = [str(file), "--user-column", "user"]
    entrance = ByAddress()
    with served(simulator_app(load(file, user="user"), source, StructuredLog(), entrance)) as port:
        page = Page(port, entrance)
        assert "Users hold sets" in page.get("/page/").body.decode()
        where = page.run(k="2")
        assert printed(command_of(page.get(where))) == page.get(f"{where}/answer.json").json


class Stopped(Exception):
    """Raised where the command would serve."""


def test_the_command_listens_on_this_machine_only(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from treetop.adapters.http import serving

    found: dict[str, Any] = {}

    def serve(application: Any, listener: Any, **_: Any) -> None:
        found["address"] = listener.getsockname()
        raise Stopped

    monkeypatch.setattr(serving, "serve", serve)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    audit = tmp_path / "audit.json"
    check = {"name": "x", "passed": True, "claim": "x", "measured": 0, "limit": 1}
    about = Circumstances("2026-01-02T03:04:05+00:00", "0.1.0", "none", "ab" * 32, "CPython", "Linux", "everything")
    audit.write_text(json.dumps({**vars(about), "verdict": "pass", "checks": [check], "not_seen": []}))
    result = CliRunner().invoke(app, ["page", str(data), "--open", "--audit", str(audit)])
    assert isinstance(result.exception, Stopped)
    assert found["address"][0] == "127.0.0.1"
    (shown,) = re.findall(r"is at (\S+)", result.stdout.replace("\n", " "))
    here = f"http://127.0.0.1:{found['address'][1]}/page/enter/"
    assert shown.startswith(here)
    assert [each.startswith(here) and each != shown for each in opened] == [True]  # others see how a browser is started


def test_the_command_says_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "treetop.web.simulator")
    monkeypatch.setitem(sys.modules, "treetop.web.site", None)
    refused = CliRunner().invoke(app, ["page"]).exception
    assert isinstance(refused, MissingExtra)
    assert str(refused).startswith("the page needs treetop.web.site, which is not installed: pip install")


def test_a_recorded_audit_stands_on_the_page_to_sign(data: Path) -> None:
    entrance = ByAddress()
    with served(simulator_app(load(data), [str(data)], StructuredLog(), entrance, "pass: 5 of 5 claims")) as port:
        page = Page(port, entrance)
        signed = page.get(f"{page.run(**QUICK)}/answer").body.decode()
        assert "pass: 5 of 5 claims" in signed
