"""The site of `treetop up --survey`: its page, its tickets, and what it passes on to the party."""

import json
import socket
import ssl
import struct
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from http.client import HTTPConnection, HTTPSConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import BoundedSemaphore

import pytest
from tests.support.http_answers import Answer, answer_of, hangs_up
from tests.support.parties import NAME, SIGNING, Hosted, document, honest_entry, live, task

from treetop.errors import InvalidInput, StoreUnavailable
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.local import survey
from treetop.services.local.survey import SurveyPlan, SurveySite, SurveyTask, network_address

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
def site(tmp_path: Path, tickets: Tickets) -> Iterator[SurveySite]:
    hosted = Hosted()
    hosted.party.install(document(ONE_SHOT))
    hosted.party.issue(ONE_SHOT.digest, 10)
    with live(hosted.context) as port:
        url = f"http://127.0.0.1:{port}"
        asked = SurveyTask(ONE_SHOT.digest.hex(), NAME, url, SIGNING.public, ("a<b", "kiwi"), tmp_path / "key")
        with SurveySite(PLAN, asked, tickets, tmp_path) as site:
            yield site


@pytest.fixture
def port(site: SurveySite) -> int:
    return int(site.listen("127.0.0.1").split(":")[2].strip("/"))


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
    for method, path in (
        ("POST", f"{PATH}/tickets"), ("GET", "/metrics"), ("GET", "/v1/health"), ("GET", f"{PATH}/messages/1/outcome"),
        ("POST", PATH), ("GET", "/../secret"), ("GET", "/survey.json"), ("GET", f"{PATH}/lists/1/9"), ("POST", "/"),
    ):  # fmt: skip
        assert ask(port, method, path).status == 404, path
    assert ask(port, "PUT", PATH).status == 501
    assert ask(port, "POST", f"{PATH}/reports", b"x" * 70_000).status == 413


def test_tickets_are_for_the_own_page_and_not_without_end(
    port: int, site: SurveySite, tickets: Tickets, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"Origin": f"http://127.0.0.1:{port}"}
    assert ask(port, "POST", "/ticket", None, **own).json == {"ticket": "ab" * 24}
    assert ask(port, "POST", "/ticket").status == 404
    assert ask(port, "POST", "/ticket", Origin="http://other.example").status == 404
    assert site.handed_out == 1
    tickets.away = True
    assert ask(port, "POST", "/ticket", None, **own).status == 503
    monkeypatch.setattr(survey, "MAX_PEOPLE", 2)
    assert ask(port, "POST", "/ticket", None, **own).status == 404


def test_many_who_ask_at_once_get_no_more_tickets(site: SurveySite, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_PEOPLE", 3)

    def slowly(_request: object) -> bool:
        time.sleep(0.1)
        return True

    monkeypatch.setattr(survey, "_from_own_page", slowly)
    with ThreadPoolExecutor(12) as people:
        found = Counter(people.map(lambda _: ask(port, "POST", "/ticket").status, range(12)))
    assert (found, site.handed_out) == ({200: 3, 404: 9}, 3)


def test_a_body_that_comes_slowly_keeps_nobody_out(
    site: SurveySite, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    site._busy = BoundedSemaphore(1)
    monkeypatch.setattr(survey, "SECONDS", 1.0)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as parked:
        head = f"POST {PATH}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx"
        parked.sendall(head.encode())
        assert ask(port, "GET", "/").status == 200
        assert hangs_up(parked, 18), "a byte now and then gains no time"


def test_whoever_hangs_up_at_once_leaves_no_trace_and_a_fault_does(
    port: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reset() -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the end is a reset
            peer.sendall(b"GET / HTTP/1.1\r\n")

    for _ in range(20):
        reset()
    assert ask(port, "GET", "/").status == 200
    time.sleep(0.2)
    assert "Traceback" not in capfd.readouterr().err
    monkeypatch.setattr(BaseHTTPRequestHandler, "handle", lambda _: 1 // 0)
    reset()
    end, said = time.monotonic() + 30, ""
    while "ZeroDivisionError" not in said and time.monotonic() < end:
        said += capfd.readouterr().err
        time.sleep(0.02)
    assert "ZeroDivisionError" in said


def test_a_length_is_a_number(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    for length in ("\xb2", "-1", "x", "70000"):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
            head = f"POST {PATH}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
            peer.sendall(head.encode("latin-1"))
            assert peer.recv(100).startswith(b"HTTP/1.1 413 ")
    assert "Traceback" not in capfd.readouterr().err


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
    with pytest.raises(InvalidInput, match="the survey cannot listen on 127.0.0.1"):
        site.listen("127.0.0.1", port)


def test_the_plan_is_kept_with_the_federation(tmp_path: Path) -> None:
    plan = SurveyPlan("Früchte?", 60, ("http://127.0.0.1:8000",))
    assert SurveyPlan.load(tmp_path) is None
    plan.save(tmp_path)
    assert SurveyPlan.load(tmp_path) == plan
    (tmp_path / "survey.json").write_text("{}")
    with pytest.raises(InvalidInput, match="expected what treetop up wrote"):
        SurveyPlan.load(tmp_path)
    with pytest.raises(InvalidInput, match="--question must be without control"):
        SurveyPlan("a\nb", 60)


def test_another_site_is_told_what_its_page_must_know(site: SurveySite, tmp_path: Path) -> None:
    facts = json.loads(site._task.for_other_sites())
    assert set(facts) == {"party", "party_name", "task", "server_key", "items", "back_end_key_file"}
    assert facts["back_end_key_file"] == str(tmp_path / "key")


def test_an_address_is_one_that_phones_can_reach_or_none() -> None:
    found = network_address()
    assert found is None or (not found.startswith("127.") and found.count(".") == 3)
