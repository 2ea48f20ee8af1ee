"""What can be seen is public; everything else is escaped, so that a text is one line that means itself."""

import sys
from unicodedata import bidirectional, category

import pytest
from tests.support.hostile_texts import BEYOND_THE_BMP, HIDDEN, MARKUP

from treetop import public_text
from treetop.public_text import first_hidden, name_problem, visible, writable


def test_control_characters_surrogates_and_line_ends_are_hidden_whatever_unicode_adds() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    turns = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    for character in every:
        hidden = public_text.HIDDEN.fullmatch(character) is not None
        if category(character) in {"Cc", "Cs", "Zl", "Zp"} or bidirectional(character) in turns:
            assert hidden, repr(character)
        elif category(character) not in {"Cf", "Cn"}:
            assert not hidden, repr(character)
    assert not public_text.HIDDEN.search("\u200c\u200d"), "words of several languages are written with joiners"


@pytest.mark.parametrize("text", HIDDEN)
def test_hidden_characters_are_escaped(text: str) -> None:
    shown = visible(text)
    assert shown != text
    assert len(shown.splitlines()) == 1
    assert first_hidden(shown) is None
    shown.encode("utf-8")
    assert shown.encode("ascii").decode("unicode_escape").encode("utf-16", "surrogatepass") == text.encode(
        "utf-16", "surrogatepass"
    )


@pytest.mark.parametrize("text", [*MARKUP, *BEYOND_THE_BMP, "", "plain"])
def test_what_can_be_seen_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == writable(text) == text
    assert first_hidden(text) is None


def test_a_hidden_character_is_found_wherever_it_is() -> None:
    deep: object = "\n"
    for _ in range(5000):
        deep = [deep]
    assert first_hidden(deep) == "\n"
    for content in ({"\n": 1}, {"a": [1, None, ("\n",)]}, ["\n"], "\n"):
        assert first_hidden(content) == "\n"
    assert first_hidden({"a": [1, 2.5, None, True, "b"]}) is None


def test_names_that_cannot_be() -> None:
    assert name_problem("") == name_problem(5) == "must not be empty"
    assert name_problem("x" * 201) == "must have 200 characters at most, found 201"
    assert name_problem("a\nb") == "must be without control and invisible characters, found 'a\\nb'"
    assert name_problem("\U0001f600" * 200) is None


def test_only_halves_of_pairs_cannot_be_written() -> None:
    assert writable("a\ud800\n") == "a\\ud800\n"
