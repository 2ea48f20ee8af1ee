"""Texts that others write and people read: names, reasons, notes. What they may hold, and how they are shown.

A text is public if every character of it can be seen. Where a text enters (a message, a task, an order, the name of a
party in a settings file) one that is not public is refused. Items are whatever users hold, so nothing is refused there.
Where a text is shown, whatever it is, the characters that cannot be seen are written as escapes.
"""

import re

LONGEST_NAME = 200
"""Of a query, an attribute or a party, in characters (code points)."""

HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: line ends, tabs, what steers a terminal
    "\u2028\u2029"  # line and paragraph separators
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what changes the direction of writing
    "\xad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # what takes no place on the screen
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f"
    "\ud800-\udfff]"  # halves of surrogate pairs, which no encoding of Unicode can write
)
"""A fixed list, so that it does not depend on anybody's version of Unicode.

The joiners U+200C and U+200D are not in it: words of several languages, and many emoji, are written with them.
"""


def visible(text: str) -> str:
    r"""Return a text for a person to read: one line, hidden characters as `\n`, `\x1b`, `\u202e` and the like."""
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


_NAMED_SECRET = re.compile(r"((?:pass|pwd|secret|token|credential|key)\w*\s*=\s*)(?:'[^']*'|\"[^\"]*\"|[^\s;&]+)", re.I)


def shown_address(address: str) -> str:
    """Return a URL, an object's location or a DSN as it may be shown: without user, password and options.

    Which option is a secret depends on the service, so none is shown.

    >>> shown_address("postgresql://me:secret@host/shop?password=secret")
    'postgresql://***@host/shop?***'
    """
    scheme, found, rest = address.partition("://")
    if not found:
        return _NAMED_SECRET.sub(r"\1***", address)
    user, at, place = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
    if re.search("[?#;]", user):  # an @ in an option, or a ? in a password: where the secret ends is not known
        return f"{scheme}://***"
    shown, options = re.fullmatch("([^?#;]*)(.*)", place, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{scheme}://{'***@' if at else ''}{shown}{options[:1] + '***' if options else ''}"


def writable(text: str) -> str:
    """Return a text that files and tables can hold, whatever else is in it: halves of surrogate pairs are escaped."""
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def first_hidden(content: object) -> str | None:
    """Return a text anywhere in a JSON value, keys among them, that is not public; None: there is none."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if HIDDEN.search(value):
                return value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
    return None


def name_problem(name: object) -> str | None:
    """Say why something cannot be the name of a party, a query or an attribute; None: it can."""
    if not isinstance(name, str) or not name:
        return "must not be empty"
    if len(name) > LONGEST_NAME:
        return f"must have {LONGEST_NAME} characters at most, found {len(name)}"
    if HIDDEN.search(name):
        return f"must be without control and invisible characters, found '{visible(name)}'"
    return None
