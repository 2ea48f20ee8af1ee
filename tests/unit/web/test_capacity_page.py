"""The page that computes what so many users cost: with and without a script, for a person and as a command."""

import re
import shlex
from collections.abc import Iterator
from html import unescape
from http.client import HTTPConnection

import pytest
from tests.support.http_answers import Answer, answer_of
from tests.support.parties import served
from tests.support.servers import HostedServer, server_settings
from typer.testing import CliRunner

from treetop.adapters.system.structured_log import StructuredLog
from treetop.cli.app import app
from treetop.datasets.loading import as_federation
from treetop.services.server.app import server_app
from treetop.web.server_pages import server_pages
from treetop.web.simulator import ByAddress, simulator_app

COOKIES: dict[int, str] = {}
"""Of those who came in, by port."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    entrance = ByAddress()
    with served(simulator_app(as_federation({"a": {"tea": 5}}), ["tea.csv"], StructuredLog(), entrance)) as port:
        COOKIES[port] = get(port, entrance.path).headers["set-cookie"].partition(";")[0]
        yield port


def get(port: int, path: str, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Cookie": COOKIES.get(port, "")} | headers)
        return answer_of(connection)
    finally:
        connection.close()


def text_of(answer: Answer) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", answer.body.decode())).split())


def test_it_begins_with_a_billion_users(port: int) -> None:
    page = get(port, "/page/capacity")
    assert page.status == 200
    for words in ("1,653 /s", "cores in all 101", "users / seconds that the task is open", "this is extrapolated"):
        assert words in text_of(page)
    assert 'aria-current="page">Capacity' in page.body.decode()


def test_a_form_is_an_address_and_a_part_of_the_page_alone_is_smaller(port: int) -> None:
    asked = "/page/capacity?users=1e6&parties=4&days=2&arrival=balancer&core_hour=1"
    whole, part = get(port, asked), get(port, asked, **{"HX-Request": "true"})
    for answer in (whole, part):
        assert "5.79 /s" in text_of(answer)
        assert "what the balancer itself takes was not measured" in text_of(answer)
    assert "<form" in whole.body.decode()
    assert "<form" not in part.body.decode()
    assert 'value="1e6"' in whole.body.decode()


def test_the_command_beside_it_says_the_same(port: int) -> None:
    found = get(port, "/page/capacity?users=5000000&parties=7&oracle=olh&busy=0.5&gigabyte_out=0.2")
    command = re.search(r'<pre id="command">(.+?)</pre>', found.body.decode())
    assert command is not None
    words = shlex.split(unescape(re.sub("<[^>]+>", "", command[1])))
    assert words == [
        "treetop", "capacity", "--users", "5000000", "--parties", "7", "--oracle", "olh", "--busy", "0.5",
        "--gigabyte-out", "0.2",
    ]  # fmt: skip
    told = CliRunner(env={"COLUMNS": "200"}).invoke(app, words[1:]).output
    total = re.search(r"in all\s+([\d,.]+)\s+the sum", told)
    assert total is not None
    assert f"{total[1]} in all" in text_of(found)


@pytest.mark.parametrize(("query", "told"), [
    ("users=many", "users must be a whole number, found 'many'"),
    ("users=1.5", "users must be a whole number, found '1.5'"),
    ("users=inf", "users must be a whole number, found 'inf'"),
    ("busy=nan", "busy must be from 0.01 to 1"),
    ("oracle=<b>", "unknown oracle whose counting was measured '<b>'"),
])  # fmt: skip
def test_what_cannot_be_planned_is_said_and_what_was_written_stays(port: int, query: str, told: str) -> None:
    whole = get(port, f"/page/capacity?{query}")
    assert whole.status == 422
    assert told in text_of(whole)
    assert "<b>" not in whole.body.decode()
    assert get(port, f"/page/capacity?{query}", **{"HX-Request": "true"}).status == 200


def test_a_server_shows_it_to_whoever_is_logged_in() -> None:
    hosted = HostedServer()
    with served(server_app(hosted.context, server_pages(hosted.context, server_settings()))) as port:
        stranger = get(port, "/page/capacity")
        assert (stranger.status, stranger.headers["location"]) == (303, "/page/login")
    hosted.queries.stop()
