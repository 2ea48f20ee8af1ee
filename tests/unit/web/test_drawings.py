"""Pictures: well-formed whatever they are given, with a title, and without what a strict CSP forbids."""

from collections.abc import Callable
from math import exp, inf, nan
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.hostile_texts import BEYOND_THE_BMP, HIDDEN, MARKUP

from treetop.privacy.epsilon import Epsilon
from treetop.public_text import HIDDEN as HIDDEN_CHARACTERS
from treetop.web.drawings.charts import Bar, FoundShare, Home, bars, found_shares, homes, row_bar, shares
from treetop.web.drawings.levels import Branch, LevelCell, matrix, tree
from treetop.web.drawings.promise import Station, data_flow, guesses_sentence, people, right_guesses
from treetop.web.drawings.svg import NAMESPACE, Picture, fitted, percent, shape, standing_alone, ticks, whole

SVG = f"{{{NAMESPACE}}}"
NUMBERS = (0.0, -3.5, 1.0, 97_004.0, 1e18, -1e300, 5e-324)


def read(picture: Picture) -> ElementTree.Element:
    """Parse a picture, and check what all pictures have in common."""
    root = ElementTree.fromstring(picture)  # noqa: S314  our own
    assert root.tag == f"{SVG}svg"
    linked = root.find(f".//{SVG}a") is not None
    assert root.get("role") == ("group" if linked else "img")  # what is in an image cannot be reached
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text
    for each in root.iter():
        assert each.tag.removeprefix(SVG) not in ("script", "style", "image", "use", "foreignObject")
        for name, value in each.items():
            assert name != "style"
            assert not name.startswith("on")
            assert "nan" not in value
            assert "inf" not in value or name in ("href", "class")
    assert not HIDDEN_CHARACTERS.search(str(picture))
    return root


def texts(root: ElementTree.Element) -> str:
    return "\n".join(root.itertext())


def of_a_text(text: str) -> list[Picture]:
    """Return every picture, with a text wherever it takes one."""
    row = Bar(text, 5.0, 1.0, 0.1, True, 4.0)
    return [
        bars([row], text), row_bar(row, [row]), homes(text, [Home(text, 0.1, 0.01)], 0.2), shares([(text, 1.0)], text),
        found_shares([FoundShare(text, 0.1, 0.2)], text, text), matrix(1, {text: [LevelCell("done")]}),
        tree([Branch("0", True, 1.0, text), Branch("1", False, 1.0, text)], lambda _: text),
        data_flow([Station(text, text, text, text), Station(text, text)]),
    ]  # fmt: skip


def of_a_number(number: float) -> list[Picture]:
    """Return every picture, with a number wherever it takes one."""
    row = Bar("tea", number, abs(number), number, None, number)
    return [
        bars([row, Bar("chai", 1.0, 0.5, 0.2)], "t"), row_bar(row, [row]),
        homes("tea", [Home("a", number, 1.0)], number),
        shares([("a", number), ("b", 0.5)], "t", number), found_shares([FoundShare("a", abs(number), None)], None, "t"),
        tree([Branch("0", True, number), Branch("1", False, number)]),
    ]  # fmt: skip


@pytest.mark.parametrize("text", [*HIDDEN, *MARKUP, *BEYOND_THE_BMP, "", "]]>", "\uffff", "a" * 5000, '" onload="x'])
def test_every_text_means_itself(text: str) -> None:
    for picture in of_a_text(text):
        read(picture)


@given(st.text())
def test_any_text(text: str) -> None:
    for picture in of_a_text(text):
        read(picture)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number(number: float) -> None:
    for picture in of_a_number(number):
        read(picture)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number(number: float) -> None:
    for picture in of_a_number(number):
        read(picture)


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_no_attribute_is_infinite(number: float) -> None:
    assert str(shape("rect", x=number)) == '<rect x="0"/>'


@pytest.mark.parametrize("many", [0, 1, 300])
def test_none_one_and_many(many: int) -> None:
    rows = [Bar(f"item {n}", 1000.0 - n, 10.0, 0.1, n % 2 == 0) for n in range(many)]
    found = texts(read(bars(rows, "title")))
    assert all(row.label in found for row in rows)
    assert ("nothing rose above the noise" in found) == (not many)
    for picture in (
        homes("item", [Home(f"party {n}", 0.1, 0.01) for n in range(many)], 0.1),
        shares([(f"party {n}", 1 / max(many, 1)) for n in range(many)], "t"),
        found_shares([FoundShare(f"way {n}", 0.1, 0.2) for n in range(many)], None, "t"),
        matrix(many, {f"party {n}": [LevelCell("done", 3, 8)] * many for n in range(min(many, 20))}),
        data_flow([Station(f"station {n}", "x", "y", "z") for n in range(many)]),
    ):
        read(picture)


def lengths_of(picture: Picture, kind: str) -> list[float]:
    return [float(each.get("width", "0")) for each in read(picture).iter(f"{SVG}rect") if each.get("class") == kind]


def test_bars_are_as_long_as_counts() -> None:
    first, second = lengths_of(bars([Bar("a", 400.0, 0.0, 0.4), Bar("b", 100.0, 0.0, 0.1)], "t"), "bar")
    assert first == pytest.approx(4 * second, rel=1e-3)


