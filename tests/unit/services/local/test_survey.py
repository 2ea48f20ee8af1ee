"""The site of `treetop up --survey`: its page, its tickets, and what it passes on to the party."""

import json
import socket
import ssl
import struct
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from http.client import HTTPConnection, HTTPSConnection
from io import StringIO
from pathlib import Path

import pytest
from tests.support.http_answers import Answer, answer_of, hangs_up
from tests.support.parties import NAME, SIGNING, Hosted, document, honest_entry, live, task
from tests.support.refusals import refused

from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import InvalidInput, StoreUnavailable
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.local import survey_site
from treetop.services.local.survey import SurveyPlan, SurveyTask, network_address
from treetop.services.local.survey_site import SurveySite

ONE_SHOT = task()
PATH = f"/v1/tasks/{ONE_SHOT.digest.hex()}"
PLAN = SurveyPlan('Which <fruit> do "you" like?', 600)


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        return answer_of(connection)
    finally:
        connection.close()


class Tickets:
    """Hands out tickets until the party is away."""

    def __init__(self) -> None:
        self.away = False

    def __call__(self) -> str:
        if self.away:
            raise StoreUnavailable("away")
        return "ab" * 24


@pytest.fixture
def tickets() -> Tickets:
    return Tickets()


@pytest.fixture
def log() -> StringIO:
    return StringIO()


@pytest.fixture
def site(tmp_path: Path, tickets: Tickets, log: StringIO) -> Iterator[SurveySite]:
    hosted = Hosted()
    hosted.party.install(document(ONE_SHOT))
    hosted.party.issue(ONE_SHOT.digest, 10)
    with live(hosted.context) as port:
        url = f"http://127.0.0.1:{port}"
        asked = SurveyTask(ONE_SHOT.digest.hex(), NAME, url, SIGNING.public, ("a<b", "kiwi"), tmp_path / "key")
        with SurveySite(PLAN, asked, tickets, tmp_path, StructuredLog(log)) as site:
            yield site


def port_of(site: SurveySite) -> int:
    return int(site.listen("127.0.0.1").split(":")[2].strip("/"))


@pytest.fixture
def port(site: SurveySite) -> int:
    return port_of(site)


def test_the_page_shows_texts_as_texts(port: int) -> None:
    answer = ask(port, "GET", "/?from=qr")
    page = answer.body.decode()
    assert answer.status == 200
    assert 'question="Which &lt;fruit&gt; do &quot;you&quot; like?"' in page
    assert "<option>a&lt;b</option>" in page
    assert f'task="{ONE_SHOT.digest.hex()}" party-name="{NAME}" server-keys="{SIGNING.public}"' in page
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert b"treetop-survey" in ask(port, "GET", "/treetop-survey.js").body


def test_what_devices_ask_goes_to_the_party_and_nothing_else_does(port: int) -> None:
    assert ask(port, "GET", "/v1/tasks").json["tasks"][0]["digest"] == ONE_SHOT.digest.hex()
    assert ask(port, "GET", PATH).body == document(ONE_SHOT)
    assert ask(port, "GET", f"{PATH}/beacon").headers["retry-after"] == "2"
    upload = encoded_upload([honest_entry(ONE_SHOT, 3)])
    page = {"Origin": f"http://127.0.0.1:{port}"}
    assert ask(port, "POST", f"{PATH}/reports", upload, **page).body == b'{"verdicts":["accepted"]}'
    for asked in ("ticket-checks", "refusals", "enrolments"):
        assert ask(port, "POST", f"{PATH}/{asked}", b"no upload", **page).status in (200, 400, 409), asked
    for method, path in (
        ("POST", f"{PATH}/tickets"), ("GET", "/metrics"), ("GET", "/v1/health"), ("GET", f"{PATH}/messages/1/outcome"),
        ("POST", PATH), ("GET", "/../secret"), ("GET", "/survey.json"), ("GET", f"{PATH}/lists/1/9"),
    ):  # fmt: skip
        assert ask(port, method, path).status == 404, path
    assert ask(port, "POST", "/").status == 405
    assert ask(port, "PUT", PATH).status == 405
    assert ask(port, "POST", f"{PATH}/reports", b"x" * 70_000).status == 413


def test_tickets_are_for_the_own_page_and_not_without_end(
    port: int, site: SurveySite, tickets: Tickets, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"Origin": f"http://127.0.0.1:{port}"}
    assert ask(port, "POST", "/ticket", None, **own).json == {"ticket": "ab" * 24}
    assert ask(port, "POST", "/ticket").status == 403
    assert ask(port, "POST", "/ticket", Origin="http://other.example").status == 403
    assert site.handed_out == 1
    tickets.away = True
    assert ask(port, "POST", "/ticket", None, **own).status == 503
    monkeypatch.setattr(survey_site, "MAX_PEOPLE", 2)
    assert ask(port, "POST", "/ticket", None, **own).status == 404


def test_many_who_ask_at_once_get_no_more_tickets(site: SurveySite, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_site, "MAX_PEOPLE", 3)

    def slowly(_request: object) -> bool:
        time.sleep(0.1)
        return True

    monkeypatch.setattr(survey_site, "from_own_page", slowly)
    with ThreadPoolExecutor(12) as people:
        found = Counter(people.map(lambda _: ask(port, "POST", "/ticket").status, range(12)))
    assert (found, site.handed_out) == ({200: 3, 404: 9}, 3)


def test_a_body_that_comes_slowly_keeps_nobody_out(site: SurveySite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_site, "LIMITS", replace(survey_site.LIMITS, body_seconds=1))
    port = port_of(site)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as parked:
        head = f"POST {PATH}/reports HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx"
        parked.sendall(head.encode())
        assert ask(port, "GET", "/").status == 200
        assert hangs_up(parked, 18), "a byte now and then gains no time"


