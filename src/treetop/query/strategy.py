"""The three ways to name an item, and which one suits a query: a catalogue, a trie over codes, or hashed names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.encoding.hashed_text import HashedText, hash_bits_for
from treetop.encoding.item_codecs import CODECS, Hashed
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.registry import (
    DEFAULT_MECHANISM,
    Mechanism,
    hashed_names_mechanism,
    mechanism_named,
)
from treetop.query.encode import catalogued, populate
from treetop.simulation.population import Population

CATALOGUE, TRIE, HASHED = "catalogue", "trie", "hashed"
WAYS = (CATALOGUE, TRIE, HASHED)
ENOUGH_FIT = 0.95
"""Share of the items that must fit a code that can be read back, or names are hashed."""

Items = ItemCatalogue | Iterable[object]


@dataclass(frozen=True)
class Told:
    """What the user has said about the way."""

    mechanism: str = DEFAULT_MECHANISM
    encoding: str | None = None
    way: str | None = None
    catalogue: Items | None = None
    word_list: Items | None = None
    text_recovery: bool | None = None

    def __post_init__(self) -> None:
        if self.way is not None and self.way not in WAYS:
            raise UnknownName("way", self.way, WAYS)


@dataclass(frozen=True, eq=False)
class Chosen:
    """A way that is ready to run, and why it was taken."""

    mechanism: Mechanism
    population: Population
    parameters: Parameters
    reason: str


def choose(federation: Federation, parameters: Parameters, told: Told, settings: Mapping[str, object]) -> Chosen:
    """Take the way that was told, or the one that suits what was given."""
    way, reason = way_of(federation, parameters, told)
    _refuse_what_has_no_place(way, told)
    if way == CATALOGUE:
        mechanism, population = catalogued(federation, told.catalogue or (), told.mechanism, told.encoding)
        return Chosen(mechanism, population, parameters, reason)
    if way == TRIE:
        encoding = told.encoding or fitting_encoding(federation, parameters) or federation.encoding
        return Chosen(mechanism_named(told.mechanism), populate(federation, parameters, encoding), parameters, reason)
    return hashed(federation, parameters, told, settings, reason)


def way_of(federation: Federation, parameters: Parameters, told: Told) -> tuple[str, str]:
    """Return the way and the reason for it, in words."""
    if told.way is not None:
        return told.way, f"the way {told.way!r} was told"
    if told.catalogue is not None:
        return CATALOGUE, "the items are known, and nothing needs to be searched"
    if told.mechanism != DEFAULT_MECHANISM or told.encoding is not None:
        return TRIE, "mechanism or encoding were told"
    if told.word_list is not None or told.text_recovery is not None:
        return HASHED, "names are to be read back"
    encoding = fitting_encoding(federation, parameters)
    if encoding is None:
        return HASHED, f"too few items fit a code of {parameters.bits} bits that can be read back"
    return TRIE, f"the items fit the encoding {encoding!r} with {parameters.bits} bits"


def fitting_encoding(federation: Federation, parameters: Parameters) -> str | None:
    """Return the first of the federation's own encoding and ids that nearly all items fit, or None."""
    for name in dict.fromkeys((federation.encoding, "words", "ids")):
        if np.mean(CODECS[name](parameters.bits).encode(federation.items).fits) >= ENOUGH_FIT:
            return name
    return None


def _refuse_what_has_no_place(way: str, told: Told) -> None:
    """Say which of the things told belongs to another way."""
    if way == CATALOGUE and told.catalogue is None:
        raise InvalidInput("the way 'catalogue' expects a catalogue, found none")
    misplaced = {
        f"the mechanism {told.mechanism!r}": told.mechanism != DEFAULT_MECHANISM and way == HASHED,
        f"the encoding {told.encoding!r}": told.encoding not in (None, Hashed.name) and way == HASHED,
        "a catalogue": told.catalogue is not None and way != CATALOGUE,
        "a word list": told.word_list is not None and way != HASHED,
        "text recovery": told.text_recovery is not None and way != HASHED,
    }
    for what, is_given in misplaced.items():
        if is_given:
            raise InvalidInput(f"the way {way!r} has no place for {what}: leave one of them out")


def _listed(items: Items) -> ItemCatalogue:
    return items if isinstance(items, ItemCatalogue) else ItemCatalogue.of(items)


def hashed(
    federation: Federation, parameters: Parameters, told: Told, settings: Mapping[str, object], reason: str
) -> Chosen:
    """Hash names into 24 or 32 bits; texts are asked for unless a word list makes that needless."""
    texts = told.word_list is None if told.text_recovery is None else told.text_recovery
    expected = parameters.expected_items or len(federation.items)
    bits = parameters.bits if "bits" in settings else hash_bits_for(expected)
    parameters = replace(parameters, bits=bits, levels=min(parameters.levels, bits), expected_items=expected)
    codec = HashedText(bits, parameters.hash_key, parameters.text_chunks)
    listed = {} if told.word_list is None else hashes_of(_listed(told.word_list).items, codec)
    notes = (*federation.notes, *_too_long(federation, codec)) if texts else federation.notes
    population = Population(replace(federation, notes=notes), codec)
    return Chosen(hashed_names_mechanism(listed, texts=texts), population, parameters, reason)


def hashes_of(words: Iterable[str], codec: Hashed) -> dict[int, bytes]:
    """Return the word of every hash; the first of several words with one hash is read."""
    texts = [word.encode("utf-8", errors="surrogatepass") for word in words]
    return {codec.hash_of(text): text for text in reversed(texts)}


def _too_long(federation: Federation, codec: HashedText) -> tuple[str, ...]:
    number = codec.unrecoverable(federation.items)
    if not number:
        return ()
    return (
        f"{number:,} items have a text code longer than {8 * codec.chunks} bits: found, they show as a hash unless a "
        "word list names them (--set text_chunks=16 makes room)",
    )
