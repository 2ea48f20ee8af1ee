"""Names in plots: by a font that has their characters, or with a box and a word about it."""

import warnings

import pytest
from matplotlib import font_manager

from treetop.errors import TreetopWarning
from treetop.query.plot_fonts import MISSING, drawable


def test_plain_names_need_no_other_font() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts, families = drawable(["café", "чай"])
    assert texts == ["café", "чай"]
    assert families == ["sans-serif"]


def test_a_font_that_has_the_characters_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from treetop.query import plot_fonts

    own = plot_fonts._letters_of
    known = [("Noto Sans CJK SC", "cjk.ttf"), ("Noto Emoji", "emoji.ttf")]
    monkeypatch.setattr(plot_fonts, "_installed", lambda: iter(known))
    letters = {"cjk.ttf": {"茶"}, "emoji.ttf": {"🍵"}}
    monkeypatch.setattr(plot_fonts, "_letters_of", lambda path: letters.get(path) or own(path))
    assert drawable(["茶", "🍵"]) == (["茶", "🍵"], ["sans-serif", "Noto Sans CJK SC", "Noto Emoji"])
    assert drawable(["茶"])[1] == ["sans-serif", "Noto Sans CJK SC"]


def test_where_no_font_has_them_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
    with pytest.warns(TreetopWarning, match="no installed font has 茶: drawn as"):
        texts, families = drawable(["tea", "a茶b"])
    assert texts == ["tea", f"a{MISSING}b"]
    assert families == ["sans-serif"]
