"""Items as bit strings and back: words, ids, text, hashes, hashed texts with their chunks, and indices in a catalogue.

Every codec maps an item to an m-bit code. `encode` never fails on an item: it reports which items do not fit and how
many were shortened, and the caller passes that on to the user.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import expm1, log1p
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import SHORTEST, Codes, checked_bits, code_array
from treetop.encoding.normalisation import normalised
from treetop.encoding.text_code import CHUNK_BITS, DEFAULT_CHUNKS, chunks_of, code_bits
from treetop.entry_points import Registry
from treetop.errors import InvalidInput, UnknownName
from treetop.wording import Note

DEFAULT_HASH_KEY = "treetop"
LONGEST_HASH_KEY = 64
"""Bytes: BLAKE2b takes no longer key (RFC 7693, section 2.1)."""
LETTERS = 26
A = ord("a")


@dataclass(frozen=True)
class EncodedItems:
    """The code of every item that fits, and the number of items that lost their ends."""

    codes: Codes
    """One per item; meaningless where `fits` is false."""
    fits: NDArray[np.bool_]
    shortened: int
    """Number of items too long for their code, which they share with every item that begins alike."""
    chunks: NDArray[np.uint8] | None = None
    """With hashed texts: one row of code chunks for each item."""


class ItemCodec(ABC):
    """Encodes items, on the device that holds one, and decodes codes, for the reader of an answer."""

    name: ClassVar[str]
    hashes: ClassVar[bool] = False
    """Whether codes are hashes under a public key, which the constructor then takes; a hash cannot be decoded."""

    def __init__(self, bits: int) -> None:
        self.bits = checked_bits(bits)

    @abstractmethod
    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Return the codes of many items."""

    @abstractmethod
    def decode(self, code: int) -> str | None:
        """Return the item that a code stands for, or None where the code alone does not determine it."""

    @property
    def title(self) -> str:
        """Return what an item is held against, in words."""
        return f"the encoding {self.name!r} with {self.bits} bits"

    def show(self, code: int) -> str:
        """Return the item that a code stands for, or `#` and its hexadecimal digits."""
        item = self.decode(code)
        return f"#{code:0{-(-self.bits // 4)}x}" if item is None else item


class Words(ItemCodec):
    """Letters a..z as the digits 1..26 of a bijective base-26 integer, right-aligned.

    Bijective, so that words of different lengths never share a code. The first letters that fit into m bits count: 10
    at m = 48. Items are lower-cased first.
    """

    name = "words"

    def __init__(self, bits: int) -> None:
        super().__init__(bits)
        self.letters = 0
        while self._largest(self.letters + 1) < 1 << bits:
            self.letters += 1

    @staticmethod
    def _largest(letters: int) -> int:
        return sum(LETTERS**digit for digit in range(1, letters + 1))

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: v = 26 v + digit over the first letters."""
        words = [item.lower() for item in items]
        fits = np.array([word.isascii() and word.isalpha() for word in words], dtype=np.bool_)
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        kept = [word[: self.letters] if fit else "" for word, fit in zip(words, fits, strict=True)]
        shortened = int(np.count_nonzero(fits & (lengths > self.letters)))
        return EncodedItems(self._numbers(kept), fits, shortened)

    def _numbers(self, words: list[str]) -> Codes:
        letters = np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8)
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        codes = code_array([0] * len(words), self.bits)
        for index in range(int(lengths.max(initial=0))):  # letter by letter, for all words that have one there
            longer = lengths > index
            digits = letters[starts[longer] + index].astype(codes.dtype) - (A - 1)
            codes[longer] = codes[longer] * LETTERS + digits
        return codes

    def decode(self, code: int) -> str | None:
        """Return the word, or None for zero and for codes past the last word."""
        if not 0 < code <= self._largest(self.letters):
            return None
        letters: list[str] = []
        while code:
            code, digit = divmod(code - 1, LETTERS)
            letters.append(chr(A + digit))
        return "".join(reversed(letters))


class Ids(ItemCodec):
    """Non-negative integers in decimal digits, right-aligned."""

    name = "ids"

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: the integer itself, where it is below 2^m."""
        # A number below 2^m has at most m digits; int() takes quadratic time, and refuses more than 4,300 of them.
        digits = [item.isascii() and item.isdigit() and len(item) <= self.bits for item in items]
        numbers = [int(item) if all_digits else 0 for item, all_digits in zip(items, digits, strict=True)]
        fits = [fit and number < 1 << self.bits for fit, number in zip(digits, numbers, strict=True)]
        kept = (number if fit else 0 for number, fit in zip(numbers, fits, strict=True))
        return EncodedItems(code_array(kept, self.bits), np.array(fits, dtype=np.bool_), 0)

    def decode(self, code: int) -> str | None:
        """Return the integer in decimal digits."""
        return str(code)


