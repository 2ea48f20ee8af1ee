"""The promise as pictures: a hundred guesses from one report, and who sends what to whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from treetop.privacy.epsilon import Epsilon
from treetop.web.drawings.svg import CHARACTER, Element, Picture, drawing, shape, text_of, written

PEOPLE = 100
PER_ROW = 20
PERSON_WIDTH = 15
PERSON_HEIGHT = 24
FLOW_WIDTH = 460.0
BOX = 54.0
GAP = 58.0
SIZE = 13.0


def right_guesses(epsilon: Epsilon) -> int:
    """Return the most of 100 guesses between two equally likely items that a report can make right.

    The probability is at most e^epsilon / (1 + e^epsilon) with any oracle, rounded up and at most 100.
    """
    # A lower bound of e^epsilon in rationals, which devices keep to: the ceiling is exact, without a float's error.
    odds = epsilon.odds_below
    return ceil(Fraction(100) * odds / (odds + 1))


def guesses_sentence(epsilon: Epsilon, held: str = "item") -> str:
    """Return the same as a sentence to a person who holds an item, or a set of items."""
    return (
        f"Whoever sees a report and guesses between your {held} and any other is right at most "
        f"{right_guesses(epsilon)} times in 100, where a coin is right 50 times."
    )


def people(right: int) -> Picture:
    """Draw a hundred guesses: 50 right by chance, some more by the report, and the others wrong.

    The survey page draws the same picture in the browser.
    """

    def person(index: int) -> Element:
        kind = "coin" if index < PEOPLE // 2 else "report" if index < right else "wrong"
        return shape(
            "g",
            shape("circle", cx=7, cy=5, r=3.4),
            shape("path", d="M1.8 20.5v-5.2a5.2 5.2 0 0 1 10.4 0v5.2z"),
            transform=f"translate({index % PER_ROW * PERSON_WIDTH} {index // PER_ROW * PERSON_HEIGHT})",
            class_=kind,
        )

    described = (
        f"Of 100 guesses 50 are right by chance, {right - 50} more at most thanks to the report, and "
        f"{100 - right} are wrong."
    )
    figures = [person(index) for index in range(PEOPLE)]
    return drawing(PER_ROW * PERSON_WIDTH - 1, PEOPLE // PER_ROW * PERSON_HEIGHT - 3, described, *figures)


@dataclass(frozen=True)
class Station:
    """One role: what it holds, and what it sends on under which promise."""

    who: str
    holds: str
    sends: str = ""
    promise: str = ""


def data_flow(stations: Sequence[Station]) -> Picture:
    """Draw the stations from top to bottom, and beside every arrow what is sent there."""
    drawn: list[Element] = []
    y = 2.0
    for index, station in enumerate(stations):
        drawn.append(shape("rect", x=2.0, y=y, width=FLOW_WIDTH - 4, height=BOX, rx=8, class_="box"))
        drawn.append(written(station.who, 16, y + 22, "title"))
        drawn += _lines(station.holds, 16, y + 41, FLOW_WIDTH - 32, "small muted")[:1]
        y += BOX
        if index < len(stations) - 1:
            drawn.append(shape("path", d=f"M34 {y:.1f}v{GAP - 9:.1f}", class_="arrow"))
            drawn.append(shape("path", d=f"M34 {y + GAP - 1:.1f}l-6 -10h12z", class_="head"))
            lines = _lines(station.sends, 56, y + 18, FLOW_WIDTH - 60, "small")
            lines += _lines(station.promise, 56, y + 18 + 16 * len(lines), FLOW_WIDTH - 60, "small promise")
            drawn += lines[:3]
            y += GAP
    described = "; ".join(
        f"{each.who}: {each.holds}" + (f", passes on {each.sends} ({each.promise})" if each.sends else "")
        for each in stations
    )
    return drawing(FLOW_WIDTH, y + 2, f"Data flow. {described}", *drawn)


def _lines(text: str, x: float, y: float, width: float, kind: str) -> list[Element]:
    """Break a text into lines of a width, since SVG does not wrap text."""
    room = int(width / (SIZE * 0.92 * CHARACTER))
    lines = [""]
    for word in text_of(text).split():
        longer = f"{lines[-1]} {word}".strip()
        if len(longer) > room and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return [written(line, x, y + 16 * number, kind) for number, line in enumerate(lines) if line]
