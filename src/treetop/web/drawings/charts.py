"""Numbers on scales: items as bars with error whiskers, parts of a whole, and mechanisms as curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log, log10

from treetop.web.drawings.svg import Element, Picture, drawing, fitted, percent, shape, ticks, whole, written

BARS_WIDTH = 540.0
SHARES_WIDTH = 460.0
LABELS = 150.0
"""Width of the names beside bars."""
NUMBERS = 146.0
"""Width of the counts and shares beside bars."""
ROW = 30.0
HEAD = 34.0
FOOT = 44.0
HUGE = 1e30
"""Larger counts are drawn here, so that every position is finite."""
TINY = 1e-12
STANDS_OUT = "●"
NOISE = "○"
MARKS = {True: (STANDS_OUT, "stands out from noise"), False: (NOISE, "may be noise"), None: ("", "")}
"""The marks of `treetop find`, and their meaning."""
SHADES = 6
"""Classes shade-0 to shade-5 of the stylesheet, again from the first for more parts."""
SERIES = 6
"""Classes series-0 to series-5 of the stylesheet, likewise."""


@dataclass(frozen=True)
class Bar:
    """One item: an estimated count with its standard error."""

    label: str
    count: float
    stderr: float
    share: float
    significant: bool | None = None
    true_count: float | None = None


@dataclass(frozen=True)
class Scale:
    """A linear scale from numbers to positions in a picture."""

    low: float
    high: float
    start: float
    width: float

    @classmethod
    def of(cls, bars: Sequence[Bar], start: float, width: float) -> "Scale":
        """Return the scale on which all bars with their whiskers fit; 0 is always on it."""
        low = min((bar.count - bar.stderr for bar in bars), default=0.0)
        high = max((max(bar.count + bar.stderr, bar.true_count or 0) for bar in bars), default=1.0)
        return cls.between(low, high, start, width)

    @classmethod
    def between(cls, low: float, high: float, start: float, width: float) -> "Scale":
        """Return the scale of two ends and of 0; ends beyond ±HUGE are drawn there."""
        low = max(min(low, 0.0), -HUGE)
        high = min(max(high, 0.0), HUGE)
        # Without a span, as when all counts are 0, a scale would divide by zero.
        return cls(low, high if high - low > TINY else low + 1.0, start, width)

    def __call__(self, number: float) -> float:
        """Return the position of a number."""
        return self.start + (min(max(number, -HUGE), HUGE) - self.low) / (self.high - self.low) * self.width


def bars(rows: Sequence[Bar], title: str) -> Picture:
    """Draw one row for each item: its mark, name, bar, whisker, count and share."""
    height = HEAD + ROW * max(len(rows), 1) + FOOT
    scale = Scale.of(rows, LABELS + 12, BARS_WIDTH - LABELS - NUMBERS - 24)
    bottom = height - FOOT
    parts: list[Element] = [written(fitted(title, BARS_WIDTH - 12, 14), 0, 18, "title")]
    for tick in ticks(scale.low, scale.high):
        parts.append(shape("line", x1=scale(tick), x2=scale(tick), y1=HEAD - 4, y2=bottom, class_="grid"))
        parts.append(written(whole(tick), scale(tick), bottom + 16, "small muted", text_anchor="middle"))
    if not rows:
        parts.append(written("nothing rose above the noise", scale.start, HEAD + 20, "muted"))
    for index, row in enumerate(rows):
        y = HEAD + ROW * index
        middle = y + ROW / 2
        mark, meaning = MARKS[row.significant]
        title_of_row = f"{index + 1}. {row.label}: {whole(row.count)} ± {whole(row.stderr)} users, {percent(row.share)}"
        parts.append(
            shape(
                "g",
                shape("title", f"{title_of_row}; {meaning}" if mark else title_of_row),
                written(f"{index + 1}", 22, middle + 5, "muted", text_anchor="end"),
                written(mark, 28, middle + 5, "mark" if row.significant else "mark muted"),
                written(fitted(row.label, LABELS - 44, 14), 44, middle + 5),
                written(
                    f"{whole(row.count)} ± {whole(row.stderr)}", BARS_WIDTH - 62, middle + 5, "small", text_anchor="end"
                ),
                written(percent(row.share), BARS_WIDTH, middle + 5, "small muted", text_anchor="end"),
                *_bar(row, scale, y + 6, ROW - 12),
                class_=None if mark != NOISE else "noise",
            )
        )
    # After the bars, so that the axis lies on top of them.
    parts.append(shape("line", x1=scale(0), x2=scale(0), y1=HEAD - 4, y2=bottom, class_="axis"))
    key = "bar: estimated users, whisker: one standard error"
    if any(row.true_count is not None for row in rows):
        key += ", thick line: true count"
    parts.append(written(key, 0, height - 6, "small muted"))
    # A screen reader reads this aloud: 20 items are enough of it.
    described = "; ".join(f"{row.label} {whole(row.count)} ± {whole(row.stderr)}" for row in rows[:20]) or "no items"
    return drawing(BARS_WIDTH, height, f"{title}: {described}", *parts)


def _bar(row: Bar, scale: Scale, y: float, height: float) -> list[Element]:
    """Draw the bar from 0, the whisker over one standard error to either side, and the true count if it is known."""
    ends = sorted((scale(0), scale(row.count)))
    middle = y + height / 2
    low = scale(row.count - row.stderr)
    high = scale(row.count + row.stderr)
    whisker = f"M{low:.2f} {middle:.2f}H{high:.2f}M{low:.2f} {middle - 4:.2f}v8M{high:.2f} {middle - 4:.2f}v8"
    parts = [
        shape("rect", x=ends[0], y=y, width=max(ends[1] - ends[0], 0.5), height=height, class_="bar"),
        shape("path", d=whisker, class_="whisker"),
    ]
    if row.true_count is not None:
        x = scale(row.true_count)
        parts.append(shape("path", d=f"M{x:.2f} {y - 2:.2f}v{height + 4:.2f}", class_="true"))
    return parts


def row_bar(row: Bar, rows: Sequence[Bar]) -> Picture:
    """Draw the bar of one row of a table, on the scale of all its rows; the numbers stand in the table."""
    scale = Scale.of(rows, 4, 192)
    zero = shape("line", x1=scale(0), x2=scale(0), y1=0, y2=20, class_="axis")
    title = f"{row.label}: {whole(row.count)} ± {whole(row.stderr)} users"
    return drawing(200, 20, title, *_bar(row, scale, 3, 14), zero, preserveAspectRatio="none")


@dataclass(frozen=True)
class Home:
    """The share of one party's users who hold one item."""

    party: str
    share: float
    """Of its own users."""
    stderr: float


