"""The site of examples/survey: who gets a ticket."""

import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread

import pytest
from tests.support.http_answers import Answer, answer_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey" / "site.py"
FACTS = {"items": ["a"], "party": "http://127.0.0.1:9", "party_name": "north", "task": "ab", "server_key": "cd"}


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    spec = spec_from_file_location("example_site", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "example_site", example)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example.Site, "ticket", lambda _, visitor: f"ticket of {visitor}".encode())
    with ThreadingHTTPServer(("127.0.0.1", 0), example.handler(example.Site(FACTS))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def ask(port: int, method: str, path: str, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        return answer_of(connection)
    finally:
        connection.close()


def test_a_ticket_is_for_a_visitor_whom_the_site_knows(port: int) -> None:
    cookie = ask(port, "GET", "/").headers["set-cookie"].partition(";")[0]
    assert ask(port, "POST", "/ticket", Cookie=cookie).status == 200
    assert ask(port, "POST", "/ticket").status == 403
    assert ask(port, "POST", "/ticket", Cookie="visitor=" + "ab" * 16).status == 403


def test_another_name_for_this_machine_is_refused(port: int) -> None:
    assert ask(port, "GET", "/", Host="evil.example").status == 421
    assert ask(port, "POST", "/ticket", Host=f"evil.example:{port}").status == 421
    assert ask(port, "GET", "/", Host=f"localhost:{port}").status == 200
