"""An answer as a page shows it, as files, and as the page that is signed."""

import csv
import io
import json
import re
import sys
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.support.answers import DEPLOYED
from tests.support.hostile_texts import HIDDEN, MARKUP
from tests.support.refusals import refused

import treetop
from treetop.adapters.http.problem_details import Problem
from treetop.answers.answer import Answer
from treetop.answers.parts import AnswerItem, AnswerParty, CampaignPlace, ItemChange, PartyCount, Refusals
from treetop.audit.checks import AuditReport, Check
from treetop.audit.documents import Circumstances, write_document
from treetop.errors import InvalidInput
from treetop.privacy.shuffling import CentralGuarantee
from treetop.public_text import HIDDEN as HIDDEN_CHARACTERS
from treetop.public_text import writable
from treetop.web.answer_pages import MAX_BARS, NOT_RUN, AuditRecord, exported, read_audit, sign_off
from treetop.web.answer_view import promises, view_of, weakest_central
from treetop.web.site import Site, Visit, Visitor
from treetop.wording import Note

DRINKS = {"harbour": {"chai": 9000, "cocoa": 2000}, "market": {"chai": 5000, "latte": 3000}}
SIMULATED = treetop.find(DRINKS, k=2, epsilon=4, seed=1)


class Known:
    """Everybody is known."""

    def visitor(self, request: Request) -> Visitor | None:
        return Visitor("t", "admin")


SITE = Site("Test", [], Known(), lambda error: Problem(500, str(error)))
VISIT = Visit(
    Request({"type": "http", "method": "GET", "path": "/page/x", "headers": [], "query_string": b""}), None, b""
)


def shown(answer: Answer) -> str:
    return SITE.rendered("answer.html.jinja", view=view_of(answer, "/page/answers/1"))


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())


def body_of(response: Response) -> bytes:
    return bytes(response.body)


def test_what_a_reader_needs_is_on_the_page() -> None:
    text = text_of(shown(DEPLOYED))
    for said in (
        "favourite drink", "chai", "900 ± 40", "30.0 %", "1 of 2 items stands out from noise", "○ may be noise",
        "airport is missing: withdrew: closed (750 users expected)", "7 reports of market", "75.0 % of the 4,000 users",
        "about 120 fake users", "hash, not read", "25.0 % ± 1.0 %", "Where chai lives",
        DEPLOYED.notes[0].text, DEPLOYED.choices[0].text,
    ):  # fmt: skip
        assert said in text, said


def test_a_simulation_shows_the_truth() -> None:
    text = text_of(shown(SIMULATED))
    assert "14,000" in text
    assert "F1 1.00" in text
    assert "no device was asked" in text


def test_an_answer_without_items() -> None:
    assert "Nothing rose above the noise" in text_of(shown(replace(DEPLOYED, items=(), parties=())))


@pytest.mark.parametrize("text", [*HIDDEN, *MARKUP, '"><img src=x onerror=alert(1)>'])
def test_every_text_of_an_answer_means_itself(text: str) -> None:
    text = writable(text)  # as answers are read
    party = replace(DEPLOYED.parties[0], name=text)
    row = replace(DEPLOYED.items[0], item=text, by_party=(PartyCount(text, 5.0, 1.0),))
    missing = replace(DEPLOYED.missing[0], name=text, reason=text)
    said = Note("chosen_because", reason=text)
    answer = replace(
        DEPLOYED, name=text, items=(row,), parties=(party,), missing=(missing,), notes=(said,), choices=(said,)
    )
    page = SITE.shown(VISIT, "sign_off.html.jinja", page=sign_off(answer), back="/")
    for written in (shown(answer), body_of(page).decode()):
        assert "<script>alert" not in written
        assert "<img src=x" not in written
        assert not HIDDEN_CHARACTERS.search(written.replace("\n", ""))
        assert " style=" not in written
    for kind in ("json", "csv", "parquet", "svg", *(["png"] if "$" in text else [])):
        assert body_of(exported(answer, kind))


def promised(answer: Answer) -> dict[str, str]:
    return {promise.to: promise.said for promise in promises(answer)}