def homes(item: str, rows: Sequence[Home], largest: float) -> Picture:
    """Draw one small panel: in which parties an item lives, as shares of their users on the scale of all panels."""
    width = 220.0
    head = 24.0
    line = 20.0
    low = min((row.share - row.stderr for row in rows), default=0.0)
    scale = Scale.between(low, largest, 84, 84)
    parts: list[Element] = [written(fitted(item, width, 13), 0, 14, "title")]
    for index, row in enumerate(rows):
        y = head + line * index
        bar = Bar(row.party, row.share, row.stderr, row.share)
        parts.append(
            shape(
                "g",
                shape("title", f"{row.party}: {percent(row.share)} ± {percent(row.stderr)} of its users"),
                written(fitted(row.party, 78, 12), 0, y + 14, "small"),
                *_bar(bar, scale, y + 4, line - 8),
                written(percent(row.share), width, y + 14, "small muted", text_anchor="end"),
            )
        )
    parts.append(shape("line", x1=scale(0), x2=scale(0), y1=head, y2=head + line * len(rows), class_="axis"))
    described = ", ".join(f"{row.party} {percent(row.share)}" for row in rows[:20])
    return drawing(width, head + line * max(len(rows), 1) + 4, f"Where {item} lives: {described}", *parts)


def shares(parts: Sequence[tuple[str, float]], title: str, missing: float = 0.0) -> Picture:
    """Draw parts of a whole as one strip, and hatched what is missing of it; every part is named below."""
    total = sum(max(share, 0.0) for _, share in parts) + max(missing, 0.0)
    named = [(label, max(share, 0.0), f"shade-{index % SHADES}") for index, (label, share) in enumerate(parts)]
    if missing > 0:
        named.append(("not covered", missing, "missing"))
    drawn: list[Element] = []
    x = 0.0
    key_x = 0.0
    key_y = 58.0
    for label, share, shade in named:
        width = SHARES_WIDTH * share / total if total > 0 else 0.0
        title_of_part = shape("title", f"{label}: {percent(share)}")
        drawn.append(shape("rect", title_of_part, x=x, y=4.0, width=max(width - 1, 0.0), height=28.0, class_=shade))
        x += width
        shown = fitted(f"{label} {percent(share)}", 240, 13)
        needed = 30 + len(shown) * 7.2
        if key_x + needed > SHARES_WIDTH and key_x:
            key_x = 0.0
            key_y += 22
        drawn.append(shape("rect", x=key_x, y=key_y - 11, width=12.0, height=12.0, class_=shade))
        drawn.append(written(shown, key_x + 18, key_y, "small"))
        key_x += needed
    described = ", ".join(f"{label} {percent(share)}" for label, share, _ in named[:20])
    return drawing(SHARES_WIDTH, key_y + 12, f"{title}: {described}", *drawn)


