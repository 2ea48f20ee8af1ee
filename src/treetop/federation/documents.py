"""The one strict reader of documents that somebody else wrote: tasks, campaigns, candidate lists, beacons.

A document is JSON in its canonical form. A rule describes its fields; whatever a rule does not describe is refused.
Readers in every language check in the same order (form, then field by field, in the order of their names), so that the
same document gets the same code everywhere.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from treetop.errors import QuestionRefused
from treetop.public_text import HIDDEN, LONGEST_NAME

LARGEST_NUMBER = (1 << 53) - 1
"""Of any number in a document: from here on, readers that compute with doubles would disagree."""
_MAX_DEPTH = 8


class DocumentCode(StrEnum):
    """Why a document is refused: a function of the document and of what the device was asked about.

    All of it is public. A code is settled before the device's item is read, so it says nothing about the item.
    """

    FORM = "document_form"
    """Not JSON, or JSON in another than its canonical form: sorted keys, no spaces, whole numbers below 2^53."""
    FIELDS = "document_fields"
    """A field is missing or unknown."""
    TYPE = "document_type"
    RANGE = "document_range"
    """A number, a text or a list is beyond its bounds."""
    MEANING = "document_meaning"
    """Each field is fine, but together they cannot be asked."""
    SIGNATURE = "document_signature"
    """Of another kind, or not signed by a pinned key."""
    OTHER = "document_other"
    """Of another task, party, group or campaign."""


class DocumentRefused(QuestionRefused):
    """A document that is not what Treetop writes, or is not what was asked for; nothing of it is used."""

    def __init__(self, code: DocumentCode, what: str, expected: object, found: object) -> None:
        super().__init__(what, expected, found)
        self.code = code


Rule = Callable[[str, Any], None]
"""Refuses a value unless it is as described; the text says where the value stands."""


def require(holds: bool, code: DocumentCode, what: str, expected: object, found: object = "something else") -> None:
    """Refuse a document unless a condition holds."""
    if not holds:
        raise DocumentRefused(code, what, expected, found)


def whole(least: int, most: int) -> Rule:
    """Describe a whole number in a range."""

    def rule(what: str, value: Any) -> None:
        require(type(value) is int, DocumentCode.TYPE, what, "a whole number", type(value).__name__)
        require(least <= value <= most, DocumentCode.RANGE, what, f"from {least} to {most}", value)

    return rule


def text(pattern: str, flags: int = 0) -> Rule:
    """Describe a text by a regular expression that all of it matches."""
    compiled = re.compile(pattern, flags)

    def rule(what: str, value: Any) -> None:
        require(type(value) is str, DocumentCode.TYPE, what, "a text", type(value).__name__)
        require(compiled.fullmatch(value) is not None, DocumentCode.RANGE, what, "an allowed text", value)

    return rule


def one_of(*words: str) -> Rule:
    """Describe one of these words."""
    return text("|".join(map(re.escape, words)))


_VISIBLE = f"[^{HIDDEN.pattern[1:-1]}]"
READABLE = text(f"{_VISIBLE}*", re.DOTALL)
"""A text of characters that can be seen."""
NOT_EMPTY = text(f"{_VISIBLE}+", re.DOTALL)
NAME = text(f"{_VISIBLE}{{1,{LONGEST_NAME}}}", re.DOTALL)
DIGEST = text("[0-9a-f]{64}")
CODE = text("0|[1-9a-f][0-9a-f]{0,63}")
"""A prefix of up to 256 bits, without needless zeros."""


def rows(rule: Rule, least: int, most: int) -> Rule:
    """Describe a list by its length and its entries."""

    def described(what: str, value: Any) -> None:
        require(type(value) is list, DocumentCode.TYPE, what, "a list", type(value).__name__)
        require(least <= len(value) <= most, DocumentCode.RANGE, what, f"{least} to {most} entries", len(value))
        for entry in value:
            rule(what, entry)

    return described


def entries(*rules: Rule) -> Rule:
    """Describe a list with a rule for each of its places."""

    def described(what: str, value: Any) -> None:
        require(type(value) is list, DocumentCode.TYPE, what, "a list", type(value).__name__)
        require(len(value) == len(rules), DocumentCode.RANGE, what, f"{len(rules)} entries", len(value))
        for rule, entry in zip(rules, value, strict=True):
            rule(what, entry)

    return described


def record(fields: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """Describe an object by its fields; it has no others."""
    rules = {**fields, **(optional or {})}

    def described(what: str, value: Any) -> None:
        require(type(value) is dict, DocumentCode.TYPE, what, "an object", type(value).__name__)
        known = fields.keys() <= value.keys() <= rules.keys()
        others = ", ".join(sorted(value.keys() - rules.keys()) or sorted(fields.keys() - value.keys()))
        require(known, DocumentCode.FIELDS, f"fields of {what}", "all that this version knows and no others", others)
        for name in sorted(value):
            rules[name](name, value[name])

    return described


def readable_texts(what: str, value: Any) -> None:
    """Refuse anything but an object whose names and values are texts that can be read."""
    require(type(value) is dict, DocumentCode.TYPE, what, "an object", type(value).__name__)
    for name in sorted(value):
        READABLE(what, name)
        READABLE(what, value[name])


def canonical_json(content: object) -> bytes:
    """Return the one way to write JSON down: keys sorted by code point, no spaces, ASCII."""
    written = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return written.encode("ascii")


def read_json(what: str, document: bytes) -> Any:
    """Return what JSON in UTF-8 holds; numbers that are not whole, or too large, are of no type that a rule takes."""
    try:
        return json.loads(
            str(document, "utf-8"), parse_int=_whole_number, parse_float=_NotWhole, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        raise DocumentRefused(DocumentCode.FORM, what, "JSON", "something else") from None


def read_canonical(what: str, document: bytes, rule: Rule) -> Any:
    """Return the content of a document in its canonical form, if it is as described."""
    content = read_json(what, document)
    same = _is_flat(content, _MAX_DEPTH) and _written(content) == document
    require(same, DocumentCode.FORM, what, "its canonical form", "another")
    rule(what, content)
    return content


class _NotWhole:
    """A number that no document has."""

    def __init__(self, text: str) -> None:
        self.text = text


def _whole_number(digits: str) -> "int | _NotWhole":
    number = int(digits) if len(digits) <= len(str(-LARGEST_NUMBER)) else None
    return _NotWhole(digits) if number is None or abs(number) > LARGEST_NUMBER else number


def _no_number(constant: str) -> None:
    raise ValueError(constant)


def _is_flat(content: Any, depth: int) -> bool:
    """Return whether objects and lists are nested up to a depth; what is deeper is never walked."""
    if not isinstance(content, dict | list):
        return True
    values = content.values() if isinstance(content, dict) else content
    return depth > 0 and all(_is_flat(value, depth - 1) for value in values if isinstance(value, dict | list))


def _written(content: Any) -> bytes | None:
    try:
        return canonical_json(content)
    except TypeError:  # a number that is not whole
        return None
