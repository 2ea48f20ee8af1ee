"""Normalisation: what every step does, that order does not matter, and that nothing changes the second time."""

import sys
from itertools import chain, combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.refusals import refused

from treetop.encoding.normalisation import STEPS, WHITE_SPACE, normalised, steps_named
from treetop.errors import UnknownName

SOME = tuple(chain.from_iterable(combinations(STEPS, size) for size in range(len(STEPS) + 1)))


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        (" Cafe\u0301 ", (), " Cafe\u0301 "),
        (" Cafe\u0301 ", ("nfc",), " Café "),
        (" Cafe\u0301 ", ("casefold",), " cafe\u0301 "),
        (" Cafe\u0301 ", ("trim",), "Cafe\u0301"),
        (" Cafe\u0301 ", STEPS, "café"),
        ("Straße", ("casefold",), "strasse"),
        ("ΟΔΟΣ", ("casefold",), "οδοσ"),
        ("\u3000天气\xa0预报\u2003\n", ("trim",), "天气\xa0预报"),
        ("\x1ctea\x1c", ("trim",), "\x1ctea\x1c"),  # Python's own strip would take these off, a browser's would not
        ("\u200btea\ufeff", ("trim",), "\u200btea\ufeff"),
        (" \t", ("trim",), " \t"),
        ("", STEPS, ""),
        ("\ud800", STEPS, "\ud800"),
        # Folded, the iota below an eta is a letter of its own: the accent must not end up behind it.
        ("\u1fc7", ("nfc", "casefold"), "ῆι"),
        ("\u03b7\u0345\u0342", ("nfc", "casefold"), "ῆι"),
    ],
)
def test_every_step(text: str, steps: tuple[str, ...], expected: str) -> None:
    assert normalised(text, steps) == expected


def test_white_space_is_what_python_calls_space_less_the_separators_of_ascii() -> None:
    spaces = {chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert spaces - set(WHITE_SPACE) == set("\x1c\x1d\x1e\x1f")
    assert set(WHITE_SPACE) <= spaces


def test_steps_are_named_in_any_order() -> None:
    for named in permutations(STEPS):
        assert steps_named(named) == steps_named(",".join(named)) == STEPS
    assert steps_named("trim, nfc,trim") == ("nfc", "trim")
    assert steps_named(()) == ()


@pytest.mark.parametrize("asked", ["", "nfc,", "lower", ["nfc", "upper"], "NFC"])
def test_an_unknown_step_is_refused_with_the_choices(asked: str | list[str]) -> None:
    with refused("unknown_name", UnknownName, kind="step of normalisation"):
        steps_named(asked)


@pytest.mark.parametrize("steps", SOME)
def test_every_character_is_normalised_once_and_for_all(steps: tuple[str, ...]) -> None:
    for code in range(0, sys.maxunicode + 1, 1 if steps == STEPS else 7):
        once = normalised(chr(code), steps)
        assert normalised(once, steps) == once


@given(st.text(st.characters(max_codepoint=0x3100), max_size=8), st.sampled_from(SOME))
def test_texts_are_normalised_once_and_for_all(text: str, steps: tuple[str, ...]) -> None:
    once = normalised(text, steps)
    assert normalised(once, steps) == once
    assert bool(once) == bool(text)
