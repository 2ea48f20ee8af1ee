"""The document that a privacy officer signs."""

import json
import re
from math import inf
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetop.answers.result_files import checked_output
from treetop.audit import documents
from treetop.audit.checks import NOT_SEEN, AuditReport, Check
from treetop.audit.documents import ENDINGS, Circumstances, write_document
from treetop.errors import InvalidInput

GOOD, BAD = Check("fine", True, "a claim", 0.5, 1), Check("broken", False, "two | <b>claims</b>", inf, 1)
HERE = Circumstances("2026-01-02T03:04:05+00:00", "0.1.0", "abc", "d" * 64, "CPython 3.11", "Linux", "everything")


def written(tmp_path: Path, name: str, *checks: Check) -> str:
    write_document(AuditReport(checks), HERE, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    return (tmp_path / name).read_text("utf-8")


def test_json_says_when_where_and_what(tmp_path: Path) -> None:
    told = json.loads(written(tmp_path, "audit.json", GOOD, BAD))
    assert (told["verdict"], told["date"], told["commit"], told["code"]) == ("fail", HERE.date, "abc", "d" * 64)
    assert told["checks"][1]["measured"] == "infinite"
    assert told["not_seen"] == list(NOT_SEEN)


def test_markdown_has_a_row_for_each_claim_whatever_it_says(tmp_path: Path) -> None:
    text = written(tmp_path, "audit.md", GOOD, BAD)
    assert "**FAILED: 1 of 2 claims do not hold: broken. Do not deploy.**" in text
    assert "| FAIL | broken | two \\| <b>claims</b> | inf | 1 |" in text
    assert all(f"- {limit}" in text for limit in NOT_SEEN)


def test_the_page_shows_every_claim_and_runs_nothing(tmp_path: Path) -> None:
    text = written(tmp_path, "audit.html", GOOD, BAD)
    assert "two | &lt;b&gt;claims&lt;/b&gt;" in text
    assert 'class="headline failed"' in text
    assert "Passed: all 1 claims hold." in written(tmp_path, "audit.html", GOOD)
    assert not re.search(r"<script|<img|https?:|url\(", text)


@given(st.text(max_size=30))
def test_no_text_breaks_the_page(claim: str) -> None:
    page = documents._page(AuditReport([Check("name", True, claim, 1, 2)]), HERE)
    table = page[page.index("<tbody>") : page.index("</tbody>") + len("</tbody>")]
    cells = ElementTree.fromstring(table).findall("./tr/td")  # noqa: S314  our own page
    assert len(cells) == 5


def test_an_audit_of_nothing_has_not_passed_anything(tmp_path: Path) -> None:
    assert "Nothing was checked." in written(tmp_path, "audit.md")


@pytest.mark.parametrize("name", ["audit.pdf", "audit", "missing/audit.html"])
def test_what_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(name)):
        checked_output(tmp_path / name, ENDINGS)


def test_circumstances_are_those_of_this_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = Circumstances.here("everything")
    assert found == Circumstances.here("everything") or found.date != Circumstances.here("everything").date
    for folder in ("one", "two"):
        (tmp_path / folder / "__pycache__").mkdir(parents=True)
        (tmp_path / folder / "code.py").write_text("x = 1\n")
        (tmp_path / folder / "__pycache__" / "code.pyc").write_text(folder)
    monkeypatch.setattr(documents, "PACKAGE", tmp_path / "one")
    one = documents._code_digest()
    monkeypatch.setattr(documents, "PACKAGE", tmp_path / "two")
    assert documents._code_digest() == one
    assert documents._commit() == "not a checkout"
    (tmp_path / "two" / "code.py").write_text("x = 2\n")
    assert documents._code_digest() != one
