"""People in front of a service's pages, without a browser: they log in, keep their cookie, send forms."""

import re
from http.client import HTTPConnection
from urllib.parse import urlencode

from tests.support.http_answers import Answer, answer_of


class VisitorOf:
    """One person at one service."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie, self.token = port, "", ""

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"cookie": self.cookie} | sent if self.cookie else sent)
            return answer_of(connection)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", f"/page{path}", **headers)

    def post(self, path: str, **fields: str | list[str]) -> Answer:
        form = {"form_token": self.token, **fields} if self.token else fields
        body = urlencode(form, doseq=True)
        return self.ask("POST", f"/page{path}", body, content_type="application/x-www-form-urlencoded")

    def log_in(self, key: str) -> Answer:
        entered = self.post("/login", key=key)
        if "set-cookie" in entered.headers:
            self.cookie = entered.headers["set-cookie"].partition(";")[0]
            found = re.search(r'name="form_token" value="([^"]+)"', self.get("/").body.decode())
            assert found
            self.token = found[1]
        return entered
