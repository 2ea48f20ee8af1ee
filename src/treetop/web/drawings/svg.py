"""SVG text from elements, with classes instead of styles, which a strict Content-Security-Policy would forbid.

Every text goes through `visible` and is escaped. Colours are those of static/drawings.css, so a picture
follows the page into dark mode; a picture that leaves the page takes the stylesheet along (`standing_alone`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from math import floor, isfinite, log10
from unicodedata import east_asian_width

from treetop.public_text import visible

NAMESPACE = "http://www.w3.org/2000/svg"
# XML 1.0 (section 2.2) has no such characters, and a browser refuses a whole file that holds one.
NOT_IN_XML = str.maketrans({"\ufffe": "\ufffd", "\uffff": "\ufffd"})
CHARACTER = 0.58
"""Width of a character as a share of its size, a generous average of system fonts."""


def text_of(content: object) -> str:
    """Return a text that a person can see and XML can hold."""
    return visible(str(content)).translate(NOT_IN_XML)


class Picture(str):
    """A whole picture as SVG text, which templates do not escape again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the picture, in which all texts are escaped."""
        return self


@dataclass(frozen=True)
class Element:
    """A part of a picture: its kind, its attributes, and texts and elements within, all of them still unescaped."""

    kind: str
    attributes: Mapping[str, str]
    within: "tuple[Element | str, ...]"

    def __str__(self) -> str:
        """Return the element as SVG text."""
        named = "".join(f' {name}="{escape(value)}"' for name, value in self.attributes.items())
        inside = "".join(str(part) if isinstance(part, Element) else escape(part) for part in self.within)
        return f"<{self.kind}{named}>{inside}</{self.kind}>" if inside else f"<{self.kind}{named}/>"


def shape(kind: str, *within: Element | str, **attributes: object) -> Element:
    """Return an element; `class_` is class, `text_anchor` is text-anchor, and None is left out."""
    given = {
        name if name in {"viewBox", "preserveAspectRatio"} else name.rstrip("_").replace("_", "-"): (
            _number(value) if isinstance(value, float) else text_of(value)
        )
        for name, value in attributes.items()
        if value is not None
    }
    return Element(kind, given, tuple(part if isinstance(part, Element) else text_of(part) for part in within))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isfinite(value) else "0"


def written(content: object, x: float, y: float, class_: str = "", **attributes: object) -> Element:
    """Return a line of text at a position."""
    return shape("text", str(content), x=float(x), y=float(y), class_=class_ or None, **attributes)


def drawing(
    width: float, height: float, title: str, *within: Element, role: str = "img", **attributes: object
) -> Picture:
    """Return a whole picture, no larger than it was drawn; a screen reader reads its title.

    A picture with links in it has the role of a group: what is in an image cannot be reached.
    """
    box = f"0 0 {_number(float(width))} {_number(float(height))}"
    picture = shape(
        "svg",
        shape("title", title),
        *within,
        xmlns=NAMESPACE,
        viewBox=box,
        width=float(width),
        role=role,
        class_="drawing",
        **attributes,
    )
    return Picture(picture)


def standing_alone(picture: Picture) -> bytes:
    """Return a picture as a file: with its size, its colours, and white behind it."""
    style = files("treetop.web").joinpath("static", "drawings.css").read_text("utf-8")
    head, end, rest = str(picture).partition("</title>")
    inner = shape("style", f"{style} .drawing {{ background: #fff; }}".replace("\n", " "))
    return f"{head}{end}{inner}{rest}\n".encode()


def fitted(text: object, width: float, size: float) -> str:
    """Return a text cut to a width, with an ellipsis where it was cut."""
    shown = text_of(text)
    room = width / (size * CHARACTER)
    used = 0.0
    for index, character in enumerate(shown):
        # Wide and full-width characters (Unicode annex 11) take nearly two average ones.
        used += 1.75 if east_asian_width(character) in "WF" else 1.0
        if used > room:
            return shown[: max(index - 1, 0)] + "…"
    return shown


def whole(number: float) -> str:
    """Return a count as people read it, in powers of ten where it is far too large."""
    return f"{number:,.0f}" if abs(number) < 1e12 else f"{number:.3g}"


def percent(share: float) -> str:
    """Return a share in percent with about three digits."""
    if share == 0 or abs(share) >= 0.1:
        return f"{100 * share:.1f}\u00a0%"
    digits = min(1 - floor(log10(abs(100 * share))), 6) if share else 1
    return f"{100 * share:.{max(digits, 1)}f}\u00a0%"


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers between two ends."""
    span = high - low
    if not (span > 0 and isfinite(span)):
        return [low]
    raw = span / about
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first = -(-low // step)
    # The small term keeps a last tick that lies on the end but for rounding.
    return [(first + n) * step for n in range(int((high - first * step) / step + 1e-9) + 1)]