class Text(ItemCodec):
    """UTF-8 bytes, left-aligned and padded with zero bytes; long texts keep their first whole characters."""

    name = "text"

    def __init__(self, bits: int) -> None:
        super().__init__(bits)
        if bits % 8:
            raise InvalidInput("text_bits", bits=bits)
        self.bytes = bits // 8

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: the first m/8 bytes. Empty texts and texts with a zero byte do not fit."""
        whole = [item.encode("utf-8", errors="surrogatepass") for item in items]
        kept = [self._first_characters(text) for text in whole]
        fits = np.array([bool(text) and b"\0" not in text for text in kept], dtype=np.bool_)
        shortened = sum(len(text) > self.bytes for text, fit in zip(whole, fits, strict=True) if fit)
        return EncodedItems(code_array(map(self._number, kept), self.bits), fits, shortened)

    def _first_characters(self, text: bytes) -> bytes:
        # "ignore" drops a character that the cut divides, and lone surrogates.
        return text[: self.bytes].decode("utf-8", errors="ignore").encode("utf-8")

    def _number(self, text: bytes) -> int:
        return int.from_bytes(text.ljust(self.bytes, b"\0"), "big")

    def decode(self, code: int) -> str | None:
        """Return the text, or None where the bytes are not one that `encode` makes."""
        text = code.to_bytes(self.bytes, "big").rstrip(b"\0")
        try:
            return None if b"\0" in text or not text else text.decode("utf-8")
        except UnicodeDecodeError:
            return None


class Hashed(ItemCodec):
    """The first m bits of a keyed BLAKE2b of the UTF-8 bytes; only a dictionary of items reads it back."""

    name = "hashed"
    hashes = True

    def __init__(self, bits: int, key: str = DEFAULT_HASH_KEY) -> None:
        super().__init__(bits)
        self._key = key.encode("utf-8")
        if not 1 <= len(self._key) <= LONGEST_HASH_KEY:
            raise InvalidInput("hash_key_length", longest_hash_key=LONGEST_HASH_KEY, number=len(self._key))

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: every item fits, and two items may share a code."""
        texts = (item.encode("utf-8", errors="surrogatepass") for item in items)
        codes = code_array(map(self.hash_of, texts), self.bits)
        return EncodedItems(codes, np.ones(len(items), dtype=np.bool_), 0)

    def hash_of(self, text: bytes) -> int:
        """Return the code of a text's UTF-8 bytes."""
        digest = blake2b(text, key=self._key).digest()
        return int.from_bytes(digest, "big") >> (8 * len(digest) - self.bits)

    def decode(self, code: int) -> str | None:  # noqa: ARG002  no hash is decoded
        """Return None: a hash does not determine its text."""
        return None


def shared_hash_chance(items: int, bits: int) -> float:
    """Return the probability that an item shares its hash with another: 1 - (1 - 2^-m)^(n - 1)."""
    # 2^-m is far below a double's precision beside 1: log1p and expm1 keep it.
    return -expm1(max(items - 1, 0) * log1p(-(2.0**-bits)))


