"""Spoilt documents get their verdict, and none makes a reader fail; the TypeScript device runs the same vectors."""

import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.vectors.document_vectors import ACCEPTED, AnyKey, applied, bases, mutants, verdict, week_verdict

from treetop.federation.documents import DocumentCode, DocumentRefused
from treetop.federation.wire.signed_documents import checked, unverified_content

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "documents.json").read_text())
NO_DOCUMENTS = [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"null", b"1" * 5000, b"\xfe\xff\x00{"]


def test_every_reader_gives_the_recorded_verdict() -> None:
    count = 0
    for code, edits in VECTORS["mutants"].items():
        for each in edits:
            number, change = each.split(" ", 1)
            base = VECTORS["bases"][int(number)]
            assert verdict(base["kind"], applied(base["text"], change)) == code, each
            count += 1
    assert count > 500
    assert {*VECTORS["mutants"]} >= {ACCEPTED, *DocumentCode} - {DocumentCode.OTHER}


def test_a_device_pays_for_no_week_that_it_refuses() -> None:
    seen = set()
    for group in VECTORS["weeks"]:
        for task, campaign, code, cost in group["cases"]:
            found = week_verdict(applied(group["task"], task), applied(group["campaign"], campaign))
            assert found == (code, cost)
            assert cost == "0" or code in {ACCEPTED, "not_my_week"}
            seen.add(code)
    assert {ACCEPTED, *DocumentCode} - {DocumentCode.SIGNATURE} <= seen


def test_a_refusal_depends_on_documents_alone_and_comes_before_the_item_is_read() -> None:
    for group in VECTORS["weeks"]:
        for task, campaign, code, _ in group["cases"]:
            read: list[int | None] = []
            found = {
                week_verdict(
                    applied(group["task"], task), applied(group["campaign"], campaign),
                    lambda item=item, read=read: read.append(item) or item,  # type: ignore[misc]
                )
                for item in (None, 0, 77)
            }  # fmt: skip
            assert len(found) == 1
            assert read == ([None, 0, 77] if code == ACCEPTED else [])


@pytest.mark.parametrize("base", bases(), ids=lambda base: base[0])
def test_no_spoilt_document_makes_a_reader_fail(base: tuple[str, str]) -> None:
    kind, text = base
    verdicts = {verdict(kind, each) for each in islice(mutants(text, Random(kind)), 700)}  # noqa: S311
    assert verdicts <= {ACCEPTED, *DocumentCode}
    assert DocumentCode.TYPE in verdicts


@pytest.mark.parametrize("document", NO_DOCUMENTS, ids=range(len(NO_DOCUMENTS)))
def test_what_is_no_document_is_refused(document: bytes) -> None:
    for kind in ("task", "campaign", "beacon", "list"):
        assert verdict(kind, document.decode("latin-1")) in {DocumentCode.FORM, DocumentCode.TYPE}
    with pytest.raises(DocumentRefused):
        checked("task", document, AnyKey())
    with pytest.raises(DocumentRefused):
        unverified_content(document)
