"""Lists of known items: named by their digest, read strictly, never larger than they may be."""

import json
import tracemalloc
import zlib
from hashlib import sha256
from typing import Any

import pytest
from tests.support.refusals import refused

from treetop.encoding import device_items
from treetop.errors import InvalidInput, PeerViolation
from treetop.federation.wire import item_lists
from treetop.federation.wire.item_lists import ItemList

DRINKS = ItemList(("chai", "天气预报", "a\nb"), ordered=True, source="drinks.csv")


def document_of(content: Any) -> tuple[bytes, str]:
    text = (
        content if isinstance(content, bytes) else json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    )
    return zlib.compress(text), sha256(b"treetop item list 1\0" + text).hexdigest()


def test_a_list_is_read_back_whoever_compressed_it() -> None:
    assert ItemList.from_document(DRINKS.document, DRINKS.digest) == DRINKS
    assert ItemList.from_document(zlib.compress(zlib.decompress(DRINKS.document), 0), DRINKS.digest) == DRINKS
    assert repr(DRINKS) == "ItemList(3 items)"


@pytest.mark.parametrize("other", [
    ItemList(("chai", "天气预报"), True, "drinks.csv"), ItemList(("天气预报", "chai", "a\nb"), True, "drinks.csv"),
    ItemList(DRINKS.items, False, "drinks.csv"), ItemList(DRINKS.items, True, "others.csv"),
])  # fmt: skip
def test_every_part_changes_the_digest(other: ItemList) -> None:
    assert other.digest != DRINKS.digest
    with pytest.raises(PeerViolation, match=f"digest of the list: expected {DRINKS.digest}"):
        ItemList.from_document(other.document, DRINKS.digest)


@pytest.mark.parametrize(("items", "said"), [
    ((), "from 1 to 4,194,304 items, found 0"), (("a", "a"), "distinct"), (("a", ""), "not empty"),
    (("a\ud800",), "halves of surrogate pairs"), (("ä" * 2049,), "4096 bytes at most, found 4098"), ((1,), "texts"),
])  # fmt: skip
def test_what_is_no_list_is_refused(items: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ItemList(items)


@pytest.mark.parametrize("more", [{"source": ""}, {"source": "x" * 201}, {"source": "a\u202eb"}, {"ordered": 1}])
def test_where_it_is_from_must_be_readable(more: dict[str, Any]) -> None:
    with refused("item_list_unusable", InvalidInput):
        ItemList(("a",), **more)


@pytest.mark.parametrize("content", [
    b"", b"{}", b"[]", b"null", b"[" * 100_000, {"items": ["a"], "ordered": True}, {"items": "a", "ordered": True},
    {"items": ["a"], "ordered": True, "source": "x", "more": 1}, {"items": ["a", "a"], "ordered": True, "source": "x"},
    {"items": [], "ordered": True, "source": "x"}, {"items": [["a"]], "ordered": True, "source": "x"},
    {"items": ["a"], "ordered": "yes", "source": "x"}, b'{"items":["a"],"ordered":true,"source":"x"} ',
    '{"items":["ä"],"ordered":true,"source":"x"}'.encode(), b'{"items":["\\ud800"],"ordered":true,"source":"x"}',
])  # fmt: skip
def test_a_document_of_something_else_is_refused(content: Any) -> None:
    with pytest.raises(PeerViolation, match="list of items"):
        ItemList.from_document(*document_of(content))


def test_what_is_not_whole_or_more_than_whole_is_refused() -> None:
    for spoilt in (DRINKS.document[:-1], DRINKS.document + b"\0", b"\0" + DRINKS.document, b"x"):
        with pytest.raises(PeerViolation, match="list of items"):
            ItemList.from_document(spoilt, DRINKS.digest)


def test_a_large_list_is_refused_before_it_takes_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    document, digest = document_of(b"[" + b" " * (1 << 20) + b"]")
    monkeypatch.setattr(item_lists, "MAX_JSON_BYTES", 1 << 16)
    with pytest.raises(PeerViolation, match="65536 bytes at most"):
        ItemList.from_document(document, digest)
    monkeypatch.setattr(item_lists, "MAX_LIST_BYTES", 100)
    with pytest.raises(PeerViolation, match="bytes of a list: expected 100 at most"):
        ItemList.from_document(document, digest)
    with refused("item_list_too_long", InvalidInput, max_list_bytes=100, number=249):
        _ = ItemList(tuple(map(str, range(100)))).document


def test_an_item_of_a_list_is_no_longer_than_a_device_reads() -> None:
    assert item_lists.LONGEST_ITEM == device_items.LONGEST_ITEM


@pytest.mark.parametrize("entry", [b"[],", b"{},", b'"aa",', b"12345,"])
def test_what_is_no_list_takes_no_more_memory_than_its_text(entry: bytes) -> None:
    """A hostile server could sign its digest: 261 kB once took 7 GB at every device and party."""
    entries = entry * (item_lists.MAX_ITEMS + 1)
    document, digest = document_of(b'{"items":[' + entries[:-1] + b'],"ordered":true,"source":"x"}')
    most = 3 * len(entries)
    del entries
    tracemalloc.start()
    try:
        with pytest.raises(PeerViolation, match="items, ordered and source"):
            ItemList.from_document(document, digest)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("item", ['"', "\\", '\\"', '","', "]", '"],"ordered":true,"source":"', "\n", "\u2028", "😀"])
def test_whatever_an_item_holds_it_is_read_back(item: str) -> None:
    listed = ItemList((item, f"{item}a", f"a{item}"), source="x")
    assert ItemList.from_document(listed.document, listed.digest) == listed
