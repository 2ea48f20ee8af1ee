"""The party's own page: numbers alone, whatever its store holds."""

import re
from collections.abc import Iterator

import pytest
from tests.support.parties import (
    BACK_END_KEY,
    SERVER_KEY,
    SIGNING,
    Hosted,
    document,
    honest_entry,
    served,
    settings,
    task,
)
from tests.support.visitors import VisitorOf

from treetop.federation.wire.uploads import TicketedReport, encoded_upload
from treetop.services.party.app import party_app
from treetop.web.party_pages import party_pages

TASK = task(name="fruit & <b>nuts</b>")


@pytest.fixture
def person() -> Iterator[VisitorOf]:
    hosted = Hosted()
    hosted.party.install(document(TASK))
    with served(party_app(hosted.context, party_pages(hosted.context, settings()))) as port:
        visitor = VisitorOf(port)
        visitor.hosted = hosted  # type: ignore[attr-defined]
        yield visitor


def report(person: VisitorOf, *entries: TicketedReport) -> None:
    body = encoded_upload(entries).decode("latin-1")
    sent = person.ask("POST", f"/v1/tasks/{TASK.digest.hex()}/reports", body, content_type="application/octet-stream")
    assert sent.status == 200, sent.body


def test_only_the_partys_own_back_end_key_opens_it(person: VisitorOf) -> None:
    assert person.get("/").status == 303
    assert VisitorOf(person.port).log_in(SERVER_KEY).status == 403
    assert person.log_in(BACK_END_KEY).status == 303
    host = f"127.0.0.1:{person.port}"
    own = person.ask("POST", "/page/logout", f"form_token={person.token}", origin=f"http://{host}")
    assert own.status == 303
    other = person.ask("POST", "/page/login", f"key={BACK_END_KEY}", origin="https://other.example")
    assert other.status == 403


def test_it_shows_numbers_and_neither_values_tickets_nor_addresses(person: VisitorOf) -> None:
    person.ask("POST", f"/v1/tasks/{TASK.digest.hex()}/tickets", '{"count": 20}', content_type="application/json",
               authorization=f"Bearer {BACK_END_KEY}")  # fmt: skip
    entries = [honest_entry(TASK, serial) for serial in range(12)]
    report(person, *entries)
    report(person, *entries[:3])
    report(person, TicketedReport(bytes(24), entries[0].batch))
    person.log_in(BACK_END_KEY)
    page = person.get("/").body.decode()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    expected = (
        "Tickets 20", "Reports 12", "accepted 12", "replayed 3", "ticket forged 1", "Reports today 12",
        "back end active", "server active", f"{SIGNING.public[:16]}…", "Store in order", "nowhere.db",
    )  # fmt: skip
    assert [said for said in expected if said not in text] == []
    assert "&lt;b&gt;nuts" in page
    part = person.get("/", hx_request="true").body.decode()
    assert "<html" not in part
    assert "Reports 12" in re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", part))
    secrets = [entry.ticket.hex() for entry in entries] + [entry.batch.hex() for entry in entries]
    secrets += [BACK_END_KEY, SERVER_KEY, "127.0.0.1", "canary"]
    assert not [secret for secret in secrets if secret in page + part]


def test_a_damaged_store_is_said(person: VisitorOf) -> None:
    person.hosted.context.damaged["ab" * 32] = "a row was changed"  # type: ignore[attr-defined]
    person.log_in(BACK_END_KEY)
    assert b"damaged" in person.get("/").body


def test_the_server_is_told_numbers_alone(person: VisitorOf) -> None:
    report(person, *(honest_entry(TASK, serial) for serial in range(5)))
    by = {"authorization": f"Bearer {SERVER_KEY}"}
    whole = person.ask("GET", "/v1/standing", **by).json
    assert {**whole, "version": ""} == {
        "party": "north", "version": "", "tickets": 0, "reports_today": 5, "damaged": [], "refusals": {},
    }  # fmt: skip
    one = person.ask("GET", f"/v1/tasks/{TASK.digest.hex()}/standing", **by).json
    assert one == {"tickets": 0, "enrolled": None, "reports": 5, "verdicts": {"accepted": 5}, "refusals": {}}
    assert person.ask("GET", "/v1/standing").status == 401
    assert person.ask("GET", "/v1/standing", authorization=f"Bearer {BACK_END_KEY}").status == 403
