"""A device's set: which items are one, which have no code, and that the codec is given as much whatever is held."""

from collections.abc import Sequence

import pytest

from treetop.encoding import device_items
from treetop.encoding.device_items import LONGEST_ITEM, DeviceSet, device_code, set_entries
from treetop.encoding.item_codecs import EncodedItems, ItemCodec, codec_named

IDS = codec_named("ids", 8)


def test_items_that_are_the_same_once_normalised_are_one() -> None:
    assert set_entries(["Chai", "chai", " latte"], ["casefold", "trim"]) == {b"chai": "chai", b"latte": "latte"}
    assert set_entries([]) == {}


def test_items_without_a_text_are_known_by_their_first_bytes() -> None:
    longer = "x" * (LONGEST_ITEM + 1)
    entries = set_entries([longer, longer + "y", "\udcff", "7"])
    assert entries == {longer.encode(): None, b"\xed\xb3\xbf": None, b"7": "7"}


def test_where_uses_count_every_use_stands_for_itself() -> None:
    assert set_entries(["7", "9", "7"], uses=True) == {b"7\x000": "7", b"9\x001": "9", b"7\x002": "7"}


def test_no_more_items_are_looked_at_than_a_device_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_items, "LARGEST_SET", 3)
    assert list(set_entries(list("abcde"))) == [b"a", b"b", b"c"]


def test_every_item_has_the_code_of_a_single_one() -> None:
    own = DeviceSet(IDS, set_entries(["7", "999", "x", "\udcff"]), 3)
    assert {entry: own[entry] for entry in own} == {b"7": 7, b"999": None, b"x": None, b"\xed\xb3\xbf": None}
    assert len(own) == 4
    assert repr(own) == "DeviceSet(redacted)"


class Watched(ItemCodec):
    """Counts its calls and the bytes that it is given."""

    name = "watched"

    def __init__(self) -> None:
        super().__init__(48)
        self.calls: list[int] = []

    def encode(self, items: Sequence[str]) -> EncodedItems:
        self.calls.append(sum(len(item.encode()) for item in items))
        return codec_named("hashed", 48, "public").encode(items)

    def decode(self, code: int) -> str | None:
        return None


@pytest.mark.parametrize("items", [[], ["7"], ["ö" * 100, "7"], list("abc"), list("abcdefgh"), ["x" * 5000, "7"]])
def test_the_codec_is_called_as_often_with_as_many_bytes_whatever_the_set(items: list[str]) -> None:
    codec = Watched()
    own = DeviceSet(codec, set_entries(items), 3)
    spoken_of = [own[entry] for entry in list(own)[:3]]  # a report speaks of three items, or of all
    assert spoken_of.count(None) == sum(len(item) > LONGEST_ITEM for item in items)
    assert codec.calls == [LONGEST_ITEM] * 3


def test_a_single_item_is_encoded_as_before() -> None:
    assert [device_code(IDS, item) for item in ("7", "x")] == [7, None]
