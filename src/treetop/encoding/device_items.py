"""What a device makes of its own item, whatever bytes it is: a code, or None, which is answered "none of these".

Where parts of texts are reported, the code is the hash followed by the chunks of the text's public code.

An item has no code if it is not UTF-8 (bytes that are not one arrive here as lone surrogates), has more than
`LONGEST_ITEM` bytes, does not fit the encoding, or makes the codec fail. None of this may silence a device.
"""

from collections.abc import Collection, Sequence

from treetop.encoding.item_codecs import ItemCodec
from treetop.encoding.normalisation import normalised
from treetop.encoding.text_code import CHUNK_BITS

LONGEST_ITEM = 4096
"""Bytes of UTF-8."""
_FILLER = "a" * LONGEST_ITEM


def device_code(codec: ItemCodec, item: str, steps: Collection[str] = ()) -> int | None:
    """Run by the device: the code of its item, put through some steps of normalising first.

    Whatever the item, the codec is given `LONGEST_ITEM` bytes in one call: what the item lacks a second text makes up
    for, so that the time until the report is sent does not grow with it.
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


def _text(item: str) -> str | None:
    """Return the item if it is a text that a device reads; no more of a longer one is looked at."""
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
        behind = CHUNK_BITS * encoded.chunks.shape[1]
        pairs = zip(codes, encoded.chunks, strict=True)
        return [None if code is None else code << behind | int.from_bytes(row.tobytes(), "big") for code, row in pairs]
    except Exception:  # a codec of another package may fail on one text: the others keep their codes
        return [None] if len(texts) == 1 else [code for text in texts for code in _codes(codec, [text])]
