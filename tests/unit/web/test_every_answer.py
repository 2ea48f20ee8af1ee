"""Every answer of every service: the security headers, and no address that the client named itself."""

from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from starlette.routing import BaseRoute, Mount
from tests.support.http_answers import Answer, answer_of
from tests.support.parties import Hosted, served, settings
from tests.support.servers import HostedServer, server_settings

from treetop.adapters.http.browser_rules import HEADERS
from treetop.adapters.http.request_guard import RequestGuard
from treetop.adapters.system.telemetry import StructuredLog
from treetop.datasets.loading import load
from treetop.services.party.app import party_app
from treetop.services.server.app import server_app
from treetop.web.party_pages import party_pages
from treetop.web.server_pages import server_pages
from treetop.web.simulator import ByAddress, simulator_app

NAMED_BY_CLIENT = "evil.example"
PARAMETERS = {"digest": "ab" * 32, "task": "ab" * 32, "campaign": "ab" * 32, "number": "1", "level": "1", "role": "0",
              "name": "treetop.css", "key": "x", "kind": "json", "path": "nowhere", "format": "json"}  # fmt: skip


def a_server(_: Path) -> RequestGuard:
    server = HostedServer()
    return server_app(server.context, server_pages(server.context, server_settings()))


def a_party(_: Path) -> RequestGuard:
    hosted = Hosted()
    return party_app(hosted.context, party_pages(hosted.context, settings()))


def a_simulator(folder: Path) -> RequestGuard:
    (folder / "data.csv").write_text("party,item,users\na,7,4000\nb,9,3000\n")
    return simulator_app(load(folder / "data.csv"), ["data.csv"], StructuredLog(StringIO()), ByAddress())


def paths(routes: Iterable[BaseRoute], prefix: str = "") -> Iterator[str]:
    for route in routes:
        if isinstance(route, Mount):
            yield from paths(route.app._routes.routes, prefix + route.path)  # type: ignore[attr-defined]
        elif hasattr(route, "path_format"):
            yield prefix + route.path_format.format(**PARAMETERS)


def ask(port: int, method: str, path: str, host: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers={"Host": host})
        return answer_of(connection)
    finally:
        connection.close()


@pytest.mark.parametrize("make", [a_server, a_party, a_simulator])
def test_every_route_with_and_without_a_slash(make: Callable[[Path], RequestGuard], tmp_path: Path) -> None:
    app = make(tmp_path)
    routes = app._routes.routes  # type: ignore[attr-defined]
    found = {*paths(routes), "/page", "/nowhere", "//evil.example/page"}
    assert {"/page/", "/page/login"} < found
    asked = {*found, *(path.rstrip("/") or "/" for path in found), *(f"{path.rstrip('/')}/" for path in found)}
    with served(app) as port:
        for path, method, host in product(sorted(asked), ("GET", "DELETE"), (NAMED_BY_CLIENT, "localhost")):
            answer = ask(port, method, path, host)
            assert answer.status < 500, (method, path)
            assert answer.headers.keys() >= HEADERS.keys(), (method, path, answer.headers)
            assert NAMED_BY_CLIENT not in str(answer.headers), (method, path)
            location = answer.headers.get("location", "/page/")
            assert location.startswith("/page/"), (method, path)
        home = ask(port, "GET", "/page", "localhost")
        assert (home.status, home.headers["location"]) == (303, "/page/")
