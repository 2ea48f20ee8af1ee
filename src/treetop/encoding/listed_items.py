"""Items that are known before anybody is asked: a list of them, and codes that are places in it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treetop.encoding.bit_strings import SHORTEST, code_array
from treetop.encoding.item_codecs import EncodedItems, ItemCodec
from treetop.encoding.normalisation import normalised
from treetop.errors import InvalidInput
from treetop.wording import Note


@dataclass(frozen=True)
class ItemCatalogue:
    """Distinct items, the most popular first where the list is `ordered`, else as they were listed."""

    items: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    ordered: bool = False
    """Whether an item that stands earlier is known to be more popular."""
    source: str = "the list that was given"
    """Where the items come from, for the reader of an answer."""

    @classmethod
    def of(cls, listed: Iterable[object]) -> "ItemCatalogue":
        """Take every item once, and say how often that made a difference."""
        if isinstance(listed, str):
            raise InvalidInput("catalogue_is_text", listed=listed[:40])
        named = [str(item) for item in listed]
        items = tuple(dict.fromkeys(item for item in named if item))
        if not items:
            raise InvalidInput("catalogue_empty")
        repeated = len(named) - named.count("") - len(items)
        notes = (Note("catalogue_repeats", items=repeated),) if repeated else ()
        return cls(items, notes)

    def normalised(self, steps: Collection[str]) -> "ItemCatalogue":
        """Return the normalised items, and say how many became the same as one before them, whose place they share."""
        items = tuple(dict.fromkeys(normalised(item, steps) for item in self.items))
        merged = len(self.items) - len(items)
        note = Note("list_normalised", source=self.source, steps=tuple(steps), merged=merged)
        return replace(self, items=items, notes=(*self.notes, note))


def bits_of_places(size: int) -> int:
    """Return the bits of a place in a list of that size; one code more is left for items that have none."""
    return max(SHORTEST, size.bit_length())


class ListedItems(ItemCodec):
    """The place in a catalogue, in as many bits as its size takes; items that are not on it do not fit."""

    name = "catalogue"

    def __init__(self, items: Sequence[str]) -> None:
        super().__init__(bits_of_places(len(items)))
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
