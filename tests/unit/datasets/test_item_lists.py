"""Word lists: which order they know of, public ones, and what is refused."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from treetop.datasets import item_lists
from treetop.datasets.item_lists import word_list_of
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.errors import InvalidInput, UnknownName
from treetop.wording import Note


def listed(given: Any, order: str | None = None) -> ItemCatalogue:
    words = word_list_of(given, order)
    assert words is not None
    return words


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


class TestOrder:
    def test_a_plain_list_has_none_unless_somebody_says_so(self, tmp_path: Path) -> None:
        lines = write(tmp_path / "words.txt", "tea\ncoffee\n\ntea\n")
        for given in (lines, str(lines), ["tea", "coffee", "tea"], ("tea", "coffee")):
            for order in (None, "none", "popularity"):
                words = listed(given, order)
                assert (words.items, words.ordered) == (("tea", "coffee"), order == "popularity")
                assert words.notes == ()
        assert listed(lines).source == "words.txt"
        assert listed(["tea"]).source == "the list that was given"

    @pytest.mark.parametrize("word", ["word", "item"])
    @pytest.mark.parametrize("column", ["frequency", "users", "count"])
    def test_a_column_ranks_the_words(self, tmp_path: Path, word: str, column: str) -> None:
        words = listed(write(tmp_path / "words.csv", f"{word},{column}\nrare,1\noften, 2.5e3 \nnever,0\nalso rare,1\n"))
        assert words.items == ("often", "rare", "also rare", "never")
        assert words.ordered
        assert words.source == f"words.csv, ranked by its column {column!r}"

    def test_the_first_of_several_columns_ranks_and_parties_are_added_up(self, tmp_path: Path) -> None:
        rows = {"party": ["a", "b", "b"], "item": ["tea", "tea", "coffee"], "users": [2, 2, 3], "count": [0, 0, 9]}
        pa.parquet.write_table(pa.table(rows), tmp_path / "words.parquet")
        words = listed(tmp_path / "words.parquet", "none")
        assert (words.items, words.ordered) == (("tea", "coffee"), True)
        assert "ranked by its column 'users'" in words.source

    def test_a_table_without_such_a_column_is_a_plain_list(self, tmp_path: Path) -> None:
        path = write(tmp_path / "words.csv", "word,item,price\ntea,x,3\ncoffee,y,2\n")
        assert (listed(path).items, listed(path).ordered) == (("tea", "coffee"), False)
        assert listed(path, "popularity").ordered

    def test_frequencies_rank_the_words(self) -> None:
        words = listed({"rare": 0.1, "often": 3, 17: 1, "": 9})
        assert (words.items, words.ordered) == (("often", "17", "rare"), True)

    def test_a_list_that_knows_itself_is_taken_as_it_is(self) -> None:
        words = ItemCatalogue(("b", "a"), ordered=True, source="somewhere")
        assert word_list_of(words, "none") is words
        assert word_list_of(None) is None


@pytest.mark.parametrize(
    ("given", "order", "reason"),
    [
        (["a"], "alphabetical", "unknown order of a word list 'alphabetical', expected one of popularity, none"),
        (None, "popularity", "expected a word list to stand in the order 'popularity', found none"),
        ([], None, "needs one item at least"),
        ({}, None, "needs one item at least"),
        ({"a": "often"}, None, "must map words to their frequencies"),
        ({"a": None}, None, "must map words to their frequencies"),
        ({"a": 1, "b": -1}, None, "row 2: expected a number from 0 in 'frequency', found -1.0"),
        ({"a": float("nan")}, None, "row 1: expected a number from 0"),
        ("words.json", None, "a .txt file, a table or wordfreq:LANGUAGE, found 'words.json'"),
        ("words.txt", None, "found 'words.txt': expected a .txt file or .*, found none"),
        ("wordfreq:", None, "expected wordfreq:LANGUAGE\\[:NUMBER\\]"),
        ("wordfreq:en:", None, "expected wordfreq:LANGUAGE\\[:NUMBER\\]"),
        ("wordfreq:en:0", None, "expected wordfreq:LANGUAGE\\[:NUMBER\\]"),
        ("wordfreq:en:many", None, "found 'wordfreq:en:many'"),
    ],
)
def test_what_is_no_list_is_refused(given: Any, order: str | None, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        word_list_of(given, order)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name,frequency\ntea,1\n", "expected the column 'word' or 'item', found name, frequency"),
        ("word,frequency\ntea,often\n", "row 1: expected a number from 0 in 'frequency', found often"),
        ("word,frequency\ntea,1\ncoffee,\n", "row 2: expected a number from 0 in 'frequency', found none"),
        ("word,frequency\ntea,1\ncoffee,inf\n", "row 2: expected a number from 0 in 'frequency', found inf"),
        ("word,frequency\ntea,1\n,2\n", "row 2: expected a value for 'word', found none"),
        ("word\n", "empty table"),
    ],
)
def test_refusals_name_the_file(tmp_path: Path, text: str, reason: str) -> None:
    path = write(tmp_path / "words.csv", text)
    with pytest.raises(InvalidInput, match=reason) as refusal:
        word_list_of(path)
    assert str(refusal.value).count(path.name) == str(refusal.value).count(str(path)) == 1


def test_a_missing_number_in_a_parquet_file_is_refused(tmp_path: Path) -> None:
    for values, reason in (([1.0, None], "row 2: .* found none"), ([[1], [2]], "expected numbers in 'count'")):
        pa.parquet.write_table(pa.table({"word": ["tea", "coffee"], "count": values}), tmp_path / "words.parquet")
        with pytest.raises(InvalidInput, match=reason):
            word_list_of(tmp_path / "words.parquet")


class TestPublicLists:
    @pytest.fixture
    def package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for the package, which is an extra."""
        words = [f"word{place}" for place in range(60_000)]
        stand_in = SimpleNamespace(
            available_languages=lambda: {"de": "", "en": ""}, top_n_list=lambda language, number: words[:number]
        )
        monkeypatch.setitem(sys.modules, "wordfreq", stand_in)
        monkeypatch.setattr(item_lists, "version", lambda name: "9.9")

    @pytest.mark.usefixtures("package")
    def test_the_commonest_words_come_first(self) -> None:
        words = listed("wordfreq:en")
        assert (len(words.items), words.items[0], words.ordered) == (50_000, "word0", True)
        assert words.source == "the public list wordfreq:en (wordfreq 9.9)"
        assert len(listed("wordfreq:de:17").items) == 17
        assert len(listed("wordfreq:de:999999999").items) == 60_000

    @pytest.mark.usefixtures("package")
    def test_an_unknown_language_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(UnknownName, match="unknown language of wordfreq 'tlh', expected one of de, en"):
            word_list_of("wordfreq:tlh")

    def test_without_the_extra_the_error_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "wordfreq", None)
        with pytest.raises(InvalidInput, match='wordfreq:en needs wordfreq, .*: pip install "treetop-ldp\\[words\\]"'):
            word_list_of("wordfreq:en")

    def test_the_package_itself_where_it_is_installed(self) -> None:
        pytest.importorskip("wordfreq")
        words = listed("wordfreq:en")
        assert (len(words.items), words.items[:3], words.ordered) == (50_000, ("the", "to", "and"), True)
        assert words.source == "the public list wordfreq:en (wordfreq 3.1.1)"
        assert len(listed("wordfreq:is:1000000").items) < 1_000_000
        with pytest.raises(UnknownName, match="expected one of ar, bg, bn, .*, vi, zh"):
            word_list_of("wordfreq:tlh")


def test_a_list_is_normalised_and_keeps_its_order() -> None:
    words = ItemCatalogue(("The ", "of", "the", "OF", "and"), ordered=True, source="words.txt")
    same = words.normalised(("casefold", "trim"))
    assert (same.items, same.ordered, same.source) == (("the", "of", "and"), True, "words.txt")
    assert same.notes == (Note("list_normalised", source="words.txt", steps=["casefold", "trim"], merged=2),)
