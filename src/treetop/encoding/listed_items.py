"""Items of a list that everybody knows: the code of an item is its place."""

from collections.abc import Sequence

import numpy as np

from treetop.encoding.bit_strings import SHORTEST, code_array
from treetop.encoding.item_codecs import EncodedItems, ItemCodec


class ListedItems(ItemCodec):
    """The place in a catalogue, in as many bits as its size takes; items that are not on it do not fit."""

    name = "catalogue"

    def __init__(self, items: Sequence[str]) -> None:
        super().__init__(max(SHORTEST, len(items).bit_length()))
        self.items = items
        self._places = {item: place for place, item in enumerate(items)}

    @property
    def title(self) -> str:
        """Return what an item is held against, in words."""
        return f"the catalogue of {len(self.items):,} items"

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: look the item up, letter by letter as it is written."""
        places = [self._places.get(item, -1) for item in items]
        codes = code_array((max(place, 0) for place in places), self.bits)
        return EncodedItems(codes, np.array(places, dtype=np.int64) >= 0, 0)

    def decode(self, code: int) -> str | None:
        """Return the item at that place."""
        return self.items[code] if code < len(self.items) else None
