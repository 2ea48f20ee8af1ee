"""What `find` makes of a word list's order and of normalisation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.every_command import app
from typer.testing import CliRunner

import treetop
from treetop.answers.answer import Answer
from treetop.datasets.federation import federation_from_mapping
from treetop.encoding.item_codecs import HashedText
from treetop.errors import InvalidInput, UnknownName
from treetop.wording import Note

# Notes are looked at in the answer; that each is a warning, too, is tested with `find`.
pytestmark = pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")

BITS, KEY = 16, "salt"
SHARED = "several words of the list that share a hash"


def twin_of(word: str) -> str:
    """Return another word with the same hash."""
    codec = HashedText(BITS, KEY)
    code = codec.hash_of(word.encode())
    return next(other for other in map("other {}".format, range(1 << 20)) if codec.hash_of(other.encode()) == code)


THINK, TWIN = "think", twin_of("think")
DATA = {"north": {THINK: 40_000, "chai": 20_000, "mate": 5_000}, "south": {THINK: 30_000, "chai": 15_000}}


def answered(**options: Any) -> Answer:
    return treetop.find(
        DATA, **{"k": 2, "epsilon": 4.0, "seed": 1, "bits": BITS, "hash_key": KEY, "text_recovery": False, **options}
    )


def shared_notes(answer: Answer) -> list[Note]:
    return [note for note in answer.notes if note.code == "words_share_hash"]


@pytest.mark.parametrize("words", [[TWIN, "chai", THINK], [THINK, "chai", TWIN]])
def test_a_list_without_order_shows_all_words_of_a_hash_and_says_so(words: list[str]) -> None:
    answer = answered(word_list=words)
    first, second = (word for word in words if word != "chai")
    assert [row.item for row in answer.items] == [f"{first} or {second}", "chai"]
    assert [row.source for row in answer.items] == ["listed", "listed"]
    assert shared_notes(answer) == [Note("words_share_hash", names=1)]
    assert Note("names_from_list", source="the list that was given", words=3, ordered=False) in answer.choices
    assert answer.truth is not None
    assert answer.truth.f1 == 0.5  # a name that is two names has not been read


@pytest.mark.parametrize(
    "options",
    [
        {"word_list": [THINK, "chai", TWIN], "word_list_order": "popularity"},
        {"word_list": {TWIN: 0.1, "chai": 1, THINK: 0.2}},
    ],
)
def test_a_list_that_knows_popularity_reads_the_likelier_word(options: dict[str, Any]) -> None:
    answer = answered(**options)
    assert [row.item for row in answer.items] == [THINK, "chai"]
    assert shared_notes(answer) == []
    assert any(
        choice.code == "names_from_list" and choice.parameters["words"] == 3 and choice.parameters["ordered"]
        for choice in answer.choices
    )
    assert answer.truth is not None
    assert answer.truth.f1 == 1


def test_the_wrong_order_reads_the_wrong_word() -> None:
    answer = answered(word_list=[TWIN, "chai", THINK], word_list_order="popularity")
    assert [row.item for row in answer.items] == [TWIN, "chai"]


def test_reported_texts_decide_between_words_of_a_list_without_order() -> None:
    answer = answered(word_list=[TWIN, "chai", THINK], text_recovery=True)
    assert [(row.item, row.source) for row in answer.items] == [(THINK, "listed"), ("chai", "listed")]
    assert shared_notes(answer) == []
    assert abs(answer.items[0].count - 70_000) < 6 * answer.items[0].stderr


def test_words_that_share_a_hash_are_no_news_where_none_is_in_the_answer() -> None:
    other = twin_of("chai")
    answer = answered(k=1, word_list=[THINK, "chai", other])
    assert [row.item for row in answer.items] == [THINK]
    assert shared_notes(answer) == []


class TestNormalisation:
    DATA = {  # noqa: RUF012
        "north": {"Café au lait": 20_000, "cafe\u0301 au lait": 12_000, "green tea ": 15_000, "Lamp 3": 4_000},
        "south": {"CAFÉ AU LAIT": 10_000, "Green Tea": 9_000, " lamp 3": 3_000},
    }
    STEPS = ("nfc", "casefold", "trim")
    NOTE = Note("items_normalised", steps=STEPS, merged=4)

    @pytest.mark.parametrize(
        "known",
        [{"word_list": ["CAFÉ au lait ", "Green tea", "green TEA"]}, {"catalogue": ["CAFÉ au lait", "Green tea"]}],
    )
    def test_items_and_lists_are_normalised_alike(self, known: dict[str, list[str]]) -> None:
        answer = treetop.find(self.DATA, k=2, epsilon=4, seed=1, normalise=self.STEPS, **known)  # type: ignore[arg-type]
        assert [row.item for row in answer.items] == ["café au lait", "green tea"]
        assert [row.true_count for row in answer.items] == [42_000, 24_000]
        assert answer.truth is not None
        assert answer.truth.f1 == 1
        merged = len(next(iter(known.values()))) - 2
        assert self.NOTE in answer.notes
        note = Note("list_normalised", source="the list that was given", steps=self.STEPS, merged=merged)
        assert note in answer.notes

    def test_without_a_list_too_and_only_on_request(self) -> None:
        answer = treetop.find(self.DATA, k=2, epsilon=6, seed=1, normalise="trim,nfc,casefold")
        assert [row.item for row in answer.items] == ["café au lait", "green tea"]
        assert self.NOTE in answer.notes
        assert not any(
            note.code.endswith("normalised")
            for note in treetop.find(self.DATA, k=2, seed=1, catalogue=["Green Tea", "Lamp 3"]).notes
        )

    def test_parties_keep_their_users(self) -> None:
        federation = federation_from_mapping(self.DATA)
        same = federation.normalised(self.STEPS)
        assert same.items == ["café au lait", "green tea", "lamp 3"]
        assert [party.items.tolist() for party in same.parties] == [[0, 1, 2], [0, 1, 2]]
        assert [party.users.tolist() for party in same.parties] == [[32_000, 15_000, 4_000], [10_000, 9_000, 3_000]]
        assert same.users == federation.users
        assert all(party.items.dtype == party.users.dtype == np.int64 for party in same.parties)

    def test_an_unknown_step_is_refused(self) -> None:
        with pytest.raises(
            UnknownName, match="unknown step of normalisation 'lower', expected one of nfc, casefold, trim"
        ):
            treetop.find(self.DATA, normalise=("nfc", "lower"))


def test_the_command_takes_lists_orders_and_steps(tmp_path: Path) -> None:
    data, words, ranked = tmp_path / "data.csv", tmp_path / "words.txt", tmp_path / "ranked.csv"
    data.write_text(f"item,users\n{THINK.upper()},40000\nchai,20000\n", encoding="utf-8")
    words.write_text(f"{THINK}\nchai\n{TWIN}\n", encoding="utf-8")
    ranked.write_text(f"word,frequency\n{TWIN},1\nchai,2\n{THINK},3\n", encoding="utf-8")
    common = ["find", str(data), "--k", "2", "--epsilon", "6", "--seed", "1", "--set", f"bits={BITS}", "--json"]
    common += ["--set", f"hash_key={KEY}", "--no-text-recovery", "--normalise", "casefold"]
    for extra, expected in (
        (["--word-list", str(words)], f"{THINK} or {TWIN}"),
        (["--word-list", str(words), "--word-list-order", "popularity"], THINK),
        (["--word-list", str(ranked)], THINK),
    ):
        shown = CliRunner().invoke(app, [*common, *extra])
        assert shown.exit_code == 0
        assert [row["item"] for row in json.loads(shown.stdout)["items"]] == [expected, "chai"]
    for extra, reason in (
        (["--word-list-order", "popularity"], "expected a word list"),
        (["--word-list", "words.json"], "must be a list of items, a .txt file, a table"),
        (["--normalise", ""], "unknown step of normalisation"),
    ):
        refused = CliRunner().invoke(app, [*common, *extra])
        assert isinstance(refused.exception, InvalidInput)
        assert reason in str(refused.exception)
