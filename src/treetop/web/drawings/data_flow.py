"""Who sends what to whom, and what it gives away: the picture that a privacy officer signs."""

from collections.abc import Sequence
from dataclasses import dataclass

from treetop.web.drawings.svg import CHARACTER, Element, Picture, drawing, shape, text_of, written

WIDTH = 460.0
BOX = 54.0
GAP = 58.0
SIZE = 13.0


@dataclass(frozen=True)
class Station:
    """Who holds something, what they hold, and what they pass on with which promise."""

    who: str
    holds: str
    sends: str = ""
    promise: str = ""


def data_flow(stations: Sequence[Station]) -> Picture:
    """Draw the stations from top to bottom, and beside every arrow what passes there."""
    drawn: list[Element] = []
    y = 2.0
    for place, station in enumerate(stations):
        drawn.append(shape("rect", x=2.0, y=y, width=WIDTH - 4, height=BOX, rx=8, class_="box"))
        drawn.append(written(station.who, 16, y + 22, "title"))
        drawn += _lines(station.holds, 16, y + 41, WIDTH - 32, "small muted")[:1]
        y += BOX
        if place < len(stations) - 1:
            drawn.append(shape("path", d=f"M34 {y:.1f}v{GAP - 9:.1f}", class_="arrow"))
            drawn.append(shape("path", d=f"M34 {y + GAP - 1:.1f}l-6 -10h12z", class_="head"))
            lines = _lines(station.sends, 56, y + 18, WIDTH - 60, "small")
            lines += _lines(station.promise, 56, y + 18 + 16 * len(lines), WIDTH - 60, "small promise")
            drawn += lines[:3]
            y += GAP
    described = "; ".join(
        f"{each.who}: {each.holds}" + (f", passes on {each.sends} ({each.promise})" if each.sends else "")
        for each in stations
    )
    return drawing(WIDTH, y + 2, f"Data flow. {described}", *drawn)


def _lines(text: str, x: float, y: float, width: float, kind: str) -> list[Element]:
    """Break a text into lines of a width."""
    room = int(width / (SIZE * 0.92 * CHARACTER))
    lines = [""]
    for word in text_of(text).split():
        longer = f"{lines[-1]} {word}".strip()
        if len(longer) > room and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return [written(line, x, y + 16 * number, kind) for number, line in enumerate(lines) if line]
