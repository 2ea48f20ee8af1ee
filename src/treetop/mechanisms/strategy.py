"""What a query asks for, the mechanism that suits it, and how items become names: for simulations and deployments.

Panorama is taken unless something speaks against it: a mechanism or an encoding that searches a trie was asked for, or
parties may send too little. What is given decides what Panorama counts: the places of a catalogue, ids as they are, or
hashes of texts, which a list names or reports spell.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from treetop.encoding.item_codecs import (
    CODECS,
    Hashed,
    HashedText,
    Ids,
    ItemCatalogue,
    ItemCodec,
    ListedItems,
    Words,
    chunks_needed,
    codec_named,
)
from treetop.encoding.normalisation import steps_named
from treetop.encoding.text_code import DEFAULT_CHUNKS, MAX_CHUNKS
from treetop.errors import InvalidInput
from treetop.mechanisms.canopy import Canopy
from treetop.mechanisms.deployed_groups import group_sizes
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.discovery import PanoramaPlan
from treetop.mechanisms.panorama.parameters import CODE_BITS, MAX_CODE_BITS, PanoramaParameters, code_bits_for
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.query import CATALOGUE, HASHED, PANORAMA, TRIE, Query
from treetop.mechanisms.registry import mechanism_named
from treetop.oracles.name_reports import counts_every_name
from treetop.oracles.registry import AUTO, find_oracle
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee, central_guarantee, local_epsilon, refuse_large_delta
from treetop.wording import Note

MOST_LOOKED_AT = 10_000
ENOUGH_FIT = 0.95
"""Share of the items that must fit a code that can be read back."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """A mechanism with all that it is given, the codec of its items, and why it was taken."""

    mechanism: Mechanism[Any]
    parameters: Parameters
    codec: ItemCodec
    reason: str
    known: ItemCatalogue | None = None
    """The catalogue, or the list that names are read from, normalised as items are."""
    text_chunks: int = 0
    """Parts of a text that users report behind its name; 0: nobody does."""

    @property
    def settled_encoding(self) -> str | ItemCodec | None:
        """Return what to ask for, so that another week of the same items chooses nothing by looking at all of them."""
        if not self.mechanism.reports_names:
            return self.codec
        if isinstance(self.codec, ListedItems):
            return None
        return Hashed.name if self.codec.hashes else self.codec.name

    def local_epsilon(self, users: Iterable[int], wanted: CentralGuarantee, cap: Fraction) -> Epsilon:
        """Return the epsilon with which all of these parties, even the smallest, keep a central guarantee."""
        sizes = list(users)
        refuse_large_delta(wanted.delta, sum(sizes))

        def central_at(epsilon: Epsilon) -> float:
            groups = group_sizes(self.mechanism, replace(self.parameters, epsilon=epsilon), min(sizes))
            return central_guarantee(groups, epsilon, wanted.delta).epsilon

        return local_epsilon(central_at, wanted, cap)

    @property
    def choices(self) -> tuple[Note, ...]:
        """Return what was chosen and why, for the reader of an answer."""
        choices = list(self.mechanism.notes.choices(self.parameters))
        known = self.known
        if known is not None and not isinstance(self.codec, ListedItems):
            choices.append(Note("names_from_list", source=known.source, words=len(known.items), ordered=known.ordered))
        return (*choices, Note("chosen_because", reason=self.reason))


@dataclass(frozen=True)
class ItemsAhead:
    """What is known of the items before anybody is asked: all of them in a simulation, nothing in a deployment."""

    items: Sequence[str] = ()
    encoding: str = Words.name
    """Which encoding of a trie is tried first."""

    def fit(self, codec: ItemCodec) -> bool:
        """Return whether nearly all items fit a code; with no items known, none do."""
        return bool(len(self.items)) and bool(np.mean(codec.encode(self.items).fits) >= ENOUGH_FIT)

    def chunks_of_texts(self) -> int:
        """Return the chunks that make room for nearly all texts; of very many items some are looked at."""
        some = self.items[:: max(len(self.items) // MOST_LOOKED_AT, 1)]
        if not len(some):
            return DEFAULT_CHUNKS
        needed = int(np.quantile(chunks_needed(some), ENOUGH_FIT, method="higher"))
        return min(max(needed, DEFAULT_CHUNKS), MAX_CHUNKS)

    def trie_encoding(self, bits: int) -> str | None:
        """Return the first of the preferred encoding, words and ids that nearly all items fit, or None."""
        names = dict.fromkeys((self.encoding, Words.name, Ids.name))
        return next((name for name in names if self.fit(CODECS[name](bits))), None)


def choose(query: Query, ahead: ItemsAhead, *, parties: int, hash_key: str) -> Strategy:
    """Take the strategy that was asked for, or the one that suits what is given.

    `hash_key` is that of this query, unless a setting names one: hashes of different queries have nothing in common.
    """
    steps = steps_named(query.normalise)
    if steps:
        lists = (query.catalogue, query.word_list)
        catalogue, words = (None if known is None else known.normalised(steps) for known in lists)
        query = replace(query, catalogue=catalogue, word_list=words)
    strategy, reason = _strategy_of(query, ahead, parties)
    _refuse_unused(strategy, query)
    if strategy == TRIE:
        return _searching(query, ahead, reason)
    if query.catalogue is not None:
        return _counting_catalogue(query, query.catalogue, reason)
    bits = _id_bits(query, ahead)
    if strategy != HASHED and bits is not None:
        return _counting_ids(query, bits, reason)
    if query.encoding == Ids.name:
        raise InvalidInput("ids_too_long", max_code_bits=MAX_CODE_BITS)
    return _counting_hashes(query, ahead, hash_key, reason)


def _strategy_of(query: Query, ahead: ItemsAhead, parties: int) -> tuple[str, str]:
    """Return the strategy and the reason for it, in words."""
    if query.strategy is not None:
        return query.strategy, f"the strategy {query.strategy!r} was asked for"
    if query.catalogue is not None:
        return PANORAMA, "the items are known: they are counted, and nothing else"
    if query.mechanism is not None and query.mechanism != Panorama.name:
        return TRIE, f"the mechanism {_name(query.mechanism)!r} was asked for"
    if query.mechanism is None and not query.wants_names_read and (why := _against(query, ahead, parties)):
        return TRIE, why
    if query.wants_names_read:
        return PANORAMA, "names are to be read back, and every name is counted at once"
    return PANORAMA, "every name is counted at once, and nothing needs to be searched"


def _against(query: Query, ahead: ItemsAhead, parties: int) -> str | None:
    """Say what speaks for a trie, where nobody asked for either."""
    encoding = query.encoding
    bits = query.setting("bits")
    if encoding is not None and encoding not in (Hashed.name, Ids.name):
        return f"the encoding {_name(encoding)!r} was asked for"
    if query.oracle != AUTO and not counts_every_name(oracle := find_oracle(query.oracle)):
        return f"the oracle {oracle.name!r} counts lists of candidates, which a trie has"
    if bits is not None and bits > MAX_CODE_BITS:
        return f"codes of {bits} bits are more than can be counted at once"
    if encoding == Ids.name and ahead.items and _id_bits(query, ahead) is None:
        return f"most ids have more than {MAX_CODE_BITS} bits"
    parameters = query.parameters_of(Panorama())
    signed = parameters.rule(parties) == "sum"
    texts = _id_bits(query, ahead) is None
    plan = PanoramaPlan.of(parameters, 0, signed=signed, discovers=True, texts=texts)
    if plan.overlooks(CODE_BITS, parties) or plan.kept < query.k:
        lacking = f"send the texts of {query.k} names" if plan.kept < query.k else "name what lies above the noise"
        return f"{parameters.upload_budget:,} bits are too few for a party to {lacking}"
    return None


def _name(named: str | ItemCodec | Mechanism[Any]) -> str:
    return named if isinstance(named, str) else named.name


def _refuse_unused(strategy: str, query: Query) -> None:
    """Say what was asked for that the strategy cannot use."""
    mechanism = "" if query.mechanism is None else f"the mechanism {_name(query.mechanism)!r}"
    encoding = "" if query.encoding is None else f"the encoding {_name(query.encoding)!r}"
    searches = query.mechanism not in (None, Panorama.name)
    listed = "a word list" if query.word_list is not None else ""
    texts = "text recovery" if query.text_recovery is not None else ""
    if strategy == CATALOGUE and query.catalogue is None:
        raise InvalidInput("strategy_needs_catalogue")
    if strategy != TRIE and query.catalogue is not None:
        unused = (mechanism if searches else "", encoding, listed, texts)
        if found := next(filter(None, unused), None):
            raise InvalidInput("catalogue_option_unused", found=found)
    elif strategy == TRIE:
        unused = ("" if searches else mechanism, "a catalogue" if query.catalogue else "", listed, texts)
    else:
        ids = query.encoding == Ids.name
        hashes = query.encoding in (None, Hashed.name)
        reads = "the encoding 'ids'" if ids and (strategy == HASHED or query.wants_names_read) else ""
        unused = (mechanism if searches else "", "" if ids or hashes else encoding, reads, "")
    if found := next(filter(None, unused), None):
        raise InvalidInput("strategy_option_unused", strategy=strategy, found=found)


def _searching(query: Query, ahead: ItemsAhead, reason: str) -> Strategy:
    """Search a trie over codes, in the encoding that suits the items; hashes are read from the items themselves."""
    mechanism = mechanism_named(query.mechanism or Canopy.name)
    parameters = query.parameters_of(mechanism)
    encoding = query.encoding or ahead.trie_encoding(parameters.bits) or ahead.encoding
    return Strategy(mechanism, parameters, trie_codec(encoding, parameters), reason)


def trie_codec(encoding: str | ItemCodec, parameters: Parameters) -> ItemCodec:
    """Return the codec of a trie's codes."""
    if not isinstance(encoding, ItemCodec):
        encoding = codec_named(encoding, parameters.bits, parameters.hash_key)
    if encoding.bits != parameters.bits:
        raise InvalidInput("bits_of_encoding", bits=parameters.bits, found=encoding.bits)
    return encoding