def test_a_whisker_spans_one_error_to_either_side() -> None:
    picture = bars([Bar("a", 400.0, 100.0, 0.4)], "t")
    (whisker,) = (each.get("d", "") for each in read(picture).iter(f"{SVG}path") if each.get("class") == "whisker")
    start, end = float(whisker[1:].split()[0]), float(whisker.partition("H")[2].partition("M")[0])
    (bar,) = lengths_of(picture, "bar")
    assert end - start == pytest.approx(bar / 2, rel=1e-3)


def test_a_count_below_zero_is_drawn_to_the_left() -> None:
    root = read(bars([Bar("a", 100.0, 0.0, 0.1), Bar("b", -100.0, 0.0, -0.1)], "t"))
    up, down = (each for each in root.iter(f"{SVG}rect") if each.get("class") == "bar")
    assert float(down.get("x", "")) + float(down.get("width", "")) == pytest.approx(float(up.get("x", "")), abs=0.02)


@pytest.mark.parametrize(("mark", "sign"), [(True, "●"), (False, "○"), (None, None)])
def test_marks(mark: bool | None, sign: str | None) -> None:
    found = texts(read(bars([Bar("a", 1.0, 1.0, 0.1, mark)], "t")))
    assert [each for each in "●○" if each in found] == ([] if sign is None else [sign])


def test_shares_fill_the_strip() -> None:
    root = read(shares([("a", 0.6), ("b", 0.2)], "t", 0.2))
    widths = [float(each.get("width", "")) for each in root.iter(f"{SVG}rect") if each.get("height") == "28"]
    assert sum(widths) == pytest.approx(460 - 3)
    assert "not covered 20.0\u00a0%" in texts(root)


def test_what_is_never_found_is_said() -> None:
    assert "never" in texts(read(found_shares([FoundShare("ids", None, None)], "ids", "t")))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 2, 4, 20, 700])
def test_people(epsilon: float) -> None:
    right = right_guesses(Epsilon(epsilon))
    best = 1 / (1 + exp(-epsilon))
    assert 100 * best <= right + 1e-9
    assert right < 100 * best + 1
    kinds = [each.get("class") for each in read(people(right)).iter(f"{SVG}g")]
    assert (kinds.count("coin"), kinds.count("report"), kinds.count("wrong")) == (50, right - 50, 100 - right)
    assert f"{right} times in 100" in guesses_sentence(Epsilon(epsilon))


def test_matrix_waits_where_nothing_was_said() -> None:
    rows = {"a": [LevelCell("done", 7, 9), LevelCell("working")], "b": [LevelCell("left out")], "c": []}
    root = read(matrix(3, rows))
    states = [each.get("class", "").removeprefix("cell ") for each in root.iter(f"{SVG}rect")]
    assert states == ["done", "working", "waiting", "left-out", "waiting", "waiting", "waiting", "waiting", "waiting"]
    assert "a, level 1: done, kept 7 of 9" in texts(root)


def test_tree_links_what_is_kept() -> None:
    grown = [
        Branch("00", True, 5.0),
        Branch("01", False),
        Branch("0010", True),
        Branch("10", True),
        Branch("1011", False),
    ]
    root = read(tree(grown, lambda prefix: f"?below={prefix}"))
    assert {each.get("href") for each in root.iter(f"{SVG}a")} == {"?below=00", "?below=0010", "?below=10"}
    assert "3 kept, 2 pruned" in texts(root)
    below = read(tree(grown, lambda prefix: f"?below={prefix}", "00"))
    assert {each.get("href") for each in below.iter(f"{SVG}a")} == {"?below=0010"}


def test_a_large_tree_stays_small() -> None:
    grown = [Branch(format(n, "012b"), n % 2 == 0, float(n)) for n in range(4096)]
    picture = tree(grown)
    assert "more not drawn" in picture
    assert len(picture) < 300_000


def test_an_orphan_hangs_on_the_root() -> None:
    assert "kept: 0101" in texts(read(tree([Branch("0101", True), Branch("01", False)])))


def test_a_picture_alone_takes_its_colours_along() -> None:
    alone = ElementTree.fromstring(standing_alone(bars([Bar("<tea>", 1.0, 1.0, 0.1)], "t")))  # noqa: S314
    style = alone.find(f"{SVG}style")
    assert style is not None
    assert ".bar" in (style.text or "")
    assert "url(" not in (style.text or "")
    assert "<tea>" in texts(alone)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (lambda: fitted("short", 100, 14), "short"), (lambda: fitted("a" * 50, 58, 10), "a" * 9 + "…"),
        (lambda: fitted("茶" * 50, 58, 10), "茶" * 4 + "…"), (lambda: whole(1234567.8), "1,234,568"),
        (lambda: whole(1e15), "1e+15"), (lambda: percent(0.5), "50.0\u00a0%"),
        (lambda: percent(0.00012), "0.012\u00a0%"),
        (lambda: percent(0.0), "0.0\u00a0%"), (lambda: percent(1e-12), "0.000000\u00a0%"),
    ],
)  # fmt: skip
def test_words_and_numbers(written: Callable[[], str], expected: str) -> None:
    assert written() == expected


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_are_few_and_inside(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert len(found) <= 6
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in found)
