"""Items as bars with error whiskers, and where each of them lives."""

from collections.abc import Sequence
from dataclasses import dataclass

from treetop.web.drawings.svg import Element, Picture, drawing, fitted, percent, shape, ticks, whole, written

WIDTH = 540.0
LABELS = 150.0
NUMBERS = 146.0
ROW = 30.0
HEAD = 34.0
FOOT = 44.0
HUGE = 1e30
TINY = 1e-12
STANDS_OUT = "●"
NOISE = "○"
MARKS = {True: (STANDS_OUT, "stands out from noise"), False: (NOISE, "may be noise"), None: ("", "")}
"""The marks of `treetop find`, and what they say."""


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
    """Numbers to places."""

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
        """Return the scale of two ends and of 0; ends beyond any count are drawn as that many."""
        low, high = max(min(low, 0.0), -HUGE), min(max(high, 0.0), HUGE)
        return cls(low, high if high - low > TINY else low + 1.0, start, width)

    def __call__(self, number: float) -> float:
        """Return where a number is."""
        return self.start + (min(max(number, -HUGE), HUGE) - self.low) / (self.high - self.low) * self.width


def bars(rows: Sequence[Bar], title: str) -> Picture:
    """Draw one row for each item: its mark, name, bar, whisker, count and share."""
    height = HEAD + ROW * max(len(rows), 1) + FOOT
    scale = Scale.of(rows, LABELS + 12, WIDTH - LABELS - NUMBERS - 24)
    bottom = height - FOOT
    parts: list[Element] = [written(fitted(title, WIDTH - 12, 14), 0, 18, "title")]
    for tick in ticks(scale.low, scale.high):
        parts.append(shape("line", x1=scale(tick), x2=scale(tick), y1=HEAD - 4, y2=bottom, class_="grid"))
        parts.append(written(whole(tick), scale(tick), bottom + 16, "small muted", text_anchor="middle"))
    if not rows:
        parts.append(written("nothing rose above the noise", scale.start, HEAD + 20, "muted"))
    for place, row in enumerate(rows):
        parts.append(_row(row, place + 1, HEAD + ROW * place, scale))
    parts.append(shape("line", x1=scale(0), x2=scale(0), y1=HEAD - 4, y2=bottom, class_="axis"))
    key = "bar: estimated users, whisker: one standard error"
    if any(row.true_count is not None for row in rows):
        key += ", thick line: true count"
    parts.append(written(key, 0, height - 6, "small muted"))
    said = "; ".join(f"{row.label} {whole(row.count)} ± {whole(row.stderr)}" for row in rows[:20]) or "no items"
    return drawing(WIDTH, height, f"{title}: {said}", *parts)


def _row(row: Bar, rank: int, y: float, scale: Scale) -> Element:
    middle = y + ROW / 2
    mark, meaning = MARKS[row.significant]
    said = f"{rank}. {row.label}: {whole(row.count)} ± {whole(row.stderr)} users, {percent(row.share)}"
    parts = [
        shape("title", f"{said}; {meaning}" if mark else said),
        written(f"{rank}", 22, middle + 5, "muted", text_anchor="end"),
        written(mark, 28, middle + 5, "mark" if row.significant else "mark muted"),
        written(fitted(row.label, LABELS - 44, 14), 44, middle + 5),
        written(f"{whole(row.count)} ± {whole(row.stderr)}", WIDTH - 62, middle + 5, "small", text_anchor="end"),
        written(percent(row.share), WIDTH, middle + 5, "small muted", text_anchor="end"),
    ]
    return shape("g", *parts, *_bar(row, scale, y + 6, ROW - 12), class_=None if mark != NOISE else "noise")


def _bar(row: Bar, scale: Scale, y: float, height: float) -> list[Element]:
    """Draw the bar from 0, the whisker over one standard error to either side, and the true count if it is known."""
    ends = sorted((scale(0), scale(row.count)))
    middle = y + height / 2
    low, high = scale(row.count - row.stderr), scale(row.count + row.stderr)
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
    """What one party says of one item."""

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
    for place, row in enumerate(rows):
        y = head + line * place
        bar = Bar(row.party, row.share, row.stderr, row.share)
        said = f"{row.party}: {percent(row.share)} ± {percent(row.stderr)} of its users"
        parts.append(
            shape(
                "g",
                shape("title", said),
                written(fitted(row.party, 78, 12), 0, y + 14, "small"),
                *_bar(bar, scale, y + 4, line - 8),
                written(percent(row.share), width, y + 14, "small muted", text_anchor="end"),
            )
        )
    parts.append(shape("line", x1=scale(0), x2=scale(0), y1=head, y2=head + line * len(rows), class_="axis"))
    said = ", ".join(f"{row.party} {percent(row.share)}" for row in rows[:20])
    return drawing(width, head + line * max(len(rows), 1) + 4, f"Where {item} lives: {said}", *parts)
