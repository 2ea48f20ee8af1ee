"""The three ways to name an item, and which one suits a query: a catalogue, a trie over codes, or hashed names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.encoding.hashed_text import HashedText, hash_bits_for
from treetop.encoding.item_codecs import CODECS, Hashed
from treetop.encoding.text_code import DEFAULT_CHUNKS
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.hashed_names.mechanism import HashedNames
from treetop.mechanisms.hashed_names.plan import HashedTextParameters
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import DEFAULT_MECHANISM, mechanism_named, parameters_for
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

    mechanism: str | Mechanism[Any] = DEFAULT_MECHANISM
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

    mechanism: Mechanism[Any]
    population: Population
    parameters: Parameters
    reason: str


def choose(federation: Federation, parameters: Parameters, told: Told, settings: Mapping[str, object]) -> Chosen:
    """Take the way that was told, or the one that suits what was given; the parameters are the told mechanism's."""
    way, reason = way_of(federation, parameters, told)
    _refuse_what_has_no_place(way, told)
    if way == CATALOGUE:
        survey, population = catalogued(federation, told.catalogue or (), told.mechanism, told.encoding)
        own = parameters_for(survey, parameters.k, parameters.epsilon, parameters.oracle, settings)
        return Chosen(survey, population, own, reason)
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
    mechanism = mechanism_named(told.mechanism).name
    misplaced = {
        f"the mechanism {mechanism!r}": told.mechanism != DEFAULT_MECHANISM and way == HASHED,
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
    own = parameters_for(HashedNames({}, texts), parameters.k, parameters.epsilon, parameters.oracle, settings)
    expected = own.expected_items or len(federation.items)
    bits = own.bits if "bits" in settings else hash_bits_for(expected)
    chunks = own.text_chunks if isinstance(own, HashedTextParameters) else DEFAULT_CHUNKS
    codec = HashedText(bits, own.hash_key, chunks)
    listed = {} if told.word_list is None else hashes_of(_listed(told.word_list).items, codec)
    notes = (*federation.notes, *_too_long(federation, codec)) if texts else federation.notes
    population = Population(replace(federation, notes=notes), codec)
    return Chosen(HashedNames(listed, texts), population, replace(own, bits=bits, expected_items=expected), reason)


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