class HashedText(Hashed):
    """The hash of a text, for the search, and the chunks of its code, for reading it back."""

    def __init__(self, bits: int, key: str = DEFAULT_HASH_KEY, chunks: int = DEFAULT_CHUNKS) -> None:
        super().__init__(bits, key)
        self.chunks = chunks

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: the hash, and the text's code cut into chunks; of a longer code only the first ones."""
        texts = [item.encode("utf-8", errors="surrogatepass") for item in items]
        chunks = np.frombuffer(b"".join(chunks_of(text, self.chunks) for text in texts), dtype=np.uint8)
        return replace(super().encode(items), chunks=chunks.reshape(len(texts), self.chunks))


def chunks_needed(items: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of chunks of each item's code; an item that needs more than there are cannot be recovered."""
    texts = (item.encode("utf-8", errors="surrogatepass") for item in items)
    return np.array([-(-code_bits(text)[1] // CHUNK_BITS) for text in texts], dtype=np.int64)


@dataclass(frozen=True)
class ItemCatalogue:
    """Distinct items, the most popular first where the list is `ordered`, else as they were listed."""

    items: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    ordered: bool = False
    """Whether earlier items are known to be more popular."""
    source: str = "the list that was given"
    """Where the items come from, for the reader of an answer."""

    @classmethod
    def of(cls, listed: Iterable[object]) -> "ItemCatalogue":
        """Take every item once, and note how many repeats that dropped."""
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
        """Return the normalised items, and note how many became equal to an earlier one, whose index they share."""
        items = tuple(dict.fromkeys(normalised(item, steps) for item in self.items))
        merged = len(self.items) - len(items)
        note = Note("list_normalised", source=self.source, steps=tuple(steps), merged=merged)
        return replace(self, items=items, notes=(*self.notes, note))


def bits_of_places(size: int) -> int:
    """Return the bits of an index in a list of that size; at least one more code is left, for items not on it."""
    return max(SHORTEST, size.bit_length())


class ListedItems(ItemCodec):
    """The index in a catalogue, in the bits that its size takes; items that are not on it do not fit."""

    name = "catalogue"

    def __init__(self, items: Sequence[str]) -> None:
        super().__init__(bits_of_places(len(items)))
        self.items = items
        self._indices = {item: index for index, item in enumerate(items)}

    @property
    def title(self) -> str:
        """Return what an item is held against, in words."""
        return f"the catalogue of {len(self.items):,} items"

    def encode(self, items: Sequence[str]) -> EncodedItems:
        """Run by the device: look the item up exactly as it is written."""
        indices = [self._indices.get(item, -1) for item in items]
        codes = code_array((max(index, 0) for index in indices), self.bits)
        return EncodedItems(codes, np.array(indices, dtype=np.int64) >= 0, 0)

    def decode(self, code: int) -> str | None:
        """Return the item at that index."""
        return self.items[code] if code < len(self.items) else None


def _checked(entry: object) -> type[ItemCodec]:
    if isinstance(entry, type) and issubclass(entry, ItemCodec):
        return entry
    raise InvalidInput("encoding_entry_point", entry=entry)


CODECS: Registry[type[ItemCodec]] = Registry(
    "encoding", {codec.name: codec for codec in (Words, Ids, Text, Hashed)}, "treetop.encodings", _checked
)


def codec_class(name: str) -> type[ItemCodec]:
    """Return the class of codecs of that name: Treetop's own, or one of another package."""
    if name not in CODECS:
        raise UnknownName("encoding", name, CODECS)
    return CODECS[name]


def codec_named(name: str, bits: int, hash_key: str = DEFAULT_HASH_KEY) -> ItemCodec:
    """Return the codec of that name for codes of m bits."""
    codec: Callable[..., ItemCodec] = codec_class(name)
    return codec(bits, hash_key) if codec_class(name).hashes else codec(bits)