def test_promises() -> None:
    honest = tuple(replace(party, central=CentralGuarantee(0.08, 1e-8)) for party in DEPLOYED.parties)
    weaker = replace(honest[1], central=CentralGuarantee(0.1, 1e-8))
    said = promised(replace(DEPLOYED, parties=(honest[0], weaker)))
    assert "right at most 63 times in 100" in said["To everybody who was asked"]
    assert "e^0.5 = 1.65 times likelier" in said["To a party"]
    for reader in ("To whoever runs the server", "To readers"):
        assert "(0.1, 1e-8)-DP holds if the parties are honest, and 0.5-LDP whatever they do" in said[reader]
    of_sets = promised(replace(DEPLOYED, items_per_user=8))
    assert "whole set of items" in of_sets["To a party"]


@pytest.mark.parametrize("central", [None, CentralGuarantee(0.5, 1e-8)])
def test_no_more_is_promised_than_the_weakest_party_keeps(central: CentralGuarantee | None) -> None:
    parties = (replace(DEPLOYED.parties[0], central=central), DEPLOYED.parties[1])
    answer = replace(DEPLOYED, parties=parties)
    assert weakest_central(answer) == central
    assert "0.5-LDP holds, whatever the parties do" in promised(answer)["To readers"]


def test_what_changed_since_the_week_before() -> None:
    changes = (ItemChange("chai", "up", 4.0), ItemChange("#0f", "new", None), ItemChange("<rum>", "gone", None))
    place = CampaignPlace("ab" * 32, 2, 3, Refusals(not_my_week=1200, budget_lifetime=4), 5, changes)
    page = shown(replace(DEPLOYED, campaign=place))
    text = text_of(page)
    assert "do not answer: 1,200 have another week, 4 have spent all of theirs. Compared with week 5." in text
    assert "Cycle 2, week 3 of a campaign." in text
    assert "Gone: <rum>." in text
    assert "▲ chai" in text
    assert "+ #0f" in text
    assert 'aria-label="more than the week before, beyond noise"' in page
    assert "one randomised report in one week of the cycle" in text
    first = text_of(shown(replace(DEPLOYED, campaign=CampaignPlace("ab" * 32, 1, 1, Refusals()))))
    assert "no earlier answer to compare it with" in first
    assert "do not answer" not in first
    assert "▲" not in first


def test_where_items_live_is_on_one_scale() -> None:
    parties = (AnswerParty("a", 1000, 1), AnswerParty("b", 100, 1), AnswerParty("gone", 0, 1))
    rows = (
        AnswerItem("x", 110.0, 0.1, 1.0, by_party=(PartyCount("a", 100.0, 1.0), PartyCount("b", 10.0, 1.0))),
        AnswerItem("y", 40.0, 0.04, 1.0, by_party=(PartyCount("b", 40.0, 1.0), PartyCount("gone", 0.0, 1.0))),
    )
    first, second = view_of(replace(DEPLOYED, parties=parties, items=rows), "/x").homes

    def widths(panel: Any) -> list[float]:
        root = ElementTree.fromstring(panel)  # noqa: S314  our own
        return [float(each.get("width", "")) for each in root.iter() if each.get("class") == "bar"]

    assert widths(first)[0] == pytest.approx(widths(first)[1])  # 10 % of either party
    assert widths(second)[0] == pytest.approx(4 * widths(first)[0], rel=0.01)
    assert len(widths(second)) == 1


def test_json_reads_back() -> None:
    assert Answer.from_json(json.loads(body_of(exported(DEPLOYED, "json")))) == DEPLOYED


def test_csv_has_no_formulas() -> None:
    items = ("=1+1", "-2", "@x", "+x", "\tx", "\n=x", "\uff1d1", "\uff0bx", "\uff0d2", "\uff20x")
    rows = tuple(replace(DEPLOYED.items[0], item=item) for item in (*items, "tea, green", "a=1"))
    found = list(csv.DictReader(io.StringIO(body_of(exported(replace(DEPLOYED, items=rows), "csv")).decode())))
    assert [row["item"] for row in found] == [*(f"'{item}" for item in items), "tea, green", "a=1"]
    assert float(found[0]["count"]) == 900.5


def test_parquet_has_what_the_answer_has() -> None:
    table = pq.read_table(io.BytesIO(body_of(exported(DEPLOYED, "parquet"))))
    assert table.equals(DEPLOYED.to_arrow())


