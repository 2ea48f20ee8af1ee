"""`find(..., strategy="panorama")`: which names are counted, how they are read, and what is refused."""

from typing import Any

import pytest

import treetop
from treetop.answers.answer import Answer
from treetop.datasets.loading import as_federation
from treetop.errors import InvalidInput
from treetop.mechanisms.query import Query
from treetop.query.preparation import prepared
from treetop.wording import Note

# Notes are looked at in the answer; that each is a warning, too, is tested with `find`.
pytestmark = pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")

TEXTS = ["green tea", "mate", "water", "cocoa", "juice"]
DATA = {
    "north": {text: 40_000 // (rank + 1) for rank, text in enumerate(TEXTS)},
    "south": {text: 30_000 // (rank + 1) for rank, text in enumerate(TEXTS)},
}
IDS = {"north": {"7": 30_000, "12345": 20_000}, "south": {"7": 9_000, "99": 15_000}}


def found(data: Any = DATA, **options: Any) -> Answer:
    options = {"k": 3, "epsilon": 4.0, "seed": 1, "strategy": "panorama", "bits": 16, **options}
    return treetop.find(data, **options)


def test_texts_are_hashed_under_a_key_of_the_query_and_read_back() -> None:
    answer = found()
    assert [row.item for row in answer.items] == TEXTS[:3]
    assert {row.source for row in answer.items} == {"recovered"}
    assert (answer.mechanism, answer.encoding) == ("panorama", "hashed")
    assert (answer.choices[0].parameters["bits"], answer.choices[0].parameters["oracle"]) == (16, "walsh")
    assert answer.truth is not None
    assert answer.truth.f1 == 1


def test_a_list_is_counted_by_everybody() -> None:
    answer = found(word_list=[TEXTS[0], TEXTS[1], "nobody's"])
    assert [row.source for row in answer.items] == ["listed", "listed", "recovered"]
    assert [row.item for row in answer.items] == TEXTS[:3]


def test_without_texts_what_is_on_no_list_shows_as_a_hash() -> None:
    answer = found(word_list=[TEXTS[0], TEXTS[2]], text_recovery=False)
    assert [row.source for row in answer.items] == ["listed", "unknown", "listed"]
    assert answer.items[1].item.startswith("#")


def test_ids_are_counted_as_they_are() -> None:
    for options in ({}, {"encoding": "ids"}):
        answer = found(IDS, **options)
        assert [row.item for row in answer.items] == ["7", "12345", "99"]
        assert answer.encoding == "ids"
    assert found(IDS, encoding="hashed").encoding == "hashed"


def test_a_catalogue_counts_whoever_is_outside() -> None:
    answer = found(catalogue=["mate", "water", "green tea", "beer"])
    assert [row.item for row in answer.items] == ["green tea", "mate", "water"]
    assert answer.outside is not None
    assert answer.outside.true_share is not None
    assert abs(answer.outside.share - answer.outside.true_share) < 6 * answer.outside.stderr


def test_more_than_a_hundred_thousand_items_get_longer_names() -> None:
    many = {"north": {**{f"item {number}": 1 for number in range(100_001)}, "green tea": 400_000}}
    answer = treetop.find(many, k=1, epsilon=4.0, seed=1, strategy="panorama", text_recovery=False)
    assert answer.choices[0].parameters["bits"] == 26


def notes_on(held: dict[str, int], **settings: object) -> tuple[Note, ...]:
    question = Query(k=1, strategy="panorama", settings=settings)
    return prepared(as_federation({"north": held}), question).notes


def test_advice_on_long_texts_names_the_chunks_that_make_room() -> None:
    long = "https://example.org/" + "a-long-path/" * 4
    held = {long: 9_000, "tea": 5_000, "mate": 4_000}
    (note,) = [note for note in notes_on(held, text_chunks=8) if note.code == "texts_cut_short"]
    assert note.parameters["bits"] == 64
    chunks = note.parameters["chunks"]
    assert not [note for note in notes_on(held, text_chunks=chunks) if note.code.startswith("texts_")]
    assert [note for note in notes_on(held, text_chunks=chunks - 1) if note.code.startswith("texts_")]
    endless = notes_on({"天气预报" * 60: 9_000, "tea": 5_000}, text_chunks=12)
    assert any(note.code == "texts_too_long" and note.parameters["most"] == 128 for note in endless)
    some = {f"word {number}": 2_000 for number in range(40)} | {long: 9_000, "öffnungszeiten": 900}
    assert any(note.parameters.get("enough") for note in notes_on(some, text_chunks=4))


ADDRESS = (
    "https://www.example.org/catalogue/2024/teas-and-infusions/green/page-12.html"
    "?order=price&show=all&language=english-gb-us"
)
LONG = {
    "öffnungszeiten": 40_000,
    "天气预报": 30_000,
    ADDRESS: 20_000,
    "tea": 9_000,
}


def test_long_texts_come_back_where_the_reports_carry_them() -> None:
    answer = found({"north": LONG, "south": LONG}, text_chunks=79, bits=24)
    assert len(ADDRESS) == 120
    assert [row.item for row in answer.items] == list(LONG)[:3]
    assert {row.source for row in answer.items} == {"recovered"}
    assert (answer.choices[0].parameters["text_share"], answer.choices[0].parameters["chunks"]) == (0.45, 79)
    assert not [note for note in answer.notes if note.code.startswith("texts_")]


def test_long_texts_show_as_a_hash_with_the_reason_where_no_report_carries_them() -> None:
    answer = found({"north": LONG, "south": LONG}, k=4, bits=24, text_chunks=12)
    assert [row.item.startswith("#") for row in answer.items] == [True, True, True, False]
    assert {row.source for row in answer.items[:3]} == {"unknown"}
    (reason,) = [note for note in answer.notes if note.code.startswith("texts_")]
    assert reason == Note("texts_cut_short", items=3, bits=96, chunks=79, enough=None, share=0.95)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mechanism": "taps"}, "has no use for the mechanism 'taps'"),
        ({"encoding": "words"}, "has no use for the encoding 'words'"),
        ({"bits": 27}, "at most 26 bits, found bits = 27"),
        ({"oracle": "olh"}, "through an oracle that counts every name, walsh, found olh"),
    ],
)
def test_what_has_no_use_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        found(**options)
