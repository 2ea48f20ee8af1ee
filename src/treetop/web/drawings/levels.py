"""The progress of a search: levels by parties as a matrix, and the tree of prefixes that it grows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from treetop.web.drawings.svg import Element, Picture, drawing, fitted, shape, whole, written

State = Literal["done", "working", "waiting", "left out"]
MAX_PRUNED = 4
"""Pruned branches drawn beside the kept ones of a node; the others are counted."""
MAX_NODES = 400
"""Kept branches drawn in one picture; a click on a branch shows what is below it."""


@dataclass(frozen=True)
class LevelCell:
    """One level of one party: its state, and the prefixes that it kept of its candidates."""

    state: State
    kept: int | None = None
    candidates: int | None = None


SIGNS: dict[State, str] = {"done": "", "working": "…", "waiting": "", "left out": "×"}


def matrix(levels: int, rows: Mapping[str, Sequence[LevelCell]]) -> Picture:
    """Draw a row for each party and a column for each level; cells that are missing wait."""
    labels = 130.0
    cell = 30.0
    head = 24.0
    drawn: list[Element] = [
        written(level + 1, labels + cell * level + cell / 2, 16, "small muted", text_anchor="middle")
        for level in range(levels)
    ]
    for index, (party, cells) in enumerate(rows.items()):
        y = head + cell * index
        drawn.append(written(fitted(party, labels - 10, 13), 0, y + cell / 2 + 5))
        for level in range(levels):
            found = cells[level] if level < len(cells) else LevelCell("waiting")
            drawn.append(_cell(f"{party}, level {level + 1}", found, labels + cell * level, y, cell - 3))
    done = sum(found.state == "done" for cells in rows.values() for found in cells[:levels])
    described = f"Levels by parties: {done} of {levels * len(rows)} levels are done"
    return drawing(labels + cell * max(levels, 1), head + cell * max(len(rows), 1), described, *drawn)


def _cell(where: str, found: LevelCell, x: float, y: float, size: float) -> Element:
    kept = "" if found.kept is None else f", kept {found.kept:,}"
    of = "" if found.candidates is None else f" of {found.candidates:,}"
    sign = SIGNS[found.state] if found.kept is None or found.kept >= 1000 else f"{found.kept}"
    return shape(
        "g",
        shape("title", f"{where}: {found.state}{kept}{of}"),
        shape("rect", x=x, y=y, width=size, height=size, rx=4, class_=f"cell {found.state.replace(' ', '-')}"),
        written(sign, x + size / 2, y + size / 2 + 4, "small", text_anchor="middle"),
    )


@dataclass(frozen=True)
class Branch:
    """One prefix that was asked about, in bits; its estimated users where they are known."""

    prefix: str
    kept: bool
    count: float | None = None
    label: str = ""
    """Shown instead of bits where it is known."""


def tree(branches: Sequence[Branch], link: Callable[[str], str] | None = None, focus: str = "") -> Picture:
    """Draw the prefixes below one of them: kept branches in full, pruned ones as stubs.

    `link` gives the address that a click on a kept branch leads to: the same tree with the focus there.
    """
    inside = [each for each in branches if each.prefix.startswith(focus) and each.prefix != focus]
    lengths = sorted({len(each.prefix) for each in inside})
    known = {focus} | {each.prefix for each in inside if each.kept}
    below: dict[str, list[Branch]] = {}
    for each in sorted(inside, key=lambda each: (len(each.prefix), -(each.count or 0), each.prefix)):
        parent = next(
            each.prefix[:n] for n in range(len(each.prefix) - 1, len(focus) - 1, -1) if each.prefix[:n] in known
        )
        below.setdefault(parent, []).append(each)
    column = 128.0
    line = 20.0
    left = 20.0
    drawn: list[Element] = []
    bottom = line
    nodes = 0

    def draw_below(prefix: str, x: float) -> float:
        """Draw the branches below a prefix, and return its own height: the middle of theirs."""
        nonlocal bottom, nodes
        children = below.get(prefix, [])
        kept = [each for each in children if each.kept]
        pruned = [each for each in children if not each.kept]
        shown = kept[: max(MAX_NODES - nodes, 0)]
        nodes += len(shown)
        if not children:
            bottom += line
            return bottom - line
        heights: list[float] = []
        for each in shown:
            at = left + column * (lengths.index(len(each.prefix)) + 1)
            y = draw_below(each.prefix, at)
            heights.append(y)
            drawn.append(_kept(each, len(prefix), at, y, link))
        stubs = pruned[:MAX_PRUNED]
        at = x + column
        for each in stubs:
            heights.append(bottom)
            label = fitted(each.label or "…" + each.prefix[len(prefix) :], column - 20, 11)
            drawn.append(
                shape(
                    "g",
                    shape("title", _told(each)),
                    shape("circle", cx=at, cy=bottom, r=3),
                    written(label, at + 7, bottom + 4, "small"),
                    class_="pruned",
                )
            )
            bottom += line
        if more := len(pruned) - len(stubs) + len(kept) - len(shown):
            what = "pruned" if len(kept) == len(shown) else "not drawn"
            drawn.append(written(f"{more:,} more {what}", at + 7, bottom + 4, "small muted"))
            bottom += line
        y = (heights[0] + heights[-1]) / 2 if heights else bottom - line
        half = x + column / 2
        for number, height in enumerate(heights):
            kind = "branch" if number < len(shown) else "branch cut"
            end = left + column * (lengths.index(len(shown[number].prefix)) + 1) if number < len(shown) else at
            # At the front: SVG paints in order, and nodes belong on top of lines.
            drawn.insert(0, shape("path", d=f"M{x:.1f} {y:.1f}H{half:.1f}V{height:.1f}H{end:.1f}", class_=kind))
        return y

    root = draw_below(focus, left)
    drawn.append(shape("circle", cx=left, cy=root, r=5, class_="node"))
    number = sum(each.kept for each in inside)
    described = f"Tree of prefixes{' below ' + focus if focus else ''}: {number} kept, {len(inside) - number} pruned"
    role = "img" if link is None else "group"
    return drawing(left + column * (len(lengths) + 1), max(bottom, 2 * line), described, *drawn, role=role)


def _kept(each: Branch, known: int, x: float, y: float, link: Callable[[str], str] | None) -> Element:
    count = "" if each.count is None else f" {whole(each.count)}"
    label = fitted((each.label or "…" * (known > 0) + each.prefix[known:]) + count, 112, 11)
    node = shape(
        "g",
        shape("title", _told(each)),
        shape("circle", cx=x, cy=y, r=5),
        written(label, x + 8, y - 4, "small"),
        class_="node",
    )
    return node if link is None else shape("a", node, href=link(each.prefix))


def _told(each: Branch) -> str:
    count = "" if each.count is None else f", {whole(each.count)} users"
    return f"{'kept' if each.kept else 'pruned'}: {each.label or each.prefix}{count}"
