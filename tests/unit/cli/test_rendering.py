import json
from dataclasses import replace

import pytest
from tests.support.answers import DEPLOYED

from treetop.answers.parts import AnswerParty, Covered, PartyCount
from treetop.cli.rendering import bar, coverage_line, present, rounded, show
from treetop.metrics.answer_quality import Advice

Capture = pytest.CaptureFixture[str]


def shown(capsys: Capture) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_bar_ends_in_its_error() -> None:
    assert bar(50, 10, 100, 10).plain == "████▓░    "
    assert bar(-5, 10, 100, 10).plain.strip() == ""
    assert bar(0, 0, 0, 10).plain == " " * 10
    assert bar(100, 50, 100, 10).plain == "█████▓▓▓▓▓"


def test_estimates_are_written_with_their_error() -> None:
    assert rounded(12345.6, 789.1) == "12,346 ± 789"


def test_everything_that_a_deployment_adds_is_said(capsys: Capture) -> None:
    show(DEPLOYED)
    text = shown(capsys)
    for words in (
        "taps, one-shot, olh oracle, words, k = 2, ε = 0.5",
        "● 1 of 2 items stands out from noise; ○ may be noise.",
        "25.00% ± 1.00% of users hold an item that is not in the catalogue.",
        "F1 0.50, NCR 0.75 against the true top 2 (1 is the best",
        "3,000 users in 2 parties; each party sent 900 to 1,200 bits.",
        "Warning: 7 reports of market are of a kind that no honest device sends.",
        "Shares of the users counted: harbour 66.7%, market 33.3%.",
        "Missing: airport (withdrew: closed; 750 users expected).",
        "75.0% of the expected 4,000 users are covered: market 80.0% of 1,250.",
        "Privacy: every user answers once; no report is more than e^0.5 = 1.65 times likelier",
        "About 120 fake users could push an item that nobody holds into the top k.",
        f"taps: {DEPLOYED.choices[0].text}",
        "#: the hash of a name that could not be read, for want of reports or because noise made it up; F1 counts it "
        "as missed. Names on a --word-list are read from fewer reports.",
        "unknown",
    ):
        assert words in text


def test_columns_of_what_is_not_known_are_left_out(capsys: Capture) -> None:
    show(DEPLOYED)
    assert "true" not in capsys.readouterr().out.splitlines()[1]
    counted = replace(DEPLOYED, items=tuple(replace(row, true_count=5, parties=1) for row in DEPLOYED.items))
    show(counted)
    heads = capsys.readouterr().out.splitlines()[1].split()
    assert heads == ["item", "users", "share", "true", "parties", "name"]


def test_counts_that_leave_out_a_party_are_told(capsys: Capture) -> None:
    """By the parties that named an item, or, where their number is not known, by those whose counts are there."""
    said = "counts leave out whoever holds the item in a party that did not name it."
    first, second = DEPLOYED.items
    for parties, line in (((1, 2), f"1 of 2 {said}"), ((1, 1), f"2 of 2 {said}"), ((2, 2), None)):
        rows = [replace(row, parties=named) for row, named in zip((first, second), parties, strict=True)]
        show(replace(DEPLOYED, items=tuple(rows)))
        assert (line in shown(capsys)) if line else (said not in shown(capsys))
    by_party = (PartyCount("harbour", 5.0, 1.0),)
    show(replace(DEPLOYED, items=(replace(first, parties=None, by_party=by_party), replace(second, by_party=()))))
    assert f"1 of 2 {said}" in shown(capsys)


def test_an_empty_answer_says_why(capsys: Capture) -> None:
    show(replace(DEPLOYED, items=(), missing=(), truth=None, outside=None, fakes_needed=None))
    text = shown(capsys)
    assert "Nothing rose above the noise" in text
    for words in ("F1", "Missing", "fake", "stand out"):
        assert words not in text


def test_every_answer_says_whose_users_it_stands_for(capsys: Capture) -> None:
    crowd = tuple(AnswerParty(f"p{place}", 100, 8, share=0.1) for place in range(10))
    whole = replace(DEPLOYED, parties=crowd, missing=(), covered=Covered(1000, "known", 1000, 1.0))
    show(whole)
    text = shown(capsys)
    assert (
        "counted: p0 10.0%, p1 10.0%, p2 10.0%, p3 10.0%, p4 10.0%, p5 10.0%, p6 10.0%, p7 10.0%, 2 others 20" in text
    )
    assert "100.0% of the known 1,000 users are covered; parties' sizes are their own word" in text
    met = tuple(replace(party, expected=100, coverage=1.0) for party in crowd)
    assert coverage_line(replace(whole, parties=met)) == "100.0% of the known 1,000 users are covered."
    fewer = tuple(replace(party, expected=200, coverage=0.5) for party in crowd)
    assert coverage_line(replace(whole, parties=fewer)).endswith("p7 50.0% of 200, ….")
    lost = replace(DEPLOYED, covered=Covered(3000, "known", 3000, None))
    assert coverage_line(lost).startswith("How many users are covered is not known")


@pytest.mark.parametrize("as_json", [True, False])
def test_notes_go_to_standard_error_and_json_stands_alone(capsys: Capture, as_json: bool) -> None:
    present(DEPLOYED, as_json)
    printed = capsys.readouterr()
    assert f"note: {DEPLOYED.notes[0].text}" in printed.err
    assert (f"note: taps: {DEPLOYED.choices[0].text}" in printed.err) == as_json
    if as_json:
        assert json.loads(printed.out) == DEPLOYED.to_json()


def test_one_party_of_one_user_is_not_written_in_the_plural(capsys: Capture) -> None:
    alone = replace(DEPLOYED.parties[1], users=1)
    show(replace(DEPLOYED, parties=(alone,)))
    assert "1 user in 1 party, which sent 900 bits." in shown(capsys)


def test_the_promise_for_sets_is_about_sets(capsys: Capture) -> None:
    show(replace(DEPLOYED, items_per_user=8))
    assert "whole set of items: every user answers once" in (text := shown(capsys))
    assert "likelier for one set than for another" in text
    assert "likelier for one set than for another" in replace(DEPLOYED, items_per_user=8)._repr_html_()


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ((True, False), "noise put it there. Ask for fewer items (--k)."),
        ((None, None), "noise put it there. Ask for fewer items (--k)."),
        ((False, False), "nobody holds it. No item stands out: there are too few users for this epsilon."),
    ],
)
def test_fewer_items_are_advised_only_where_some_may_be_real(
    marks: tuple[bool | None, ...], said: str, capsys: Capture
) -> None:
    items = tuple(replace(row, significant=mark) for row, mark in zip(DEPLOYED.items, marks, strict=True))
    show(replace(DEPLOYED, items=items, advice=Advice(None, None)))
    assert said in shown(capsys)
