"""Texts that somebody could send to break a list, a screen or a reader."""

from collections.abc import Iterator
from typing import Any

HIDDEN = (
    "\ud800", "half \udfff of a pair", "\x00", "first\nforged line", "\r", "a\tb", "\x1b[2J\x1b[31mred", "\x9b31m",
    "\x7f", "\u202egnp.exe", "\u2066x", "\u2028forged", "\u200bx", "\ufeffx", "\U000e0041",
)  # fmt: skip
"""Refused where text enters, escaped where it is shown."""
MARKUP = (
    "[/a]b",
    "[bold]A",
    ":warning:",
    "<script>alert(1)</script>",
    "=1+1",
    "$\\frac{$",
    "a|b",
    "{task.nothing}",
    "%s",
)
"""Allowed everywhere, and means itself."""
BEYOND_THE_BMP = ("\U0001f600", "\U00020000\U00020001", "\U0001f469\u200d\U0001f4bb", "\uffee", "na\u0308me")
"""Names that are as good as any."""

Path = tuple[Any, ...]


def text_places(content: Any, before: Path = ()) -> Iterator[Path]:
    """Yield where the texts of a JSON value are; a key's place ends in the key and None."""
    if isinstance(content, str):
        yield before
    below = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in below:
        if isinstance(key, str):
            yield (*before, key, None)
        yield from text_places(value, (*before, key))


def with_text(content: Any, place: Path, text: str) -> Any:
    """Return a JSON value with another text at a place."""
    if not place:
        return text
    if place[1:] == (None,):
        return {text if key == place[0] else key: value for key, value in content.items()}
    copy = content.copy()
    copy[place[0]] = with_text(copy[place[0]], place[1:], text)
    return copy
