"""The list of known items that a task names by its digest: a catalogue, or the words that hashes are read by.

Compressed JSON. The digest is that of the JSON, so it does not depend on who compressed it; it stands in the signed
task, and everyone who receives a list checks it before using it.
"""

import json
import re
import zlib
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from treetop.errors import InvalidInput, PeerViolation
from treetop.public_text import first_hidden

MAX_LIST_BYTES = 32 << 20
MAX_JSON_BYTES = 256 << 20
"""Of a list as it is sent, and of its JSON."""
MAX_ITEMS = 1 << 22
LONGEST_ITEM = 4096
"""Bytes of UTF-8: of a longer item a device makes no code."""
LONGEST_SOURCE = 200
_LIST_DOMAIN = b"treetop item list 1\0"
_TEXT = r'"(?:[^"\\]++|\\.)*+"'
_SHAPE = re.compile(
    rf'\{{"items":\[{_TEXT}(?:,{_TEXT}){{0,{MAX_ITEMS - 1}}}+\],"ordered":(?:true|false),"source":{_TEXT}\}}'.encode(),
    re.DOTALL,
)
"""Texts and not too many of them: of 256 MiB of something else, `json` would make gigabytes of objects."""


@dataclass(frozen=True, repr=False)
class ItemList:
    """Distinct items; the place of an item in a catalogue is its code."""

    items: tuple[str, ...]
    ordered: bool = False
    """Whether an item that stands earlier is known to be more popular."""
    source: str = "the list that was given"
    """Where the items come from, for the reader of an answer."""

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise InvalidInput("item_list_unusable", problem=problem)

    def __repr__(self) -> str:
        return f"ItemList({len(self.items)} items)"

    @cached_property
    def _json(self) -> bytes:
        content = {"items": self.items, "ordered": self.ordered, "source": self.source}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

    @cached_property
    def digest(self) -> str:
        """Return what stands for this list in a task, in hexadecimal."""
        return sha256(_LIST_DOMAIN + self._json).hexdigest()

    @cached_property
    def document(self) -> bytes:
        """Return it as it is sent."""
        document = zlib.compress(self._json)
        if len(document) > MAX_LIST_BYTES:
            raise InvalidInput("item_list_too_long", max_list_bytes=MAX_LIST_BYTES, number=len(document))
        return document

    @classmethod
    def from_document(cls, document: bytes, digest: str) -> "ItemList":
        """Run by the device, the party and the server: the list of that digest, or a refusal."""
        if len(document) > MAX_LIST_BYTES:
            raise PeerViolation("bytes of a list", f"{MAX_LIST_BYTES} at most", len(document))
        reader = zlib.decompressobj()
        try:
            text = reader.decompress(document, MAX_JSON_BYTES)
        except zlib.error:
            raise PeerViolation("list of items", "compressed JSON", "something else") from None
        if not reader.eof or reader.unused_data:
            raise PeerViolation("list of items", f"whole, and {MAX_JSON_BYTES} bytes at most", "otherwise")
        found = sha256(_LIST_DOMAIN + text).hexdigest()
        if found != digest:
            raise PeerViolation("digest of the list", digest, found)
        return cls._from_json(text)

    @classmethod
    def _from_json(cls, text: bytes) -> "ItemList":
        try:
            fields = json.loads(text if _SHAPE.fullmatch(text) else b"")
            listed = cls(tuple(fields["items"]), fields["ordered"], fields["source"])
            same = listed._json == text
        except (ValueError, TypeError, KeyError, RecursionError):
            raise PeerViolation("list of items", "items, ordered and source", "something else") from None
        if not same:
            raise PeerViolation("list of items", "its canonical form", "another")
        return listed


def _problem(listed: ItemList) -> str:
    """Say why a list is none, or nothing."""
    items = listed.items
    if not 1 <= len(items) <= MAX_ITEMS:
        return f"expected from 1 to {MAX_ITEMS:,} items, found {len(items):,}"
    if not all(type(item) is str and item for item in items) or len(set(items)) != len(items):
        return "expected distinct texts that are not empty"
    try:
        longest = max(len(item.encode("utf-8")) for item in items)
    except UnicodeEncodeError:
        return "expected texts in UTF-8, found halves of surrogate pairs"
    if longest > LONGEST_ITEM:
        return f"expected items of {LONGEST_ITEM} bytes at most, found {longest}"
    public = isinstance(listed.source, str) and first_hidden(listed.source) is None
    if type(listed.ordered) is not bool or not public or not 1 <= len(listed.source) <= LONGEST_SOURCE:
        return f"expected whether it is ordered, and where it is from in {LONGEST_SOURCE} readable characters at most"
    return ""