def _counting_catalogue(query: Query, catalogue: ItemCatalogue, reason: str) -> Strategy:
    """Count the places of a catalogue, and whoever holds none of its items."""
    codec = ListedItems(catalogue.items)
    panorama = Panorama.over(codec)
    parameters = replace(query.parameters_of(panorama), bits=codec.bits)
    return Strategy(panorama, parameters, codec, reason, catalogue)


def _id_bits(query: Query, ahead: ItemsAhead) -> int | None:
    """Return the bits of ids that are counted as they are, or None where the items are none."""
    if query.wants_names_read or query.encoding not in (None, Ids.name):
        return None
    asked = query.setting("bits")
    lengths = (CODE_BITS, MAX_CODE_BITS) if asked is None else (asked,)
    if query.encoding == Ids.name and not ahead.items:
        return lengths[0]
    return next((bits for bits in lengths if ahead.fit(Ids(bits))), None)


def _counting_ids(query: Query, bits: int, reason: str) -> Strategy:
    """Count ids below 2^b as they are."""
    codec = Ids(bits)
    panorama = Panorama.over(codec)
    parameters = replace(query.parameters_of(panorama), bits=bits)
    return Strategy(panorama, parameters, codec, reason)


def _counting_hashes(query: Query, ahead: ItemsAhead, hash_key: str, reason: str) -> Strategy:
    """Count hashes of texts under a key of this query; a list names them, and texts are read unless told otherwise."""
    texts = query.text_recovery is not False
    given: PanoramaParameters = query.parameters_of(Panorama(texts=texts))
    expected = given.expected_items or len(ahead.items)
    bits = given.bits if "bits" in query.settings else code_bits_for(expected)
    key = given.hash_key if "hash_key" in query.settings else hash_key
    chunks = given.text_chunks if "text_chunks" in query.settings or not texts else ahead.chunks_of_texts()
    parameters = replace(given, bits=bits, hash_key=key, expected_items=expected, text_chunks=chunks)
    codec = HashedText(bits, key, chunks)
    words = query.word_list or ItemCatalogue(())
    spelt = chunks if texts else 0
    panorama = Panorama.over(codec, words.items, ordered=words.ordered, chunks=spelt)
    return Strategy(panorama, parameters, codec, reason, query.word_list, spelt)


def check_takes_sets(mechanism: str | Mechanism[Any] | None, items: int) -> None:
    """Refuse a mechanism that asks every user for one item, where her report is to speak of several."""
    if mechanism is None:
        return
    named = mechanism_named(mechanism)
    if "items_per_user" not in named.parameters.settings():
        raise InvalidInput(
            "mechanism_without_sets", mechanism=named.name, items=items, instead=(Panorama.name, Canopy.name)
        )