@dataclass(frozen=True)
class FoundShare:
    """The smallest shares of users that one mode finds, and marks as more than noise; None: never."""

    label: str
    found: float | None
    marked: float | None


def found_shares(rows: Sequence[FoundShare], chosen: str | None, title: str) -> Picture:
    """Draw on a logarithmic scale the smallest share that each mode finds; further left is better."""
    head = 30.0
    line = 26.0
    labels = 122.0
    numbers = [share for row in rows for share in (row.found, row.marked) if share is not None and share > 0]
    # At least four powers of ten, and one below the smallest share.
    low = min(-4, *(int(log10(share)) - 1 for share in numbers)) if numbers else -4
    height = head + line * len(rows) + 26

    def across(share: float) -> float:
        logarithm = log10(share) if share > 0 and isfinite(share) else low
        return labels + (SHARES_WIDTH - labels - 24) * (max(logarithm, low) - low) / -low

    drawn: list[Element] = [written(title, 0, 16, "title")]
    for power in range(low, 1):
        x = across(10.0**power)
        drawn.append(shape("line", x1=x, x2=x, y1=head, y2=height - 24, class_="grid"))
        drawn.append(written(f"{100 * 10.0**power:g} %", x, height - 8, "small muted", text_anchor="middle"))
    for number, row in enumerate(rows):
        y = head + line * number + line / 2
        said = f"{row.label}: " + (
            "never finds an item with these users" if row.found is None else f"found from {percent(row.found)}"
        )
        parts = [shape("title", said), written(fitted(row.label, labels - 16, 14), 0, y + 5)]
        if row.found is None:
            parts.append(written("never, with these users", labels, y + 5, "small muted"))
        else:
            x = across(row.found)
            end = across(1.0 if row.marked is None else row.marked)
            parts.append(shape("line", x1=x, x2=end, y1=y, y2=y, class_="whisker"))
            parts.append(shape("circle", cx=x, cy=y, r=6.0, class_="bar"))
            if row.marked is not None:
                parts.append(shape("circle", cx=end, cy=y, r=4.0, class_="open"))
        drawn.append(shape("g", *parts, class_="chosen" if row.label == chosen else None))
    described = "; ".join(
        f"{row.label} {'never' if row.found is None else 'from ' + percent(row.found)}" for row in rows
    )
    return drawing(SHARES_WIDTH, height, f"{title}: {described}", *drawn)


@dataclass(frozen=True)
class Point:
    """A mean with its standard error, where it has one."""

    x: float
    y: float
    error: float | None = None


def curves(series: Mapping[str, Sequence[Point]], title: str, x_label: str) -> Picture:
    """Draw a curve for each name; x is positive and drawn on a logarithmic scale, y goes from 0 to 1."""
    full_width = 640.0
    full_height = 300.0
    left = 40.0
    right = 500.0  # names of curves stand beyond
    top = 34.0
    bottom = 262.0
    positions = sorted({point.x for points in series.values() for point in points})
    low, high = (log(positions[0]), log(positions[-1])) if positions else (0.0, 1.0)

    def across(x: float) -> float:
        share = (log(x) - low) / (high - low) if high > low else 0.5
        return left + 16 + share * (right - left - 32)

    def up(y: float) -> float:
        return bottom - min(max(y, 0.0), 1.0) * (bottom - top)

    drawn: list[Element] = [written(title, 0, 18, "title")]
    for level in (0, 0.25, 0.5, 0.75, 1):
        drawn.append(shape("line", x1=left, x2=right, y1=up(level), y2=up(level), class_="grid"))
        drawn.append(written(f"{level:g}", left - 6, up(level) + 4, "small muted", text_anchor="end"))
    drawn += [written(f"{x:g}", across(x), bottom + 18, "small muted", text_anchor="middle") for x in positions]
    drawn.append(written(x_label, (left + right) / 2, full_height - 4, "small muted", text_anchor="middle"))
    # Each name stands where its curve ends, or as far below as the name above it needs.
    ends_at = [up(points[-1].y) for points in series.values() if points]
    heights = list(ends_at)
    last = top - 18.0
    for index in sorted(range(len(ends_at)), key=lambda index: ends_at[index]):
        last = max(ends_at[index], last + 17)
        heights[index] = last
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
        marks.append(written(fitted(name, full_width - right - 12, 13), right + 10, height + 4))
        drawn.append(shape("g", *marks, class_=f"series-{number % SERIES}"))
    described = "; ".join(
        f"{name}: " + ", ".join(f"{point.y:.2f} at {point.x:g}" for point in points) for name, points in series.items()
    )
    return drawing(full_width, full_height, f"{title}: {described}", *drawn)
