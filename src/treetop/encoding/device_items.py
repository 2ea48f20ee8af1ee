"""The codes of a device's own items, of any bytes; an item without one is answered "none of these".

Where parts of texts are reported, the code is the hash followed by the chunks of the text's public code.

An item has no code if it is not UTF-8 (bytes that are not one arrive here as lone surrogates), has more than
`LONGEST_ITEM` bytes, does not fit the encoding, or makes the codec fail. None of this may silence a device.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from treetop.encoding.item_codecs import ItemCodec
from treetop.encoding.normalisation import normalised
from treetop.encoding.text_code import CHUNK_BITS

LONGEST_ITEM = 4096
"""Bytes of UTF-8; the codec is given as many for every item, so that its time does not grow with the item."""
LARGEST_SET = 1 << 16
"""Items of a set that a device reads (uses, where these count): the first ones."""
_FILLER = "a" * LONGEST_ITEM


def device_code(codec: ItemCodec, item: str, steps: Collection[str] = ()) -> int | None:
    """Run by the device: the code of its item, normalised first.

    The codec is given `LONGEST_ITEM` bytes in one call for every item, so that the time until the report is sent does
    not grow with the item: a second text makes up for the bytes that the item lacks.
    """
    text = _text(item)
    known = "" if text is None else text
    code, _ = _codes(codec, [normalised(each, steps) for each in (known, _FILLER[len(known.encode()) :])])
    return None if text is None else code


def device_codes(codec: ItemCodec, items: Sequence[str], steps: Collection[str] = ()) -> list[int | None]:
    """Run by many devices in one process: the codes of their items."""
    texts = [_text(item) for item in items]
    codes = _codes(codec, [normalised(text or "", steps) for text in texts])
    return [None if text is None else code for text, code in zip(texts, codes, strict=True)]


def set_entries(items: Sequence[str], steps: Collection[str] = (), *, uses: bool = False) -> dict[bytes, str | None]:
    """Run by the device: its items as the bytes by which some of them are chosen, each with its text to be encoded.

    Items that are the same once normalised are one; where uses count, each use is an entry. An item without a text is
    identified by its first bytes.
    """
    entries: dict[bytes, str | None] = {}
    for number, item in enumerate(islice(items, LARGEST_SET)):
        text = _text(item)
        known = item[: LONGEST_ITEM + 1] if text is None else normalised(text, steps)
        entry = known.encode("utf-8", "surrogatepass")
        entries[entry + b"\0%d" % number if uses else entry] = None if text is None else known
    return entries


class DeviceSet(Mapping[bytes, int | None]):
    """Run by the device: the items of its set with their codes, each computed when a report covers it.

    A report covers at most m items. The codec is called m times with `LONGEST_ITEM` bytes each for every set, so that
    neither time nor work shows its size: immediately for the items that a smaller set lacks.
    """

    def __init__(self, codec: ItemCodec, entries: Mapping[bytes, str | None], items_per_user: int) -> None:
        self._codec = codec
        self._entries = entries
        for _ in range(items_per_user - len(entries)):
            self._code("")

    def __repr__(self) -> str:
        return "DeviceSet(redacted)"

    def __getitem__(self, entry: bytes) -> int | None:
        text = self._entries[entry]
        code = self._code(text or "")
        return None if text is None else code

    def _code(self, text: str) -> int | None:
        return _codes(self._codec, [text, _FILLER[len(text.encode()) :]])[0]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _text(item: str) -> str | None:
    """Return the item if it is a text that a device reads; of a longer one only the first bytes are read."""
    try:
        length = len(item[: LONGEST_ITEM + 1].encode("utf-8"))
    except UnicodeEncodeError:
        return None
    return item if length <= LONGEST_ITEM else None


def _codes(codec: ItemCodec, texts: Sequence[str]) -> list[int | None]:
    try:
        encoded = codec.encode(texts)
        codes = [int(code) if fits else None for code, fits in zip(encoded.codes, encoded.fits, strict=True)]
        if encoded.chunks is None:
            return codes
        chunk_bits = CHUNK_BITS * encoded.chunks.shape[1]
        pairs = zip(codes, encoded.chunks, strict=True)
        return [
            None if code is None else code << chunk_bits | int.from_bytes(row.tobytes(), "big") for code, row in pairs
        ]
    except Exception:  # a codec of another package may fail on one text: the others keep their codes
        return [None] if len(texts) == 1 else [code for text in texts for code in _codes(codec, [text])]
