"""A whole and its parts: whose users were counted, and how many are missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log10

from treetop.web.drawings.svg import Element, Picture, drawing, fitted, percent, shape, written

WIDTH = 460.0
SHADES = 6
"""Classes shade-0 to shade-5 of the stylesheet, again from the first for more parts."""


def shares(parts: Sequence[tuple[str, float]], title: str, missing: float = 0.0) -> Picture:
    """Draw parts of a whole as one strip, and hatched what is missing of it; every part is named below."""
    total = sum(max(share, 0.0) for _, share in parts) + max(missing, 0.0)
    named = [(label, max(share, 0.0), f"shade-{place % SHADES}") for place, (label, share) in enumerate(parts)]
    if missing > 0:
        named.append(("not covered", missing, "missing"))
    drawn: list[Element] = []
    x = 0.0
    key_x = 0.0
    key_y = 58.0
    for label, share, shade in named:
        width = WIDTH * share / total if total > 0 else 0.0
        said = f"{label}: {percent(share)}"
        drawn.append(
            shape("rect", shape("title", said), x=x, y=4.0, width=max(width - 1, 0.0), height=28.0, class_=shade)
        )
        x += width
        shown = fitted(f"{label} {percent(share)}", 240, 13)
        needed = 30 + len(shown) * 7.2
        if key_x + needed > WIDTH and key_x:
            key_x = 0.0
            key_y = key_y + 22
        drawn.append(shape("rect", x=key_x, y=key_y - 11, width=12.0, height=12.0, class_=shade))
        drawn.append(written(shown, key_x + 18, key_y, "small"))
        key_x += needed
    described = ", ".join(f"{label} {percent(share)}" for label, share, _ in named[:20])
    return drawing(WIDTH, key_y + 12, f"{title}: {described}", *drawn)


@dataclass(frozen=True)
class FoundShare:
    """What one way of asking could find: the smallest share that is found, and that is marked; None: never."""

    label: str
    found: float | None
    marked: float | None


def found_shares(rows: Sequence[FoundShare], chosen: str | None, title: str) -> Picture:
    """Draw on a logarithmic scale from which share on each way finds an item; further left is better."""
    head = 30.0
    line = 26.0
    labels = 122.0
    numbers = [share for row in rows for share in (row.found, row.marked) if share is not None and share > 0]
    low = min(-4, *(int(log10(share)) - 1 for share in numbers)) if numbers else -4
    height = head + line * len(rows) + 26

    def place(share: float) -> float:
        logarithm = log10(share) if share > 0 and isfinite(share) else low
        return labels + (WIDTH - labels - 24) * (max(logarithm, low) - low) / -low

    drawn: list[Element] = [written(title, 0, 16, "title")]
    for power in range(low, 1):
        x = place(10.0**power)
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
            x = place(row.found)
            end = place(1.0 if row.marked is None else row.marked)
            parts.append(shape("line", x1=x, x2=end, y1=y, y2=y, class_="whisker"))
            parts.append(shape("circle", cx=x, cy=y, r=6.0, class_="bar"))
            if row.marked is not None:
                parts.append(shape("circle", cx=end, cy=y, r=4.0, class_="open"))
        drawn.append(shape("g", *parts, class_="chosen" if row.label == chosen else None))
    described = "; ".join(
        f"{row.label} {'never' if row.found is None else 'from ' + percent(row.found)}" for row in rows
    )
    return drawing(WIDTH, height, f"{title}: {described}", *drawn)