def raw(port: int, *lines: str, body: bytes = b"") -> bytes:
    """Return all that is answered to a request that no library would send."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
        peer.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body)
        found = b""
        while piece := peer.recv(65536):
            found += piece
    return found


def test_whoever_hangs_up_at_once_leaves_no_trace(port: int, log: StringIO, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the end is a reset
            peer.sendall(b"GET / HTTP/1.1\r\n")
    assert ask(port, "GET", "/").status == 200
    time.sleep(0.2)
    assert (log.getvalue(), capfd.readouterr().err) == ("", "")


def test_a_fault_is_answered_and_logged_without_who_asked(
    port: int, log: StringIO, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise ZeroDivisionError("canary")

    monkeypatch.setattr(survey_site, "survey_page", broken)
    assert ask(port, "GET", "/").status == 500
    said = log.getvalue()
    assert capfd.readouterr().err == ""
    assert json.loads(said)["kind"] == "ZeroDivisionError"
    assert "127.0.0.1" not in said
    assert "canary" not in said


@pytest.mark.parametrize("length", ["9" * 5_000, "9" * 18, "70000", "-1", "x", "\xb2", "1\r\nContent-Length: 2"])
def test_a_length_that_is_no_number_or_too_large_is_refused(
    port: int, log: StringIO, capfd: pytest.CaptureFixture[str], length: str
) -> None:
    for path in ("/ticket", f"{PATH}/reports"):
        answer = raw(port, f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}")
        assert answer[9:12] in (b"400", b"413"), answer
    said = [json.loads(line) for line in log.getvalue().splitlines()]
    assert all(set(line) == {"time", "event", "logger", "message", "kind", "left_out"} for line in said)
    assert "127.0.0.1" not in log.getvalue()
    assert capfd.readouterr().err == ""


def test_the_body_of_a_get_is_not_the_next_request(port: int) -> None:
    hidden = f"POST /ticket HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n\r\n".encode()
    length = f"Content-Length: {len(hidden)}"
    answer = raw(port, f"GET {PATH} HTTP/1.1", f"Host: localhost:{port}", length, body=hidden)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b'"ticket"' not in answer
    both = raw(port, "POST /ticket HTTP/1.1", "Host: localhost", length, "Transfer-Encoding: chunked", body=hidden)
    assert b'"ticket"' not in both


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.7", "", "a b"]
)
def test_another_name_for_this_machine_is_refused(site: SurveySite, port: int, host: str) -> None:
    for method, path in (("GET", "/"), ("POST", "/ticket"), ("GET", "/v1/tasks")):
        answer = raw(port, f"{method} {path} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}")
        assert answer.startswith(b"HTTP/1.1 421 ")
        assert b"x-content-type-options: nosniff" in answer
    twice = raw(port, "GET / HTTP/1.1", "Host: localhost", f"Host: {host}")
    assert twice[9:12] in (b"400", b"421")
    assert raw(port, "GET / HTTP/1.0")[9:12] == b"421"
    assert site.handed_out == 0
    for own in ("localhost", "127.0.0.1", "[::1]", f"LOCALHOST:{port}"):
        assert ask(port, "GET", "/", Host=own).status == 200


def test_every_answer_has_the_headers(port: int) -> None:
    for method, path in (("GET", "/"), ("GET", "/nowhere"), ("PUT", "/"), ("GET", "/v1/tasks"), ("POST", "/ticket"),
                         ("GET", "/v1/tasks/"), ("GET", "/ticket/")):  # fmt: skip
        answer = ask(port, method, path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "location" not in answer.headers


def test_phones_are_served_with_a_certificate_of_this_machine(site: SurveySite, tmp_path: Path) -> None:
    url, fingerprint = site.listen_to_phones("127.0.0.1")
    trusting = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
    connection = HTTPSConnection(url.split("/")[2], context=trusting, timeout=60)
    connection.request("GET", "/")
    assert answer_of(connection).status == 200
    shown = ssl.PEM_cert_to_DER_cert((tmp_path / "certificate.pem").read_text())
    connection.close()
    assert fingerprint.replace(":", "").lower() == sha256(shown).hexdigest()
    assert (tmp_path / "key.pem").stat().st_mode & 0o077 == 0


def test_a_port_that_is_taken_is_told(site: SurveySite, port: int) -> None:
    with refused("cannot_listen", InvalidInput):
        site.listen("127.0.0.1", port)


def test_the_plan_is_kept_with_the_federation(tmp_path: Path) -> None:
    plan = SurveyPlan("Früchte?", 60, ("http://127.0.0.1:8000",))
    assert SurveyPlan.load(tmp_path) is None
    plan.save(tmp_path)
    assert SurveyPlan.load(tmp_path) == plan
    (tmp_path / "survey.json").write_text("{}")
    with refused("survey_file_malformed", InvalidInput):
        SurveyPlan.load(tmp_path)
    with refused("question_malformed", InvalidInput):
        SurveyPlan("a\nb", 60)


def test_another_site_is_told_what_its_page_must_know(site: SurveySite, tmp_path: Path) -> None:
    facts = json.loads(site._task.for_other_sites())
    assert set(facts) == {"party", "party_name", "task", "server_key", "items", "back_end_key_file"}
    assert facts["back_end_key_file"] == str(tmp_path / "key")


def test_an_address_is_one_that_phones_can_reach_or_none() -> None:
    found = network_address()
    assert found is None or (not found.startswith("127.") and found.count(".") == 3)
