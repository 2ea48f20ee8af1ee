"""A site of one's own with a survey: `python examples/survey/site.py demo/site.json --port 8000`.

It serves the page beside this file, and hands out one ticket for each visitor, whom it knows by a cookie. That is all
that a site has to do: the reports go from the browser to the party, on another origin, which allows this one.
"""

import argparse
import html
import json
import secrets
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPTS = {f"/{name}.js" for name in ("treetop-survey", "campaigns", "itemLists", "rounds", "sets", "textCode")}
"""Files of the package `@treetop/device`, as Treetop ships them."""


class Site:
    """What the site knows: facts that treetop up wrote, and who has which ticket."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.visitors: set[str] = set()
        self.tickets: dict[str, str] = {}

    def page(self) -> bytes:
        page = (HERE / "index.html").read_text("utf-8")
        options = "".join(f"<option>{html.escape(item)}</option>" for item in self.facts["items"])
        for name in ("party", "party_name", "task", "server_key"):
            page = page.replace(f"{{{name}}}", html.escape(self.facts[name]))
        return page.replace("{options}", options).encode("utf-8")

    def ticket(self, visitor: str) -> bytes:
        """Return the visitor's ticket: the same whenever she asks, so nobody has two."""
        if visitor not in self.tickets:
            key = Path(self.facts["back_end_key_file"]).read_text("ascii").strip()
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            party = HTTPConnection(self.facts["party"].removeprefix("http://"), timeout=15)
            party.request("POST", f"/v1/tasks/{self.facts['task']}/tickets", b'{"count": 1}', headers)
            (self.tickets[visitor],) = json.loads(party.getresponse().read())["tickets"]
            party.close()
        return self.tickets[visitor].encode("ascii")


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def parse_request(self) -> bool:
            """Refuse a page whose name was made to lead to this machine: it sends that name."""
            if not super().parse_request():
                return False
            if self.headers.get("Host", "").partition(":")[0] not in ("127.0.0.1", "localhost"):
                self.send_error(421)
                return False
            return True

        def do_GET(self) -> None:
            if self.path == "/":
                cookie = f"visitor={self._visitor()}; HttpOnly; SameSite=Strict"
                self._send(site.page(), "text/html; charset=utf-8", cookie)
            elif self.path in SCRIPTS:
                script = files("treetop.services.local").joinpath("survey_page", self.path[1:])
                self._send(script.read_bytes(), "text/javascript; charset=utf-8")
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            visitor = self._known()
            if self.path == "/ticket" and visitor is not None:
                self._send(site.ticket(visitor), "text/plain")
            else:
                self.send_error(403)

        def _visitor(self) -> str:
            visitor = self._known() or secrets.token_hex(16)
            site.visitors.add(visitor)
            return visitor

        def _known(self) -> str | None:
            """Return whose cookie this is; one that the site did not set is nobody's."""
            shown = SimpleCookie(self.headers.get("Cookie", "")).get("visitor")
            return shown.value if shown is not None and shown.value in site.visitors else None

        def _send(self, body: bytes, kind: str, cookie: str | None = None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if cookie:
                self.send_header("Set-Cookie", cookie)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Who visits is nobody's business."""

    return Handler


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("facts", type=Path, help="site.json, which treetop up wrote")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    served = Site(json.loads(given.facts.read_text("utf-8")))
    print(f"http://127.0.0.1:{given.port}/", flush=True)
    ThreadingHTTPServer(("127.0.0.1", given.port), handler(served)).serve_forever()
