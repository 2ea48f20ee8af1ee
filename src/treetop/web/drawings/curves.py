"""Mechanisms side by side: how good each is at every epsilon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from treetop.web.drawings.svg import Element, Picture, drawing, fitted, shape, written

WIDTH = 640.0
HEIGHT = 300.0
LEFT = 40.0
RIGHT = 140.0
TOP = 34.0
BOTTOM = 262.0
SERIES = 6


@dataclass(frozen=True)
class Point:
    """A mean with its standard error, where it has one."""

    x: float
    y: float
    error: float | None = None


def curves(series: Mapping[str, Sequence[Point]], title: str, x_label: str) -> Picture:
    """Draw a curve for each name; x is positive and drawn on a logarithmic scale, y goes from 0 to 1."""
    places = sorted({point.x for points in series.values() for point in points})
    low, high = (log(places[0]), log(places[-1])) if places else (0.0, 1.0)

    def across(x: float) -> float:
        share = (log(x) - low) / (high - low) if high > low else 0.5
        return LEFT + 16 + share * (WIDTH - RIGHT - LEFT - 32)

    def up(y: float) -> float:
        return BOTTOM - min(max(y, 0.0), 1.0) * (BOTTOM - TOP)

    drawn: list[Element] = [written(title, 0, 18, "title")]
    for tenth in (0, 0.25, 0.5, 0.75, 1):
        drawn.append(shape("line", x1=LEFT, x2=WIDTH - RIGHT, y1=up(tenth), y2=up(tenth), class_="grid"))
        drawn.append(written(f"{tenth:g}", LEFT - 6, up(tenth) + 4, "small muted", text_anchor="end"))
    drawn += [written(f"{x:g}", across(x), BOTTOM + 18, "small muted", text_anchor="middle") for x in places]
    drawn.append(written(x_label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "small muted", text_anchor="middle"))
    heights = _apart([up(points[-1].y) for points in series.values() if points])
    for number, ((name, points), height) in enumerate(zip(series.items(), heights, strict=False)):
        line = "M" + "L".join(f"{across(point.x):.2f} {up(point.y):.2f}" for point in points)
        marks = [shape("path", d=line, class_="curve")]
        for point in points:
            said = f"{name}, {x_label} {point.x:g}: {point.y:.3f}"
            if point.error is not None:
                said += f" ± {point.error:.3f}"
                ends = f"M{across(point.x):.2f} {up(point.y - point.error):.2f}V{up(point.y + point.error):.2f}"
                marks.append(shape("path", d=ends, class_="curve"))
            marks.append(shape("circle", shape("title", said), cx=across(point.x), cy=up(point.y), r=4))
        marks.append(written(fitted(name, RIGHT - 12, 13), WIDTH - RIGHT + 10, height + 4))
        drawn.append(shape("g", *marks, class_=f"series-{number % SERIES}"))
    described = "; ".join(
        f"{name}: " + ", ".join(f"{point.y:.2f} at {point.x:g}" for point in points) for name, points in series.items()
    )
    return drawing(WIDTH, HEIGHT, f"{title}: {described}", *drawn)


def _apart(heights: Sequence[float]) -> list[float]:
    """Move labels so far apart that each can be read; every one stays in the order of its curve."""
    moved = list(heights)
    last = TOP - 18.0
    for place in sorted(range(len(heights)), key=lambda place: heights[place]):
        moved[place] = last = max(heights[place], last + 17)
    return moved
