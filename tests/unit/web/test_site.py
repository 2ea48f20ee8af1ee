"""The ground under every page: headers, files, escaping, strangers, forms of others."""

from collections.abc import Iterator
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path

import pytest
from jinja2 import ChoiceLoader, DictLoader, PackageLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from tests.support.http_answers import Answer, answer_of
from tests.support.parties import served

from treetop.adapters.http.problem_details import Problem
from treetop.web.site import HEADERS, PREFIX, TOKEN_FIELD, Link, Site, Visit, Visitor

STATIC = Path(__file__).parents[3] / "src" / "treetop" / "web" / "static"
HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""Of dist/htmx.min.js in htmx.org 2.0.11, as npm has it."""
TOKEN = "t" * 32
KNOWN = {"cookie": "known=yes"}


class ByCookie:
    """Whoever says so is known."""

    def visitor(self, request: Request) -> Visitor | None:
        return Visitor(TOKEN, "admin") if request.cookies.get("known") else None


def refusal(error: Exception) -> Problem:
    return Problem(500, f"something broke: {type(error).__name__}")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    site = Site("Test", [Link("/", "Home")], ByCookie(), refusal)
    own = DictLoader({"text.html.jinja": "{% extends 'base.html.jinja' %}{% block content %}{{ text }}{% endblock %}"})
    site._templates.loader = ChoiceLoader([own, PackageLoader("treetop.web")])

    def broken(visit: Visit) -> Response:
        raise ZeroDivisionError

    site.add("GET", "/", lambda visit: site.shown(visit, "text.html.jinja", text=visit.field("text")))
    site.add("POST", "/", lambda visit: Response(visit.field("text")))
    site.add("GET", "/open", lambda visit: Response("for all"), for_everybody=True)
    site.add("GET", "/broken", broken)
    with served(Starlette(routes=site.routes())) as port:
        yield port


def ask(port: int, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return answer_of(connection)
    finally:
        connection.close()


def test_htmx_is_what_its_makers_published() -> None:
    assert sha256((STATIC / "htmx.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in (STATIC / "htmx.LICENSE.txt").read_text()


@pytest.mark.parametrize("path", ["/page/", "/page/open", "/page/nowhere", "/page/broken", "/page/static/nothing.js"])
def test_every_answer_has_the_headers(port: int, path: str) -> None:
    for headers in ({}, KNOWN):
        answer = ask(port, path, **headers)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_scripts_and_styles_are_files_of_ours_alone() -> None:
    policy = dict(each.strip().split(" ", 1) for each in HEADERS["content-security-policy"].split(";"))
    assert policy.pop("default-src") == policy.pop("base-uri") == policy.pop("frame-ancestors") == "'none'"
    assert set(policy.values()) == {"'self'"}


def test_a_file_may_be_kept_because_another_content_has_another_address(port: int) -> None:
    page = ask(port, "/page/", **KNOWN).body.decode()
    digest = sha256((STATIC / "treetop.css").read_bytes()).hexdigest()
    assert f"{PREFIX}/static/treetop.css?v={digest[:12]}" in page
    found = ask(port, f"{PREFIX}/static/treetop.css?v={digest[:12]}")
    assert found.status == 200
    assert found.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in found.headers["cache-control"]


def test_no_file_names_another_host() -> None:
    for path in [*STATIC.glob("treetop.*"), *(STATIC.parent / "templates").iterdir()]:
        text = path.read_text()
        assert "//" not in text.replace("// ", "").replace("http://www.w3.org/2000/svg", ""), path


def test_every_text_is_escaped_and_visible(port: int) -> None:
    page = ask(port, "/page/?text=%3Cscript%3E%E2%80%AE%00", **KNOWN).body.decode()
    assert "&lt;script&gt;\\u202e\\x00" in page


def test_strangers_are_sent_to_the_login(port: int) -> None:
    assert ask(port, "/").headers["location"] == "/page/"
    answer = ask(port, "/page/")
    assert (answer.status, answer.headers["location"]) == (303, "/page/login")
    part = ask(port, "/page/", hx_request="true")
    assert (part.status, part.headers["hx-redirect"]) == (401, "/page/login")
    assert ask(port, "/page/open").body == b"for all"


def test_a_form_needs_its_token_and_its_own_site(port: int) -> None:
    def sent(body: str, **headers: str) -> int:
        return ask(port, "/page/", "POST", body, **KNOWN, **headers).status

    host = f"127.0.0.1:{port}"
    assert sent(f"{TOKEN_FIELD}={TOKEN}&text=x") == 200
    assert sent("", x_form_token=TOKEN, origin=f"http://{host}", sec_fetch_site="same-origin") == 200
    assert sent("text=x") == sent(f"{TOKEN_FIELD}=other") == 403
    assert sent("", x_form_token=TOKEN, origin="https://other.example") == 403
    assert sent("", x_form_token=TOKEN, origin="null") == 403
    assert sent("", x_form_token=TOKEN, sec_fetch_site="cross-site") == 403
    assert ask(port, "/page/", "POST", f"{TOKEN_FIELD}={TOKEN}").status == 303


def test_refusals_are_pages(port: int) -> None:
    assert b"There is no such thing" in ask(port, "/page/nowhere").body
    broken = ask(port, "/page/broken", **KNOWN)
    assert broken.status == 500
    assert b"something broke: ZeroDivisionError" in broken.body