def test_pictures() -> None:
    assert ElementTree.fromstring(body_of(exported(DEPLOYED, "svg"))).tag.endswith("svg")  # noqa: S314  our own
    assert body_of(exported(DEPLOYED, "png")).startswith(b"\x89PNG")


def test_a_png_without_matplotlib_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(Problem, match=r"treetop-ldp\[plot\]") as refusal:
        exported(DEPLOYED, "png")
    assert refusal.value.status == 501


def test_other_kinds_are_refused() -> None:
    with pytest.raises(Problem, match="exported as json, csv, parquet, svg, png, found exe"):
        exported(DEPLOYED, "exe")


@pytest.mark.parametrize(
    ("name", "file"),
    [("favourite drink", "favourite-drink"), ('a"\r\nb: c', "a-b-c"), ("茶", "answer"), (None, "answer")],
)
def test_names_of_files(name: str | None, file: str) -> None:
    found = exported(replace(DEPLOYED, name=name), "csv").headers["content-disposition"]
    assert found == f'attachment; filename="{file}.csv"'


def test_what_is_signed() -> None:
    page = sign_off(DEPLOYED, [("Server's key", "cd" * 32)])
    text = text_of(body_of(SITE.shown(VISIT, "sign_off.html.jinja", page=page, back="/")).decode())
    digest = sha256(body_of(exported(DEPLOYED, "json"))).hexdigest()
    for said in (
        "favourite drink", "ab" * 32, "cd" * 32, digest, treetop.__version__, "until their group closes", "airport",
        "docs/explanation/privacy_guarantee.md", NOT_RUN, "Signature",
    ):  # fmt: skip
        assert said in text, said
    assert "This machine" in str(sign_off(SIMULATED).retention)


def test_a_long_answer_stays_one_page() -> None:
    long = replace(DEPLOYED, items=DEPLOYED.items * 50)
    page = sign_off(long)
    assert page.more == f"{100 - MAX_BARS} more items are in the exports."
    assert str(page.bars).count('class="bar"') == MAX_BARS


def audit_file(folder: Path, content: Any) -> Path:
    path = folder / "audit.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


CHECK = {"name": "krr", "passed": True, "claim": "x", "measured": 1.0, "limit": 1.0}
CIRCUMSTANCES = Circumstances("2026-01-02T03:04:05+00:00", "0.1.0", "none", "ab" * 32, "CPython", "Linux", "everything")
RECORDED: dict[str, Any] = {**vars(CIRCUMSTANCES), "verdict": "pass", "checks": [CHECK, CHECK], "not_seen": []}


def test_what_treetop_audit_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    write_document(AuditReport([Check("krr", True, "x", 1.0, 1.0)]), CIRCUMSTANCES, path)
    assert read_audit(path) == AuditRecord("pass", 1, 1, "2026-01-02T03:04:05+00:00", "0.1.0", "ab" * 32, "everything")


def test_a_recorded_audit(tmp_path: Path) -> None:
    record = read_audit(audit_file(tmp_path, RECORDED))
    assert (record.verdict, record.passed, record.claims) == ("pass", 2, 2)
    assert str(record).startswith("pass: 2 of 2 claims hold (everything); begun 2026-01-02")
    assert str(record) in sign_off(DEPLOYED, audit=str(record)).audit
    failed = {**RECORDED, "verdict": "fail", "checks": [CHECK, {**CHECK, "passed": False}]}
    assert str(read_audit(audit_file(tmp_path, failed))).startswith("fail: 1 of 2")


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", {}, {**RECORDED, "checks": []}, {**RECORDED, "date": 3},
        {**RECORDED, "verdict": "fail"}, {**RECORDED, "more": 1},
        {**RECORDED, "checks": [{**CHECK, "passed": "yes"}]}, {**RECORDED, "checks": [{**CHECK, "passed": False}]},
    ],
)  # fmt: skip
def test_another_file_is_no_audit(tmp_path: Path, content: Any) -> None:
    with refused("audit_file_malformed", InvalidInput):
        read_audit(audit_file(tmp_path, content))


def test_a_missing_audit(tmp_path: Path) -> None:
    with refused("audit_file_unreadable", InvalidInput, reason="No such file or directory"):
        read_audit(tmp_path / "none.json")
