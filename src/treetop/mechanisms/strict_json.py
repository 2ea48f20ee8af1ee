"""Reading the parts of a message that somebody else wrote: the right kind, in range, or a refusal."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array
from treetop.errors import PeerViolation
from treetop.oracles.frequency_oracle import Frequencies
from treetop.public_text import first_hidden

LONGEST_TEXT = 500
MESSAGE_HEAD = 1000
"""Bytes of everything in a message, or in one of its tables, but the prefixes and numbers: more than there are."""
COUNT_BYTES = 16
"""Of a count in JSON, and what stands around it."""
DECIMAL_BYTES = 25
"""Of a decimal number in JSON and the comma behind it, at most."""


def require(holds: bool, what: str, expected: object, found: object) -> None:
    """Refuse a message unless a condition holds."""
    if not holds:
        raise PeerViolation(what, expected, _short(found))


def _short(found: object) -> str:
    text = str(found)
    return text if len(text) <= 80 else text[:77] + "..."


def record(what: str, content: Any, names: set[str]) -> dict[str, Any]:
    """Return an object that has these fields and no others."""
    require(type(content) is dict, what, "an object", type(content).__name__)
    require(set(content) == names, f"fields of {what}", sorted(names), sorted(map(str, content)))
    return dict(content)


def whole(what: str, content: Any, least: int, most: int) -> int:
    """Return a whole number in a range."""
    require(type(content) is int, what, "a whole number", type(content).__name__)
    require(least <= content <= most, what, f"from {least} to {most}", content)
    return int(content)


def decimal(what: str, content: Any, least: float, most: float) -> float:
    """Return a finite number in a range."""
    require(type(content) is float and isfinite(content), what, "a finite number", content)
    require(least <= content <= most, what, f"from {least:g} to {most:g}", content)
    return float(content)


def text(what: str, content: Any, longest: int = LONGEST_TEXT) -> str:
    """Return a text that is not too long."""
    require(type(content) is str, what, "a text", type(content).__name__)
    require(len(content) <= longest, what, f"{longest} characters at most", len(content))
    return str(content)


def public_texts(what: str, content: Any) -> None:
    """Refuse a message, of whatever shape, that has a text in it which people could not read as it is."""
    found = first_hidden(content)
    require(found is None, f"texts of {what}", "no control or invisible characters", repr(found))


def rows(what: str, content: Any, least: int, most: int) -> list[Any]:
    """Return a list of so many entries."""
    require(type(content) is list, what, "a list", type(content).__name__)
    require(least <= len(content) <= most, f"number of {what}", f"from {least} to {most}", len(content))
    return list(content)


def code(what: str, content: Any, length: int) -> int:
    """Return a prefix of so many bits from its hexadecimal text, spelt as Treetop spells it."""
    digits = text(what, content, 64)
    try:
        number = int(digits, 16)
    except ValueError:
        raise PeerViolation(what, "hexadecimal digits", _short(digits)) from None
    require(f"{number:x}" == digits, what, "hexadecimal digits without needless ones", digits)
    require(0 <= number < 1 << length, what, f"of {length} bits", digits)
    return number


def codes(what: str, content: Any, length: int, bits: int, *, least: int = 0, most: int = 1 << 22) -> Codes:
    """Return distinct prefixes of so many bits, in the order they were sent."""
    numbers = [code(what, entry, length) for entry in rows(what, content, least, most)]
    require(len(set(numbers)) == len(numbers), what, "distinct", "one twice")
    return code_array(numbers, bits)


def digest(what: str, content: Any) -> bytes:
    """Return 32 bytes from their hexadecimal text."""
    digits = text(what, content, 64)
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        raise PeerViolation(what, "hexadecimal digits", _short(digits)) from None
    require(len(found) == 32, what, "32 bytes", len(found))
    return found


def packed_text(data: bytes) -> str:
    """Return how bytes are written."""
    return b64encode(data).decode("ascii")


def packed_bytes(what: str, content: Any, most: int) -> bytes:
    """Return up to so many bytes from their Base64 text, spelt as Treetop spells it."""
    spelt = text(what, content, packed_length(most))
    try:
        data = b64decode(spelt, validate=True)
    except ValueError:
        raise PeerViolation(what, "Base64", _short(spelt)) from None
    require(packed_text(data) == spelt, what, "Base64 without needless bits", spelt)
    return data


def packed_length(most: int) -> int:
    """Return the characters of so many bytes."""
    return -(-most // 3) * 4


def code_bytes(bits: int) -> int:
    """Return the bytes of a prefix in JSON, with its quotes and the comma behind it."""
    return -(-bits // 4) + 3


def code_texts(prefixes: Codes) -> list[str]:
    """Return how prefixes are written."""
    return [f"{int(prefix):x}" for prefix in prefixes.tolist()]


def decimals(what: str, content: Any, length: int, least: float, most: float) -> Frequencies:
    """Return so many finite numbers in a range."""
    return np.array([decimal(what, entry, least, most) for entry in rows(what, content, length, length)], dtype=float)


def wholes(what: str, content: Any, length: int, least: int, most: int) -> list[int]:
    """Return so many whole numbers in a range."""
    return [whole(what, entry, least, most) for entry in rows(what, content, length, length)]


def optional(reader: Callable[..., Any], what: str, content: Any, *rest: Any, **named: Any) -> Any:
    """Return nothing for nothing, otherwise what a reader makes of it."""
    return None if content is None else reader(what, content, *rest, **named)
